"""Workspaces as data: input files in, snapshots out, and no path or link that reaches outside.

Agents leave anything behind: links to the host, pipes, loops, a million files. A snapshot keeps links as links, drops what is neither
file, folder nor link, and is bounded; a restore never follows a link and never writes outside its folder.
"""

import base64
import io
import os
import shutil
import stat
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import zstandard

from clawgym.errors import UserError
from clawgym.sandbox.base import MAX_ENTRIES
from clawgym.tables import replacing

MAX_DEPTH = 64
RESERVE_BYTES, RESERVE_FILES = 16 * 2**20, 1000
_NOFOLLOW = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def relative_path(path: str) -> str:
    """The normalised form of a path inside a workspace.

    Raises ValueError unless it is relative, stays inside, and has only printable characters (no backslash, no control character).
    """
    if not path or not path.isprintable() or "\\" in path or len(path) > 500:
        raise ValueError(f"path {path[:80]!r} is not a plain file path; use a relative path such as data/input.csv")
    parts = PurePosixPath(path).parts
    if path.startswith("/") or path.endswith("/") or ".." in parts or not parts or len(parts) > MAX_DEPTH:
        raise ValueError(f"path {path[:80]!r} leaves the workspace or names no file; use a relative path such as data/input.csv")
    if any(len(part.encode()) > 255 for part in parts):
        raise ValueError(f"path {path[:80]!r} has a part of more than 255 bytes; use shorter names")
    return "/".join(parts)


def check_paths(paths: list[str]) -> list[str]:
    """The normalised paths of one plan. Raises ValueError if two clash: equal but for case, or one a folder of the other."""
    normal = [relative_path(path) for path in paths]
    seen: dict[str, str] = {}
    for path in normal:
        if (other := seen.setdefault(path.casefold(), path)) is not path or normal.count(path) > 1:
            raise ValueError(f"paths {other!r} and {path!r} are the same file where case does not count; rename one")
    for path in normal:
        for parent in PurePosixPath(path).parents:
            if str(parent).casefold() in seen:
                raise ValueError(f"path {seen[str(parent).casefold()]!r} is a file and the folder of {path!r}; rename one")
    return normal


def _write(root: int, path: str, content: bytes) -> None:
    """Write below the directory descriptor `root`, replacing whatever is in the way and following no link."""
    *folders, name = path.split("/")
    folder = os.dup(root)
    try:
        for part in folders:
            try:
                child = os.open(part, _NOFOLLOW, dir_fd=folder)
            except OSError:
                _remove(folder, part)
                os.mkdir(part, 0o755, dir_fd=folder)
                child = os.open(part, _NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = child
        _remove(folder, name)
        sink = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=folder)
        with open(sink, "wb") as file:
            file.write(content)
    finally:
        os.close(folder)


def _remove(folder: int, name: str) -> None:
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        shutil.rmtree(name, dir_fd=folder)
    else:
        os.unlink(name, dir_fd=folder)


def spacious(folder: Path) -> bool:
    """Is there room on the disk of `folder`? Where the machine's own disk is full, an agent's failed write says nothing of the agent."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize >= RESERVE_BYTES and (not disk.f_files or disk.f_favail >= RESERVE_FILES)


@contextmanager
def scratch(prefix: str) -> Iterator[Path]:
    """A new folder for a workspace, removed afterwards whatever was made of it."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        discard(folder)


def discard(folder: Path) -> None:
    """Remove a tree, even one without permissions or deeper than Python's stack and open files reach. No link is followed."""
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
            subprocess.run([*command, "--", str(folder)], capture_output=True)


def materialise(task: Mapping, folder: Path) -> None:
    """Write the task's input files into `folder` (created if missing).

    Raises UserError, naming the task, if a path is unsafe, two clash, or a content is missing.
    """
    lay(inputs_of(task), folder)


def lay(files: Mapping[str, bytes], folder: Path) -> None:
    """Write path → bytes into `folder` (created if missing), replacing what is in the way and following no link."""
    folder.mkdir(parents=True, exist_ok=True)
    root = os.open(folder, _NOFOLLOW)
    try:
        for path, content in files.items():
            _write(root, path, content)
    finally:
        os.close(root)


