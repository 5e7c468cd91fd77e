"""What runs in the sandbox sees nothing of the host, reaches nothing, and cannot use more than it may."""

import asyncio
import os
import secrets
import time
from pathlib import Path

import pytest

from clawgym.config import Limits
from clawgym.config import Sandbox as Settings
from clawgym.errors import UserError
from clawgym.sandbox import Completed, Sandbox, bwrap
from clawgym.sandbox.base import Capped

TIGHT = Limits(wall_s=10, cpu_s=5, memory_mb=256, total_memory_mb=200, processes=40, file_mb=4, disk_mb=8, output_bytes=4000)


@pytest.fixture
def sandbox() -> Sandbox:
    return Sandbox.from_settings(Settings())


def run(sandbox: Sandbox, command: str, workspace: Path, limits: Limits = TIGHT, **more) -> Completed:
    return asyncio.run(sandbox.run(["bash", "-c", command], workspace=workspace, limits=limits, **more))


def python(sandbox: Sandbox, program: str, workspace: Path, limits: Limits = TIGHT, **more) -> Completed:
    return asyncio.run(sandbox.run(["python3", "-I", "-c", program], workspace=workspace, limits=limits, **more))


def test_it_works_in_the_workspace_and_hands_back_exit_code_and_output(sandbox, tmp_path):
    done = run(sandbox, "cat; pwd; echo made > out.txt; echo oops >&2; exit 3", tmp_path, stdin=b"given\n", env={"X": "1"})
    assert (done.exit_code, done.stdout, done.stderr, done.failure_kind) == (3, b"given\n/workspace\n", b"oops\n", None)
    assert (tmp_path / "out.txt").read_text() == "made\n"


