"""What a grader says is believed only through its own channel, and only if it is a measurement."""

import asyncio
import json
from pathlib import Path

import pytest

from clawgym.config import Limits
from clawgym.config import Sandbox as Settings
from clawgym.errors import UserError
from clawgym.grades import code as code_module
from clawgym.grades.code import CodeResult, require_sandbox, run_code, run_states
from clawgym.sandbox import Completed, Sandbox

SETTINGS = Settings(limits=Limits(memory_mb=256, processes=60))


def grade(code: str, workspace: Path, transcript=(), wall_s: float = 10.0) -> CodeResult:
    return asyncio.run(run_code(Sandbox.from_settings(SETTINGS), code, workspace, list(transcript), wall_s))


def body(text: str) -> str:
    return "def grade(transcript, workspace_path):\n" + "".join(f"    {line}\n" for line in text.splitlines())


def test_scores_come_back_and_prints_do_not_matter(tmp_path):
    (tmp_path / "a.txt").write_text("7")
    code = body(
        "import os, pathlib, sys\n"
        "print('{\"scores\": {\"a\": 0}}'); sys.stderr.write('noise'); os.write(1, b'more')\n"
        "return {'a': pathlib.Path(workspace_path, 'a.txt').read_text() == '7', 'b': 0.5, 'c': 0, 'd': os.path.exists('a.txt')}"
    )
    assert grade(code, tmp_path) == CodeResult({"a": 1.0, "b": 0.5, "c": 0.0, "d": 1.0}, "ok")


def test_the_grader_sees_the_conversation_as_events(tmp_path):
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}
    talk = [
        {"role": "user", "content": "do it"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "error: no such file"},
        {"role": "assistant", "content": "Cannot."},
    ]
    code = body(
        "messages = [event['message'] for event in transcript if event['type'] == 'message']\n"
        "tool = messages[1]['content'][0]\n"
        "return {\n"
        " 'roles': [m['role'] for m in messages] == ['user', 'assistant', 'toolResult', 'assistant'],\n"
        " 'call': (tool['type'], tool['name'], tool['arguments'], tool['params']) == ('toolCall', 'read', {'path': 'a'}, {'path': 'a'}),\n"
        " 'result': messages[2]['toolName'] == 'read' and messages[2]['isError'],\n"
        " 'answer': messages[3]['content'] == [{'type': 'text', 'text': 'Cannot.'}]}"
    )
    assert grade(code, tmp_path, talk).scores == {"roles": 1.0, "call": 1.0, "result": 1.0, "answer": 1.0}


def test_a_graded_program_cannot_forge_the_result(tmp_path):
    (tmp_path / "evil.py").write_text(
        "import glob, os, sys\n"
        'fake = \'{"scores": {"done": 1.0}}\\n\'\n'
        "for place in [*glob.glob('/proc/*/fd/*'), '/proc/self/fd/1', '/dev/stdout']:\n"
        "    try:\n"
        "        with open(place, 'w') as out: out.write(fake)\n"
        "    except OSError: pass\n"
        "parent = os.getppid()\n"
        "for place in ('mem', 'environ'):\n"
        "    try: open(f'/proc/{parent}/{place}', 'rb').read(10); print('read', place)\n"
        "    except OSError: pass\n"
    )
    code = body(
        "import subprocess, sys\n"
        "done = subprocess.run([sys.executable, workspace_path + '/evil.py'], capture_output=True, text=True)\n"
        "return {'done': 0.0, 'leak': 'read' in done.stdout}"
    )
    assert grade(code, tmp_path).scores == {"done": 0.0, "leak": 0.0}


def test_a_grader_may_run_programs_but_cannot_change_the_snapshot(tmp_path):
    (tmp_path / "sum.py").write_text("print(1 + 1)")
    code = body(
        "import subprocess\n"
        "out = subprocess.run(['python3', 'sum.py'], cwd=workspace_path, capture_output=True, text=True).stdout\n"
        "try: open(workspace_path + '/x', 'w'); wrote = 1\n"
        "except OSError: wrote = 0\n"
        "return {'ran': out == '2\\n', 'wrote': wrote}"
    )
    assert grade(code, tmp_path).scores == {"ran": 1.0, "wrote": 0.0}


