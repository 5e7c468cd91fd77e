"""What every sandbox backend gives: one bounded run, or one process to talk with, in a workspace and without a network."""

import errno
import os
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from clawgym import config

WORKSPACE = "/workspace"
MAX_ENTRIES = 20_000  # files and folders of one workspace; more is refused everywhere (sandbox, snapshot, restore)

# The whole environment of a sandboxed process. A fixed hash seed keeps graders deterministic; no byte code keeps workspaces clean.
ENVIRONMENT = {"HOME": "/home", "TMPDIR": "/tmp", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}


@dataclass(frozen=True)
class Completed:
    """How one sandboxed run ended.

    stdout, stderr: what was kept of them; over `limits.output_bytes` the middle is left out.
    failure_kind: null if the process ended by itself, whatever its exit code; `time_limit`, `memory`, `processes` or `disk` if it was
    killed for using too much; `sandbox` if the sandbox could not be set up.
    """

    exit_code: int
    stdout: bytes
    stderr: bytes
    timed_out: bool
    wall_s: float
    failure_kind: str | None = None


class Sandbox(ABC):
    """A backend. `run` for one bounded command, `popen` for a process that is talked to over its pipes.

    The workspace is mounted at /workspace and is the working directory; `python3` inside has the standard library only.
    """

    limits: config.Limits

    @staticmethod
    def from_settings(settings: config.Sandbox) -> "Sandbox":
        """The backend the settings name. Raises UserError if it cannot work on this machine."""
        if settings.backend == "docker":
            from clawgym.sandbox.containers import Containers

            return Containers(settings)
        from clawgym.sandbox.bwrap import Bwrap

        return Bwrap(settings)

    @abstractmethod
    async def run(
        self,
        argv: list[str],
        *,
        workspace: Path,
        readonly: dict[Path, str] | None = None,
        writable: bool = True,
        sockets: dict[Path, str] | None = None,
        stdin: bytes = b"",
        env: dict[str, str] | None = None,
        limits: config.Limits | None = None,
    ) -> Completed:
        """Run `argv` to its end or its limits.

        readonly: host file or folder → absolute path inside. sockets: host Unix socket → absolute path inside.
        limits: instead of the configured ones.
        """

    @abstractmethod
    def popen(
        self, argv: list[str], *, workspace: Path, readonly: dict[Path, str] | None = None, limits: config.Limits | None = None
    ) -> "Process":
        """Start `argv` and leave it running, with pipes to its stdin and stdout. The wall limit is the caller's."""


class Process(ABC):
    """A running sandboxed process with binary pipes."""

    stdin: IO[bytes]
    stdout: IO[bytes]
    failure_kind: str | None = None

    @abstractmethod
    def kill(self) -> None:
        """End it and everything it started; harmless if it has ended."""


class Capped:
    """Bytes of a stream with a bound on memory: the first and the last half of `limit`, whatever comes."""

    def __init__(self, limit: int):
        self.half = limit // 2
        self.head = bytearray()
        self.tail: deque[bytes] = deque()
        self.kept = 0  # bytes in tail
        self.dropped = 0

    def feed(self, data: bytes) -> None:
        room = self.half - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        if data:
            self.tail.append(data)
            self.kept += len(data)
            while self.kept - len(self.tail[0]) >= self.half:
                gone = self.tail.popleft()
                self.kept -= len(gone)
                self.dropped += len(gone)

    def value(self) -> bytes:
        tail = b"".join(self.tail)
        dropped = self.dropped + max(0, len(tail) - self.half)
        if not dropped:
            return bytes(self.head) + tail
        return bytes(self.head) + f"\n… {dropped} bytes left out …\n".encode() + tail[-self.half :]


def usage(folder: Path) -> tuple[int, int]:
    """(bytes on disk, entries) of a folder without following links; stops counting soon after MAX_ENTRIES."""
    size = entries = 0
    pending = [os.fspath(folder)]
    while pending and entries <= MAX_ENTRIES:
        try:
            with os.scandir(pending.pop()) as found:
                for entry in found:
                    entries += 1
                    if entries > MAX_ENTRIES:
                        break
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
        except OSError as error:
            # The tree changes while it is read; what is gone takes no space. What lies too deep to be counted is too much.
            entries += MAX_ENTRIES + 1 if error.errno == errno.ENAMETOOLONG else 0
    return size, entries
