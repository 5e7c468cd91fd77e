"""The tools, as the lite agent and RL episodes use them: in a sandbox, over one persistent process."""

import time

import pytest

from clawgym.config import Limits
from clawgym.config import Sandbox as Settings
from clawgym.rollouts import toolbox
from clawgym.rollouts.session import ToolSession


@pytest.fixture
def tools(tmp_path):
    with ToolSession(Settings(limits=Limits(processes=60, disk_mb=16)), tmp_path) as session:
        yield session


def test_files(tools, tmp_path):
    assert tools.call("write", {"path": "a/b.txt", "content": "one two\r\n"}) == "wrote 9 bytes to a/b.txt"
    assert (tmp_path / "a/b.txt").read_bytes() == b"one two\r\n"
    assert tools.call("edit", {"path": "a/b.txt", "old": "two", "new": "2"}) == "edited a/b.txt"
    assert tools.call("edit", {"path": "a/b.txt", "old": "x", "new": "2"}).startswith("error: old occurs 0 times")
    assert tools.call("read", {"path": "a/b.txt"}) == "one 2\r\n"
    assert tools.call("read", {"path": "/workspace/a/b.txt"}) == "one 2\r\n"
    assert tools.call("read", {"path": "nope"}).startswith("error: no such file")
    assert tools.call("read", {"path": "a"}) == "error: this is a folder; it has\nb.txt"
    assert tools.call("read", {"path": "/dev/zero"}).startswith("error:")
    (tmp_path / "bin").write_bytes(b"\xff\xfe\x00")
    assert tools.call("read", {"path": "bin"}) == "error: bin is not text"
    (tmp_path / "link").symlink_to("/etc/passwd")
    assert tools.call("read", {"path": "link"}).startswith("error: no such file")


def test_exec(tools):
    assert tools.call("exec", {"command": "echo out; echo err >&2; exit 4"}) == "out\nerr\n\n(exit code 4)"
    assert tools.call("exec", {"command": "true"}) == "(no output)"
    assert tools.call("exec", {"command": "sleep 60 & echo now"}) == "now\n"
    assert "stopped after 0.2 s" in tools.call("exec", {"command": "sleep 5", "timeout": 0.2})
    long = tools.call("exec", {"command": "seq 100000"})
    assert long.startswith("1\n2\n") and long.endswith("100000\n") and "characters left out" in long and len(long) < 8200


def test_background_processes(tools):
    assert tools.call("process", {"action": "start", "command": "echo a; sleep 0.1; echo b; sleep 60"}) == "started 1"
    tools.call("exec", {"command": "sleep 0.5"})
    assert tools.call("process", {"action": "poll", "id": "1"}) == "running\na\nb"
    assert tools.call("process", {"action": "list"}) == "1 running: echo a; sleep 0.1; echo b; sleep 60"
    assert tools.call("process", {"action": "kill", "id": "1"}) == "killed 1"
    assert tools.call("process", {"action": "log", "id": "1"}) == "ended with code -9\na\nb"
    assert tools.call("process", {"action": "poll", "id": "7"}).startswith("error: no background process 7")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("fly", {}),
        ("write", {"path": "a"}),
        ("write", {"path": 1, "content": "x"}),
        ("read", []),
        ("read", {"path": "a\0b"}),
        ("exec", None),
    ],
)
def test_what_cannot_be_done_is_answered_not_raised(tools, name, arguments):
    assert tools.call(name, arguments).startswith("error:")
    assert tools.call("exec", {"command": "echo on"}) == "on\n"


def test_a_session_that_its_command_kills_says_so_from_then_on(tools):
    assert tools.call("exec", {"command": "kill -9 -1"}) == "error: the tools have ended (killed)"
    assert tools.call("read", {"path": "x"}) == "error: the tools have ended (killed)" and tools.failure_kind == "killed"


def test_a_session_ends_with_everything_it_started(tmp_path):
    session = ToolSession(Settings(), tmp_path)
    session.call("process", {"action": "start", "command": "while :; do date +%N >> beat; done"})
    session.call("exec", {"command": "sleep 0.2"})
    session.close()
    session.close()
    beat = (tmp_path / "beat").read_text()
    time.sleep(0.1)
    assert (tmp_path / "beat").read_text() == beat


def test_calls_are_parsed_as_the_model_wrote_them():
    names = ("read", "exec")
    call = {"function": {"name": "read", "arguments": '{"path": "a"}'}}
    assert toolbox.parse(call, names) == ("read", {"path": "a"}, None)
    for bad in ({}, None, {"function": {"name": "write", "arguments": "{}"}}, {"function": {"name": "read", "arguments": '["a"]'}}):
        assert toolbox.parse(bad, names)[2].startswith("error:")


def test_no_optional_argument_and_no_file_name_ends_the_tools(tools):
    for name, arguments in [
        ("exec", {"command": "true", "timeout": [1]}),
        ("exec", {"command": "true", "timeout": None}),
        ("process", {"action": "start", "command": 7}),
        ("process", {"action": "poll", "id": ["1"]}),
        ("read", {"path": "half a pair \ud83d"}),
    ]:
        assert tools.call(name, arguments).startswith("error:")
    assert tools.call("exec", {"command": r"touch $'\xff'"}) == "(no output)"
    assert tools.call("read", {"path": "."}) == "error: this is a folder; it has\n?"


def test_arguments_nested_without_end_are_malformed():
    assert "not JSON" in toolbox.parse({"function": {"name": "read", "arguments": "[" * 5000}}, ["read"])[2]
