"""What the split and the bench rely on: exact first-come semantics at any block boundary, and a neighbour for every drop."""

import numpy as np
import pytest

from clawgym.quality import novelty


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def planted(seed: int = 3) -> np.ndarray:
    """120 vectors, near copies of half of them, 40 more."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(120, 16))
    return unit(np.concatenate([base, base[:60] + rng.normal(scale=0.1, size=(60, 16)), rng.normal(size=(40, 16))]))


def one_by_one(vectors: np.ndarray, threshold: float) -> tuple[list[bool], list[int]]:
    kept: list[int] = []
    new, nearest = [], []
    for i, vector in enumerate(vectors):
        cosines = vectors[kept] @ vector
        nearest.append(kept[int(cosines.argmax())] if kept else -1)
        new.append(not kept or bool(cosines.max() < threshold))
        if new[-1]:
            kept.append(i)
    return new, nearest


@pytest.mark.parametrize(("block", "tile"), [(1, 1), (7, 5), (64, 1000), (1000, 64)])
def test_same_as_comparing_one_by_one(monkeypatch, block, tile):
    monkeypatch.setattr(novelty, "BLOCK", block)
    monkeypatch.setattr(novelty, "TILE", tile)
    vectors = planted()
    result = novelty.keep_first(vectors, 0.9)
    new, nearest = one_by_one(vectors, 0.9)
    assert result.new.tolist() == new and result.nearest.tolist() == nearest
    assert 50 <= (~result.new).sum() <= 60  # the planted copies and nothing else


def test_any_two_new_tasks_are_below_the_threshold():
    vectors = planted(5)
    kept = vectors[novelty.keep_first(vectors, 0.8).new]
    cosines = kept @ kept.T - 2 * np.eye(len(kept))
    assert cosines.max() < 0.8


def test_a_drop_names_the_task_it_repeats():
    vectors = unit(np.array([[1.0, 0], [0, 1], [1, 0.05]]))
    rows = novelty.decide(["a", "b", "c"], novelty.keep_first(vectors, 0.9))
    assert [row["new"] for row in rows] == [True, True, False]
    assert rows[2]["nearest_task_id"] == "a" and rows[2]["cosine"] > 0.99
    assert rows[0]["nearest_task_id"] is None and rows[0]["cosine"] is None


def test_opposite_vectors_have_a_neighbour_too():
    rows = novelty.decide(["a", "b"], novelty.keep_first(np.array([[1.0, 0], [-1, 0]], np.float32), 0.9))
    assert rows[1]["nearest_task_id"] == "a" and rows[1]["cosine"] == pytest.approx(-1)


def test_vectors_of_another_length_are_refused():
    with pytest.raises(ValueError, match="unit length"):
        novelty.keep_first(np.array([[3.0, 4.0]], np.float32), 0.9)


def test_no_tasks():
    assert len(novelty.keep_first(np.empty((0, 384), np.float32), 0.9).new) == 0
