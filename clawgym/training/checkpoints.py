"""Folders that appear whole or not at all, and the work folder that an unfinished run goes on from."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clawgym.errors import UserError


@contextmanager
def writing_folder(out: Path) -> Iterator[Path]:
    """A folder that becomes `out`, in place of what is there, once the block ends without an error."""
    out.parent.mkdir(parents=True, exist_ok=True)
    aside = out.with_name(f".{out.name}.{os.getpid()}")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    try:
        yield aside
        if out.exists():
            shutil.rmtree(out)
        os.replace(aside, out)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def check_checkpoint(folder: Path) -> Path:
    """The folder, if it holds a model. Raises UserError otherwise."""
    if not (folder / "config.json").is_file() or not list(folder.glob("*.safetensors")):
        raise UserError(f"{folder}: expected a checkpoint folder with config.json and *.safetensors; run the training rule before this one")
    return folder


def folder_digest(folder: Path) -> str:
    """SHA-256 over the files of a checkpoint folder: 16 hex digits."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        digest.update(path.name.encode() + b"\0")
        with open(path, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def open_work(folder: Path, mark: str) -> Path | None:
    """The last complete checkpoint of the work folder, if it belongs to the run that `mark` stands for.

    mark: fingerprint of data, settings and base model. A folder of another run is emptied: its state must not leak into this one.
    """
    marker = folder / "fingerprint"
    if not marker.is_file() or marker.read_text() != mark:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        marker.write_text(mark)
    # The trainer writes trainer_state.json last: a checkpoint without a whole one was cut off.
    complete = [path.parent for path in folder.glob("checkpoint-*/trainer_state.json") if _is_json(path)]
    return max(complete, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except ValueError:
        return False
    return True