def test_nothing_of_the_host_is_visible(sandbox, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    secret = Path.home() / f".clawgym-test-{secrets.token_hex(4)}"
    secret.write_text("host secret")
    try:
        (tmp_path / "passwd").symlink_to("/etc/passwd")
        (tmp_path / "home").symlink_to(secret)
        done = run(sandbox, f"env; cat passwd home {secret} /etc/shadow /proc/1/environ; ls -A /home /tmp /mnt /var /sys", tmp_path)
    finally:
        secret.unlink()
    text = (done.stdout + done.stderr).decode()
    assert "sk-secret" not in text and "host secret" not in text and "root:" not in text
    assert text.count("No such file") >= 4


def test_the_system_and_kernel_settings_are_read_only(sandbox, tmp_path):
    program = (
        "import os\n"
        "places = ['/usr/x', '/x', '/dev/x', '/etc/x', '/proc/self/oom_score_adj', '/proc/sys/vm/swappiness']\n"
        "print([place for place in places if os.access(place if os.path.exists(place) else os.path.dirname(place), os.W_OK)])\n"
        "for place in ('/tmp', os.environ['HOME']): open(place + '/f', 'w').write('x')\n"
    )
    done = python(sandbox, program, tmp_path)
    assert (done.exit_code, done.stdout) == (0, b"[]\n"), done.stderr


def test_there_is_no_network(sandbox, tmp_path):
    program = (
        "import socket\n"
        "for address in (('127.0.0.1', 22), ('10.0.0.1', 80), ('1.1.1.1', 53)):\n"
        "    try: socket.create_connection(address, 1); print('reached', address)\n"
        "    except OSError as error: print(type(error).__name__)\n"
        "print(socket.if_nameindex())"
    )
    done = python(sandbox, program, tmp_path)
    assert b"reached" not in done.stdout and b"[(1, 'lo')]" in done.stdout


def test_only_the_standard_library_can_be_imported(sandbox, tmp_path):
    done = python(sandbox, "import json, sqlite3\nimport yaml", tmp_path)
    assert b"No module named 'yaml'" in done.stderr


def test_a_read_only_workspace_stays_as_it_is(sandbox, tmp_path):
    (tmp_path / "a").write_text("1")
    done = run(sandbox, "echo 2 > a; echo 3 > b; rm a", tmp_path, writable=False)
    assert done.exit_code != 0 and (tmp_path / "a").read_text() == "1" and os.listdir(tmp_path) == ["a"]


def test_the_wall_limit_ends_everything_that_was_started(sandbox, tmp_path):
    mark = f"300.{secrets.randbelow(10**9):09d}"
    started = time.monotonic()
    done = run(sandbox, f"(setsid sleep {mark} &) ; exec sleep {mark}", tmp_path, TIGHT.model_copy(update={"wall_s": 0.5}))
    assert done.timed_out and done.failure_kind == "time_limit" and time.monotonic() - started < 5
    assert not running(mark)


def test_a_background_process_does_not_outlive_or_hold_up_the_run(sandbox, tmp_path):
    mark = f"300.{secrets.randbelow(10**9):09d}"
    started = time.monotonic()
    done = run(sandbox, f"nohup sleep {mark} & echo ready", tmp_path)
    assert done.exit_code == 0 and time.monotonic() - started < 5 and not running(mark)


def running(mark: str) -> bool:
    """Is there a process on this machine with `mark` in its command line?"""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if mark.encode() in (folder / "cmdline").read_bytes():
                    return True
            except OSError:
                continue  # ended while the list was read
    return False


@pytest.mark.parametrize(
    ("command", "failure"),
    [
        (":(){ :|:& }; :; sleep 30", "processes"),
        ("for i in 1 2 3; do python3 -c 'import time; x = b\"1\" * (100 << 20); time.sleep(30)' & done; wait", "memory"),
        ("for i in $(seq 9); do head -c 3000000 /dev/zero > f$i; done; sleep 30", "disk"),
        ("i=0; while :; do mkdir -p d$i/{1..500}; i=$((i+1)); done", "disk"),
    ],
)
def test_a_sandbox_that_uses_too_much_is_killed_and_says_why(sandbox, tmp_path, command, failure):
    done = run(sandbox, command, tmp_path)
    # Where the kernel bounds processes per namespace, the fork bomb starves before the watchdog counts it.
    assert done.failure_kind == failure or (failure == "processes" and b"fork" in done.stderr)


def test_one_process_cannot_take_more_memory_or_write_a_larger_file_than_it_may(sandbox, tmp_path):
    assert b"MemoryError" in python(sandbox, "x = bytearray(1 << 30)", tmp_path).stderr
    assert b"File too large" in python(sandbox, "open('f', 'wb').write(b'1' * (6 << 20))", tmp_path).stderr
    assert b"No space left" in run(sandbox, "cat /dev/zero | head -c 3M > /tmp/a; head -c 3M /dev/zero > /tmp/b", tmp_path).stderr


def test_a_flood_of_output_is_cut_while_it_is_read(sandbox, tmp_path):
    done = run(sandbox, "echo first; head -c 50M /dev/zero | tr '\\0' x; echo last", tmp_path)
    assert done.exit_code == 0 and len(done.stdout) < 4200
    assert done.stdout.startswith(b"first") and done.stdout.endswith(b"last\n") and b"bytes left out" in done.stdout


@pytest.mark.parametrize("size", [0, 1, 10, 11, 200])
def test_capped_output_keeps_both_ends(size):
    data = bytes(i % 251 for i in range(size))
    capped = Capped(10)
    for start in range(0, size, 3):
        capped.feed(data[start : start + 3])
    value = capped.value()
    assert (
        value == data if size <= 10 else value.startswith(data[:5]) and value.endswith(data[-5:]) and f"{size - 10} bytes".encode() in value
    )


def test_a_command_that_does_not_exist_is_no_failure_of_the_sandbox_but_a_missing_mount_is(sandbox, tmp_path):
    done = asyncio.run(sandbox.run(["no-such-program"], workspace=tmp_path))
    assert done.exit_code == 127 and done.failure_kind is None
    done = asyncio.run(sandbox.run(["true"], workspace=tmp_path / "missing"))
    assert done.failure_kind == "sandbox" and b"missing" in done.stderr


def test_cancelling_the_caller_ends_the_sandbox(sandbox, tmp_path):
    mark = f"300.{secrets.randbelow(10**9):09d}"

    async def cancelled() -> None:
        task = asyncio.create_task(sandbox.run(["sleep", mark], workspace=tmp_path))
        await asyncio.sleep(0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert not running(mark)


def test_without_bubblewrap_the_message_says_what_to_do(monkeypatch):
    bwrap._program.cache_clear()
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(UserError, match="install bubblewrap"):
        Sandbox.from_settings(Settings())
    bwrap._program.cache_clear()