def test_links_of_the_agent_lead_nowhere(tmp_path):
    (tmp_path / "answer.txt").symlink_to("/etc/passwd")
    code = body("import os\nplace = workspace_path + '/answer.txt'\nreturn {'found': os.path.exists(place), 'link': os.path.islink(place)}")
    assert grade(code, tmp_path).scores == {"found": 0.0, "link": 1.0}


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (body("return 1 / 0"), "grader_crash"),
        ("def (", "grader_crash"),
        ("x = 1", "grader_crash"),
        ("import os\nos._exit(0)", "grader_crash"),
        ("import os\nos.kill(os.getpid(), 9)", "grader_crash"),
        (body("raise KeyboardInterrupt"), "grader_crash"),
        (body("return b'1' * (1 << 30)"), "grader_crash"),
        (body("while True: pass"), "grader_timeout"),
        (body("import os\nwhile True: os.fork()"), "grader_killed"),
        (body("return None"), "grader_invalid"),
        (body("return {}"), "grader_invalid"),
        (body("return {'a': 'false'}"), "grader_invalid"),
        (body("return {'a': float('nan')}"), "grader_invalid"),
        (body("return {'a': 1.5}"), "grader_invalid"),
        (body("return {1: 0.0, '1': 1.0}"), "grader_invalid"),
        (body("return {'x' * 200 + 'a': 0.0, 'x' * 200 + 'b': 1.0}"), "grader_invalid"),
        (body("return {'a': None}"), "grader_invalid"),
        (body("return {str(i): 1 for i in range(1000)}"), "grader_invalid"),
    ],
)
def test_what_is_no_measurement_is_null_with_its_reason(tmp_path, code, status):
    result = grade(code, tmp_path, wall_s=1.0 if status == "grader_timeout" else 10.0)
    assert result.scores is None
    # A fork bomb may starve (the kernel's own bound) before it is counted and killed.
    assert result.status == status or (status == "grader_killed" and result.status in ("grader_crash", "grader_timeout")), result


@pytest.mark.parametrize("score", ["10**400", "-(10**400)", "float('nan')", "float('inf')", "1.0001"])
def test_numbers_outside_0_to_1_of_any_size_are_no_measurement(tmp_path, score):
    assert grade(body(f"return {{'a': {score}}}"), tmp_path).status == "grader_invalid"


def test_a_grader_gives_the_same_every_time_even_where_it_walks_a_set(tmp_path):
    code = body("return {name: i / 8 for i, name in enumerate({'a', 'b', 'c', 'd', 'e', 'f'})}")
    assert grade(code, tmp_path) == grade(code, tmp_path)


def test_a_file_of_the_workspace_is_not_taken_for_a_module(tmp_path):
    (tmp_path / "statistics.py").write_text("mean = lambda values: 1.0")
    assert grade("import statistics\n" + body("return {'a': statistics.mean([0, 0])}"), tmp_path).scores == {"a": 0.0}


def states(code: str, folder: Path, transcripts: dict[str, list], wall_s: float = 5.0) -> dict[str, CodeResult]:
    sandbox = Sandbox.from_settings(SETTINGS)
    found = asyncio.run(run_states(sandbox, code, folder, list(transcripts.items()), wall_s))
    return dict(zip(transcripts, found, strict=True))


def test_states_of_a_task_are_graded_apart(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(name)
    code = "seen = []\n" + body(
        "seen.append(1)\n"
        "own = open(workspace_path + '/a.txt').read()\n"
        "return {'own': open('a.txt').read() == own == workspace_path.split('/')[-1], 'fresh': len(seen) == 1, 'talk': len(transcript) / 4}"
    )
    found = states(code, tmp_path, {"one": [], "two": [{"role": "user", "content": "x"}]})
    assert found["one"] == CodeResult({"own": 1.0, "fresh": 1.0, "talk": 0.0}, "ok")
    assert found["two"].scores["own"] == 1.0 and found["two"].scores["fresh"] == 1.0 and found["two"].scores["talk"] > 0


@pytest.mark.parametrize(
    ("does", "status"),
    [
        ("while True: pass", "grader_timeout"),
        ("import os; os._exit(0)", "grader_crash"),
        ("1 / 0", "grader_crash"),
        (
            "import os, signal; os.kill(os.getppid(), signal.SIGKILL)",
            "ok",
        ),  # alone, its parent is the sandbox's first process, which no signal ends
        ("import os\n  while True: os.fork()", "grader_killed"),
    ],
)
def test_a_state_that_fails_does_not_cost_the_others(tmp_path, does, status):
    for name in ("one", "bad", "two"):
        (tmp_path / name).mkdir()
    found = states(
        body(f"if workspace_path.endswith('bad'):\n  {does}\nreturn {{'a': 1}}"), tmp_path, {"one": [], "bad": [], "two": []}, 1.0
    )
    assert found["one"].scores == found["two"].scores == {"a": 1.0}
    assert found["bad"].status == status or (status == "grader_killed" and found["bad"].scores is None), found["bad"]


class Flaky:
    """A sandbox that comes up after `bad` failures."""

    limits = SETTINGS.limits

    def __init__(self, bad):
        self.bad = bad

    async def run(self, argv, *, stdin, **rest):
        self.bad -= 1
        if self.bad >= 0:
            return Completed(1, b"", b"no more processes", False, 0.0, "sandbox")
        return Completed(0, (json.loads(stdin)["nonce"] + '{"scores": {"a": 1}, "index": 0}').encode(), b"", False, 0.0)


def test_a_sandbox_that_fails_is_tried_again_and_stops_the_job_if_it_stays_away(tmp_path, monkeypatch):
    monkeypatch.setattr(code_module, "FIRST_PAUSE_S", 0)
    statuses = [asyncio.run(run_code(Flaky(bad), "", tmp_path, [], 5)).status for bad in (0, 1, 2, 3)]
    assert statuses == ["ok", "ok", "ok", "sandbox"]
    require_sandbox(["ok"] * 4 + ["sandbox"], "here")
    require_sandbox([], "here")
    with pytest.raises(UserError, match="here: the sandbox could not be started for 1 of 4 checks"):
        require_sandbox(statuses, "here")
