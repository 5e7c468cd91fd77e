"""How scripts end."""

import errno
import os

import pytest

from clawgym.cli import run


def test_a_full_disk_is_one_line(capsys):
    def main():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "results/x.parquet")

    with pytest.raises(SystemExit) as end:
        run(main)
    assert end.value.code == 2
    assert (
        capsys.readouterr().err == "error: results/x.parquet: the disk is full (No space left on device); free some space and run again\n"
    )
