"""What readers of an interval rely on: known values, coverage, and no crash on suites that are small or empty."""

import numpy as np
import pytest

from clawgym.bench.stats import estimate, paired


def test_known_case():
    """60 successes in 100 tasks: the bootstrap agrees with the normal approximation 0.6 ± 1.96·sqrt(0.24/100)."""
    result = estimate(np.array([1.0] * 60 + [0.0] * 40))
    assert (result.n, result.mean) == (100, pytest.approx(0.6))
    assert result.low == pytest.approx(0.504, abs=0.011) and result.high == pytest.approx(0.696, abs=0.011)


@pytest.mark.parametrize(("n", "least"), [(16, 0.87), (48, 0.91)])
def test_coverage(n, least):
    rng = np.random.default_rng(5)
    truth, trials = 0.7, 400
    results = [estimate((rng.random(n) < truth).astype(float), resamples=400, seed=i) for i in range(trials)]
    covered = sum(r.low <= truth <= r.high for r in results) / trials
    assert least <= covered <= 0.985


def test_paired_is_narrower_than_two_intervals_where_tasks_differ_in_difficulty():
    rng = np.random.default_rng(1)
    difficulty = rng.random(40)
    a, b = difficulty * 0.5, difficulty * 0.5 + 0.2 + rng.normal(scale=0.02, size=40)
    both = paired(a, b)
    assert both.low > 0.18 and both.high < 0.22
    assert both.high - both.low < (estimate(b).high - estimate(b).low) / 3


def test_not_measured_is_left_out():
    assert estimate(np.array([1.0, np.nan, 0.5, np.nan])).mean == 0.75
    assert paired([np.nan, 0.0, 1.0], [1.0, 1.0, np.nan]).n == 1


def test_too_few_tasks_give_no_interval():
    assert estimate(np.array([])) == estimate(np.array([np.nan]))
    assert estimate(np.array([])).mean is None
    one = estimate(np.array([0.5]))
    assert (one.mean, one.low) == (0.5, None)


def test_same_seed_same_interval():
    values = np.random.default_rng(0).random(30)
    assert estimate(values, seed=3) == estimate(values, seed=3) != estimate(values, seed=4)
