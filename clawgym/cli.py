"""What every script shares: a user's mistake ends as one clear line and a non-zero exit code."""

import sys
from collections.abc import Callable

from clawgym.errors import UserError


def run(main: Callable[[], None]) -> None:
    """Run `main`; print a UserError without traceback and exit with 2."""
    try:
        main()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
