"""Two jobs never work in one folder, and a killed one leaves it free."""

import os
import signal
import subprocess
import sys

import pytest

from clawgym.errors import UserError
from clawgym.locks import exclusive

HOLDER = """
import sys, time
from pathlib import Path
from clawgym.locks import exclusive
with exclusive(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_process_is_told_who_is_there_until_the_first_is_gone(tmp_path):
    work = tmp_path / "run" / "sft"
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(work)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(UserError, match=f"process {holder.pid} is still at work there"):
            with exclusive(work):
                pass
    finally:
        os.kill(holder.pid, signal.SIGKILL)
        holder.communicate()
    with exclusive(work):
        assert (tmp_path / "run" / "sft.lock").read_text() == str(os.getpid())
    with exclusive(work), exclusive(tmp_path / "run" / "rl"):
        pass
