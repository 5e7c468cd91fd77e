"""The docker backend has the same interface and bounds. The tests that start containers need a daemon with the image of the settings
(`CLAWGYM_TEST_IMAGE` for another) and are skipped with a message where there is none."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import docker
import pytest

from clawgym.config import Limits
from clawgym.config import Sandbox as Settings
from clawgym.errors import UserError
from clawgym.grades.code import run_code
from clawgym.rollouts.session import ToolSession
from clawgym.sandbox import Completed, Sandbox
from clawgym.sandbox.containers import LABEL

LIMITS = Limits(wall_s=20, memory_mb=256, total_memory_mb=256, processes=60, file_mb=4, disk_mb=8, output_bytes=4000)
IMAGE = os.environ.get("CLAWGYM_TEST_IMAGE", Settings().image)
SETTINGS = Settings(backend="docker", image=IMAGE, limits=LIMITS)


def test_without_a_daemon_the_message_says_what_to_do(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    with pytest.raises(UserError, match="no Docker daemon answers.*bwrap"):
        Sandbox.from_settings(SETTINGS)


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    try:
        return Sandbox.from_settings(SETTINGS)
    except UserError as error:
        pytest.skip(str(error))


def run(sandbox: Sandbox, command: str, workspace: Path, limits: Limits = LIMITS, **more) -> Completed:
    return asyncio.run(sandbox.run(["bash", "-c", command], workspace=workspace, limits=limits, **more))


def test_it_works_in_the_workspace(sandbox, tmp_path):
    done = run(sandbox, "cat; pwd; echo made > out.txt; echo oops >&2; exit 3", tmp_path, stdin=b"given\n")
    assert (done.exit_code, done.stdout, done.stderr, done.failure_kind) == (3, b"given\n/workspace\n", b"oops\n", None)
    assert (tmp_path / "out.txt").read_text() == "made\n"
    assert run(sandbox, "echo 2 > out.txt", tmp_path, writable=False).exit_code != 0


def test_nothing_of_the_host_no_network_nothing_writable(sandbox, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    done = run(sandbox, "env; ls /root/.ssh; touch /usr/x /x; echo t > /tmp/t; echo h > $HOME/h", tmp_path)
    assert b"sk-secret" not in done.stdout and done.stderr.count(b"Read-only file system") == 2 and b"/tmp" not in done.stderr
    done = asyncio.run(sandbox.run(["python3", "-c", "import socket; print(socket.if_nameindex())"], workspace=tmp_path))
    assert done.stdout == b"[(1, 'lo')]\n"


@pytest.mark.parametrize(
    ("command", "failure"),
    [
        ("sleep 60", "time_limit"),
        ("python3 -c 'x = bytearray(600 << 20)'", "memory"),
        ("for i in 1 2 3 4; do head -c 3000000 /dev/zero > f$i; done; sleep 60", "disk"),
    ],
)
def test_limits(sandbox, tmp_path, command, failure):
    started = time.monotonic()
    done = run(sandbox, command, tmp_path, LIMITS.model_copy(update={"wall_s": 3.0}))
    assert done.failure_kind == failure and time.monotonic() - started < 15
    assert not sandbox.client.containers.list(all=True, filters={"label": LABEL})


def test_floods_and_fork_bombs_are_bounded(sandbox, tmp_path):
    done = run(sandbox, "echo first; head -c 20M /dev/zero | tr '\\0' x; echo last", tmp_path)
    assert done.stdout.startswith(b"first") and done.stdout.endswith(b"last\n") and len(done.stdout) < 4200
    done = run(sandbox, "for i in {1..100}; do sleep 5 & done", tmp_path)
    assert b"fork" in done.stderr


def test_graders_and_tool_sessions_run_on_it(sandbox, tmp_path):
    result = asyncio.run(run_code(sandbox, "def grade(t, w):\n    import os\n    return {'a': os.path.isdir(w)}", tmp_path, [], 10))
    assert result.scores == {"a": 1.0}, result
    with ToolSession(sandbox, tmp_path) as tools:
        assert tools.call("write", {"path": "a", "content": "1"}) == "wrote 1 bytes to a"
        assert tools.call("exec", {"command": "cat a; exit 2"}) == "1\n(exit code 2)"
        assert "killed" in tools.call("exec", {"command": "kill -9 -1"})
    assert not sandbox.client.containers.list(all=True, filters={"label": LABEL})


def test_containers_of_a_dead_job_are_removed_by_the_next(sandbox, tmp_path):
    done = subprocess.Popen([sys.executable, "-c", "pass"])
    done.wait()
    label = {LABEL: f"{os.uname().nodename}/{done.pid}"}
    docker.from_env().containers.create(IMAGE, ["sleep", "60"], labels=label)
    Sandbox.from_settings(SETTINGS)
    assert not sandbox.client.containers.list(all=True, filters={"label": LABEL})


def test_a_missing_image_is_named(sandbox):
    with pytest.raises(UserError, match="docker pull"):
        Sandbox.from_settings(SETTINGS.model_copy(update={"image": "no-such-image:1"}))
