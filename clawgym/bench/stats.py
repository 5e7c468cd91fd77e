"""Means with 95 % intervals. The unit is the task: attempts of one task are averaged first, since they are not independent.

Percentile bootstrap (Efron 1979). It says nothing about a spread that the sample does not show: where every task has the same score the
interval has no width, and below about 20 tasks it is somewhat too narrow (measured in tests/bench/test_stats.py).
"""

from dataclasses import dataclass

import numpy as np

LEVEL = 0.95
BLOCK = 2_000_000  # resampled values held at a time


@dataclass(frozen=True)
class Estimate:
    """A mean over `n` tasks and its interval; the interval is None below two tasks, the mean below one."""

    n: int
    mean: float | None
    low: float | None
    high: float | None


def bootstrap(values: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """The means of `resamples` draws with replacement from `values` (n,); deterministic in the seed."""
    rng = np.random.default_rng(seed)
    n = len(values)
    step = max(1, BLOCK // n)
    means = [values[rng.integers(n, size=(min(step, resamples - start), n))].mean(1) for start in range(0, resamples, step)]
    return np.concatenate(means)


def estimate(values: np.ndarray, resamples: int = 10_000, seed: int = 0) -> Estimate:
    """Mean of `values` (one per task, NaN: not measured, left out) with its percentile interval."""
    values = np.asarray(values, float)
    values = values[~np.isnan(values)]
    if not len(values):
        return Estimate(0, None, None, None)
    if len(values) == 1:
        return Estimate(1, float(values[0]), None, None)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(bootstrap(values, resamples, seed), [tail, 1 - tail])
    return Estimate(len(values), float(values.mean()), float(low), float(high))


def paired(a: np.ndarray, b: np.ndarray, resamples: int = 10_000, seed: int = 0) -> Estimate:
    """Mean of b - a over the tasks both were measured on; a, b: (n,), the same tasks in the same order, NaN where not measured."""
    return estimate(np.asarray(b, float) - np.asarray(a, float), resamples, seed)
