"""What every script shares: a user's mistake ends as one clear line and a non-zero exit code."""

import errno
import signal
import sys
from collections.abc import Callable

from clawgym.errors import UserError


def run(main: Callable[[], None]) -> None:
    """Run `main`; print a UserError, or that the disk is full, without traceback and exit with 2.

    A job that is told to end (a time limit of the cluster, a cancelled run) leaves through its `finally`: scratch folders go with it.
    """
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        main()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        print(f"error: {error.filename or 'results'}: the disk is full ({error.strerror}); free some space and run again", file=sys.stderr)
        sys.exit(2)
