"""One process at a time in a working folder: a job whose Snakemake was killed may still be at work when the next one starts."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clawgym.errors import UserError


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold `<folder>.lock` while the context is open. The kernel gives it back however the process ends.

    Raises UserError, naming the process, if another one holds it. Ranks of a distributed run other than the first need no lock.
    """
    if int(os.environ.get("RANK", "0")):
        yield
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f"{folder.name}.lock"), "a+") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            raise UserError(
                f"{folder}: process {handle.read().strip() or '(unknown)'} is still at work there, perhaps left over by a Snakemake that "
                "was killed; wait for its end or end it, then run again"
            ) from None
        handle.truncate(0)
        handle.write(str(os.getpid()))
        handle.flush()
        yield
