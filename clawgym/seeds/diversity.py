"""How much a set of personas repeats itself: the cosine of each one to its nearest other one."""

import numpy as np

BLOCK = 2048


def nearest_cosines(vectors: np.ndarray) -> np.ndarray:
    """(n,) largest cosine of each row to any other row. vectors: (n, d) float32, unit length; n ≥ 2."""
    nearest = np.full(len(vectors), -1.0, np.float32)
    for start in range(0, len(vectors), BLOCK):
        block = vectors[start : start + BLOCK]
        similarity = block @ vectors.T
        similarity[np.arange(len(block)), np.arange(start, start + len(block))] = -1
        nearest[start : start + len(block)] = similarity.max(axis=1)
    return nearest


def diversity_row(source: str, n: int, cosines: np.ndarray | None) -> dict:
    """One row of diversity.parquet; nulls where nothing was measured (switched off, or a single persona)."""
    measured = cosines is not None and n > 1
    return {
        "source": source,
        "n": n,
        "mean_nearest_cosine": float(cosines.mean()) if measured else None,
        "p95_nearest_cosine": float(np.quantile(cosines, 0.95)) if measured else None,
    }
