"""Paths in resource plans come from a model: relative, normalised, inside the workspace, the same on every file system."""

import unicodedata
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator

MAX_PART_BYTES = 200
MAX_BYTES = 900


def checked_path(path: str) -> str:
    """`path` as the relative path of a file in the workspace, a leading `./` removed. Raises ValueError for anything else."""
    path = path.removeprefix("./")
    if not path or path != path.strip():
        raise ValueError(f"{path!r}: expected a path without spaces around it")
    if path.startswith(("/", "~")) or "\\" in path or (len(path) > 1 and path[1] == ":"):
        raise ValueError(f"{path!r}: expected a path relative to the workspace, with / between its parts")
    if any(part in ("", ".", "..") for part in path.split("/")):
        raise ValueError(f"{path!r}: expected the path of a file, without empty parts, . or ..")
    if any(unicodedata.category(char) in ("Cc", "Cf", "Cs") for char in path) or unicodedata.normalize("NFC", path) != path:
        raise ValueError(f"{path!r}: expected printable characters in composed form (NFC)")
    if len(path.encode()) > MAX_BYTES or any(len(part.encode()) > MAX_PART_BYTES for part in path.split("/")):
        raise ValueError(f"{path[:60]!r}…: expected at most {MAX_PART_BYTES} bytes per part and {MAX_BYTES} in all")
    return path


WorkspacePath = Annotated[str, AfterValidator(checked_path)]


def check_together(paths: Iterable[str]) -> None:
    """Can these files exist side by side, on any file system?

    Raises ValueError on names that differ in case only and on a file that is also a folder.
    """
    spelled: dict[str, str] = {}
    for path in paths:
        if (other := spelled.setdefault(path.casefold(), path)) != path:
            raise ValueError(f"{other!r} and {path!r} differ in case only; give them different names")
    folders: dict[str, str] = {}
    for path in spelled.values():
        for parent in PurePosixPath(path).parents:
            name = str(parent)
            if name == ".":
                continue
            if name.casefold() in spelled:
                raise ValueError(f"{spelled[name.casefold()]!r} is a file and the folder of {path!r}; rename one")
            if folders.setdefault(name.casefold(), name) != name:
                raise ValueError(f"folders {folders[name.casefold()]!r} and {name!r} differ in case only; use one spelling")
