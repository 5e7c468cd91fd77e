"""Novelty: a task is new only if no earlier new task is closer than a threshold (paper, section on quality assessment).

Exact, first come first kept, over all tasks of both routes. Approximate indices keep some duplicates and a comparison within
categories keeps those across them, so everything is compared: blocked matrix products, 100,000 x 384 in about a product's time.
It follows that any two new tasks are below the threshold, in whatever splits they end up.
"""

from dataclasses import dataclass

import numpy as np

BLOCK = 1024
TILE = 16_384


@dataclass(frozen=True)
class Novelty:
    """Per vector: is it new, the index of the nearest earlier new vector (-1: none), and its cosine (-1 if none)."""

    new: np.ndarray
    nearest: np.ndarray
    cosine: np.ndarray


def keep_first(vectors: np.ndarray, threshold: float) -> Novelty:
    """Which vectors have a cosine below `threshold` to every new vector before them.

    vectors: (n, d) float32 of unit length, in order of precedence. Memory: the input twice, and BLOCK x TILE products.
    Raises ValueError if a vector is not of unit length: a product would not be a cosine.
    """
    n = len(vectors)
    if n and not np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3):
        raise ValueError("keep_first needs vectors of unit length; normalise the embeddings first")
    new = np.zeros(n, bool)
    nearest = np.full(n, -1)
    cosine = np.full(n, -1, np.float32)
    pool = np.empty_like(vectors)  # new vectors so far, packed
    origin = np.empty(n, int)  # their indices
    size = 0
    for start in range(0, n, BLOCK):
        block = vectors[start : start + BLOCK]
        near, cos = nearest[start : start + BLOCK], cosine[start : start + BLOCK]  # views: written through
        for low in range(0, size, TILE):
            _closer(block @ pool[low : min(low + TILE, size)].T, origin[low:size], near, cos)
        within = block @ block.T
        for i in range(len(block)):
            if cos[i] >= threshold:
                continue
            new[start + i] = True
            pool[size], origin[size] = block[i], start + i
            size += 1
            _closer(within[i + 1 :, i : i + 1], origin[size - 1 : size], near[i + 1 :], cos[i + 1 :])
    return Novelty(new, nearest, cosine)


def _closer(similarity: np.ndarray, origin: np.ndarray, nearest: np.ndarray, cosine: np.ndarray) -> None:
    """Where a column of `similarity` (rows x candidates) beats `cosine`, note it and the candidate's index in place."""
    best = similarity.argmax(1)
    value = similarity[np.arange(len(best)), best]
    better = (value > cosine) | (nearest < 0)
    nearest[better], cosine[better] = origin[best[better]], value[better]


def decide(task_ids: list[str], novelty: Novelty) -> list[dict]:
    """Rows of novelty.parquet: every task, with the neighbour that explains a drop."""
    return [
        {
            "task_id": task_id,
            "new": bool(novelty.new[i]),
            "nearest_task_id": task_ids[novelty.nearest[i]] if novelty.nearest[i] >= 0 else None,
            "cosine": float(novelty.cosine[i]) if novelty.nearest[i] >= 0 else None,
        }
        for i, task_id in enumerate(task_ids)
    ]