def contents(folder: Path, max_mb: float = 64) -> dict[str, bytes]:
    """Path → bytes of the regular files below `folder`; links, pipes and devices are left out.

    Raises ValueError if they exceed `max_mb` MiB or MAX_ENTRIES entries, or lie deeper than MAX_DEPTH.
    """
    found: dict[str, bytes] = {}
    budget, entries = int(max_mb * 2**20), 0
    for path, folder_fd, name in _walk(folder):
        entries += 1
        status = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            continue
        budget -= status.st_size
        if budget < 0 or entries > MAX_ENTRIES:
            raise ValueError(f"{folder}: more than {max_mb} MiB or {MAX_ENTRIES} entries")
        _readable(name, folder_fd, status.st_mode, 0o400)
        with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder_fd), "rb") as file:
            found[path] = file.read()
    return found


def overlay_inputs(task: Mapping, folder: Path) -> None:
    """Lay the task's pristine inputs over what an agent left, except those it may modify.

    A grader then compares with the data that was given, not with what the agent made of it.
    Raises ValueError if the tree is deeper than MAX_DEPTH.
    """
    for _ in _walk(folder):
        continue  # gives permissions back on its way
    root = os.open(folder, _NOFOLLOW)
    modifiable = {relative_path(path) for path in task.get("may_modify") or []}
    try:
        for path, content in inputs_of(task).items():
            if path not in modifiable:
                _write(root, path, content)
    finally:
        os.close(root)


def inputs_of(task: Mapping) -> dict[str, bytes]:
    """Path → bytes of the task's input files.

    Raises UserError, naming the task, if a path is unsafe, two clash, or a content is missing.
    """
    files = task.get("files") or []
    try:
        paths = check_paths([file["path"] for file in files])
    except ValueError as error:
        raise UserError(f"task {task.get('task_id')}: {error}") from None
    for file in files:
        if file["content"] is None:
            raise UserError(f"task {task.get('task_id')}: {file['path']} has no content; run the resources stage first")
    return {path: content_bytes(file) for path, file in zip(paths, files, strict=True)}


def content_bytes(file: Mapping) -> bytes:
    """The bytes of one entry of a task's `files`: its text, or what its base64 stands for where the type starts with `base64:`."""
    if not file.get("type", "").startswith("base64:"):
        return file["content"].encode()
    try:
        return base64.b64decode(file["content"], validate=True)
    except ValueError:
        raise UserError(f"{file['path']}: expected base64 content for type {file['type']}; import the task again") from None


def snapshot(folder: Path, archive: Path, max_mb: float) -> None:
    """Write everything in `folder` to `archive` (.tar.zst): sorted, without times and owners, so that equal trees give equal bytes.

    Links stay links, hard links become files of their own; pipes, sockets and devices are left out.
    Raises ValueError if the contents exceed `max_mb` MiB or MAX_ENTRIES entries.
    """
    budget = int(max_mb * 2**20)
    entries = 0
    with replacing(archive) as sink, zstandard.ZstdCompressor(level=3).stream_writer(sink, closefd=False) as packed:
        with tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar:
            for path, folder_fd, name in _walk(folder):
                entries += 1
                if entries > MAX_ENTRIES:
                    raise ValueError(f"{folder}: more than {MAX_ENTRIES} entries")
                found = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
                entry = tarfile.TarInfo(path)
                if stat.S_ISDIR(found.st_mode):
                    entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                    tar.addfile(entry)
                elif stat.S_ISLNK(found.st_mode):
                    entry.type, entry.mode, entry.linkname = tarfile.SYMTYPE, 0o777, os.readlink(name, dir_fd=folder_fd)
                    tar.addfile(entry)
                elif stat.S_ISREG(found.st_mode):
                    budget -= found.st_size
                    if budget < 0:
                        raise ValueError(f"{folder}: more than {max_mb} MiB")
                    entry.mode, entry.size = 0o755 if found.st_mode & 0o100 else 0o644, found.st_size
                    _readable(name, folder_fd, found.st_mode, 0o400)
                    with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder_fd), "rb") as file:
                        tar.addfile(entry, file)


def _walk(folder: Path):
    """(path, descriptor of its folder, name) of everything below, sorted, parents first; links are never entered."""

    def below(fd: int, prefix: str, depth: int):
        for name in sorted(os.listdir(fd)):
            yield prefix + name, fd, name
            mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                if depth == MAX_DEPTH:
                    raise ValueError(f"{folder}: folders deeper than {MAX_DEPTH}")
                _readable(name, fd, mode, 0o700)
                child = os.open(name, _NOFOLLOW, dir_fd=fd)
                try:
                    yield from below(child, f"{prefix}{name}/", depth + 1)
                finally:
                    os.close(child)

    above = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _readable(folder.name, above, os.stat(folder.name, dir_fd=above, follow_symlinks=False).st_mode, 0o700)
        root = os.open(folder.name, _NOFOLLOW, dir_fd=above)
    finally:
        os.close(above)
    try:
        yield from below(root, "", 1)
    finally:
        os.close(root)


def _readable(name: str, fd: int, mode: int, needed: int) -> None:
    """An agent may have taken the permission to read from its own files; the owner gives it back."""
    if mode & needed != needed:
        os.chmod(name, stat.S_IMODE(mode) | needed, dir_fd=fd)


def restore(archive: Path, folder: Path, max_mb: float = 1024) -> None:
    """Unpack a snapshot into `folder`, which must be empty or missing.

    Raises ValueError if the archive names a path outside, holds anything but files, folders and links, or unpacks to over `max_mb` MiB.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ValueError(f"{folder}: must be empty to restore a snapshot into it")
    budget = int(max_mb * 2**20)
    links: list[tuple[str, str]] = []
    root = os.open(folder, _NOFOLLOW)
    try:
        with open(archive, "rb") as source, zstandard.ZstdDecompressor().stream_reader(source) as packed:
            with tarfile.open(fileobj=io.BufferedReader(packed), mode="r|") as tar:
                for count, entry in enumerate(tar):
                    parts = entry.name.split("/")
                    if entry.name.startswith("/") or any(part in ("", ".", "..") for part in parts) or len(parts) > MAX_DEPTH + 1:
                        raise ValueError(f"{archive}: entry {entry.name[:80]!r} leaves the folder")
                    budget -= entry.size
                    if budget < 0 or count >= MAX_ENTRIES:
                        raise ValueError(f"{archive}: unpacks to more than {max_mb} MiB or {MAX_ENTRIES} entries")
                    if entry.isdir():
                        _make_folder(root, parts)
                    elif entry.issym():
                        links.append((entry.name, entry.linkname))
                    elif entry.isreg():
                        _write(root, entry.name, tar.extractfile(entry).read())
                        if entry.mode & 0o100:
                            _make_executable(root, parts)
                    else:
                        raise ValueError(f"{archive}: entry {entry.name[:80]!r} is neither file, folder nor link")
        for name, target in links:  # last, so that no file was written through one
            _make_link(root, name.split("/"), target)
    finally:
        os.close(root)


def _descend(root: int, folders: list[str]) -> int:
    folder = os.dup(root)
    for part in folders:
        try:
            child = os.open(part, _NOFOLLOW, dir_fd=folder)
        finally:
            os.close(folder)
        folder = child
    return folder


def _make_folder(root: int, parts: list[str]) -> None:
    parent = _descend(root, parts[:-1])
    try:
        os.mkdir(parts[-1], 0o755, dir_fd=parent)
    finally:
        os.close(parent)


def _make_executable(root: int, parts: list[str]) -> None:
    parent = _descend(root, parts[:-1])
    try:
        os.chmod(parts[-1], 0o755, dir_fd=parent)  # written a moment ago by us: a regular file
    finally:
        os.close(parent)


def _make_link(root: int, parts: list[str], target: str) -> None:
    parent = _descend(root, parts[:-1])
    try:
        os.symlink(target, parts[-1], dir_fd=parent)
    finally:
        os.close(parent)


def read_artifact(folder: Path, path: str, limit: int) -> bytes | None:
    """Up to `limit` bytes of one file of an untrusted tree; null if it is missing, not a regular file, or behind a link."""
    try:
        parts = relative_path(path).split("/")
        root = os.open(folder, _NOFOLLOW)
    except (ValueError, OSError):
        return None
    try:
        parent = _descend(root, parts[:-1])
        try:
            fd = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=parent)
        finally:
            os.close(parent)
        with open(fd, "rb") as file:
            return file.read(limit) if stat.S_ISREG(os.fstat(fd).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(root)
