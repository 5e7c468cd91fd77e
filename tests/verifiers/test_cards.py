"""What the sanity gate relies on: a measured score for each check and state, and a typed status, never 0, where nothing was measured."""

import asyncio
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

from clawgym.config import Sandbox as SandboxSettings
from clawgym.sandbox import Sandbox
from clawgym.verifiers.cards import run_cards
from clawgym.verifiers.schema import CARD

TASK = {
    "task_id": "t-1", "instruction": "Write the total of day.csv to total.txt.", "expected_outputs": ["total.txt"], "may_modify": [],
    "files": [{"path": "in/day.csv", "type": "csv", "spec": "", "content": "item,total\nbread,3\n", "sha256": None}],
}  # fmt: skip
CODE = """
from pathlib import Path

def grade(transcript, workspace_path):
    total = Path(workspace_path, "total.txt")
    last = transcript[-1]["message"]
    said = last["role"] == "assistant" and "3" in last["content"][0]["text"]
    untouched = Path(workspace_path, "in/day.csv").is_file() and "bread,3" in Path(workspace_path, "in/day.csv").read_text()
    return {"right": float(total.is_file() and total.read_text().strip() == "3"), "said": float(said), "untouched": float(untouched)}
"""
SOLUTION = """
import csv
rows = list(csv.DictReader(open("in/day.csv")))
open("total.txt", "w").write(rows[0]["total"])
open("in/day.csv", "w").write("tampered")
print("The total is 3.")
"""
CHECKS = [{"check_id": name, "description": "…", "artifact": None} for name in ("right", "said", "untouched")]
VERIFIER = {"task_id": "t-1", "code": CODE, "checks": CHECKS, "rubric": [], "lambda": 0.7, "solution": SOLUTION, "model": "m"}


def cards(solver_asked=True, **change):
    sandbox = Sandbox.from_settings(SandboxSettings())
    rows = asyncio.run(run_cards(sandbox, [TASK], {"t-1": VERIFIER | change}, parallel=2, wall_s=5, solver_asked=solver_asked))
    return pa.Table.from_pylist(rows, schema=CARD).to_pylist()


def scores(rows, state):
    return {row["check_id"]: row["score"] for row in rows if row["state"] == state}


def test_known_states_are_scored_by_execution():
    rows = cards()
    assert scores(rows, "initial") == {"right": 0, "said": 0, "untouched": 1}  # a vacuous check shows
    assert scores(rows, "empty") == {"right": 0, "said": 0, "untouched": 0}
    assert scores(rows, "oracle") == {"right": 1, "said": 1, "untouched": 1}  # inputs the task may not change are restored
    assert {row["status"] for row in rows} == {"ok"}


def test_what_was_not_measured_is_null_with_its_reason():
    crash = cards(code="def grade(transcript, workspace_path):\n    raise ZeroDivisionError")
    assert len(crash) >= 9 and all(row["score"] is None and row["status"] not in ("ok", "solver_failed") for row in crash)
    for solution in ("raise SystemExit(3)", None):
        rows = cards(solution=solution)
        assert {row["status"] for row in rows if row["state"] == "oracle"} == {"solver_failed"} and scores(rows, "oracle")["right"] is None
        assert scores(rows, "initial")["right"] == 0
    fewer = cards(code="def grade(transcript, workspace_path):\n    return {'right': 1.0}")
    assert {row["check_id"]: row["status"] for row in fewer if row["state"] == "initial"} == {
        "right": "ok", "said": "missing_check", "untouched": "missing_check"
    }  # fmt: skip


def test_states_without_work_and_with_mistakes_are_scored_too():
    rows = cards()
    right = {row["state"]: row["score"] for row in rows if row["check_id"] == "right"}
    assert set(right) == {
        "initial", "empty", "touch", "echo", "copy", "oracle", "stub", "tamper", "mutant-change_number", "mutant-wrong_name", "mutant-stale"
    }  # fmt: skip
    assert right.pop("oracle") == 1 and set(right.values()) == {0}


def test_a_grader_that_believes_what_it_finds_shows():
    naive = "import os\ndef grade(transcript, workspace_path):\n    return {'there': os.path.isfile(workspace_path + '/total.txt')}"
    rows = cards(code=naive, checks=[CHECKS[0] | {"check_id": "there"}])
    there = {row["state"]: row["score"] for row in rows}
    assert there["touch"] == there["echo"] == there["stub"] == there["tamper"] == there["mutant-change_number"] == 1
    assert there["initial"] == there["mutant-stale"] == there["mutant-wrong_name"] == 0


@pytest.mark.parametrize(
    "value",
    [
        "hash('a') % 97 / 97",
        "__import__('time').localtime(0).tm_hour / 24",
        "len(workspace_path) / 100",
        "len(__import__('os').environ['LANG']) / 9",
    ],
    ids=["hash seed", "time zone", "path", "locale"],
)
def test_a_grader_that_depends_on_where_it_runs_is_not_deterministic(value):
    rows = cards(code=f"def grade(transcript, workspace_path):\n    return {{'right': {value}}}", checks=[CHECKS[0]])
    assert {row["status"] for row in rows if row["state"] in ("initial", "oracle")} == {"not_deterministic"}
    assert all(row["score"] is None for row in rows if row["state"] in ("initial", "oracle"))


def test_expected_outputs_that_name_no_file_inside_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    outside = ["../../escaped.txt", "/tmp/clawgym-escaped.txt", "reports/", "a/../../b"]
    for outputs in (outside, [*outside, "total.txt"]):
        task = TASK | {"expected_outputs": outputs}
        sandbox = Sandbox.from_settings(SandboxSettings())
        rows = asyncio.run(run_cards(sandbox, [task], {"t-1": VERIFIER | {"solution": None}}, parallel=1, wall_s=5, solver_asked=False))
        assert ("touch" in {row["state"] for row in rows}) == ("total.txt" in outputs)
    assert not list(tmp_path.rglob("*escaped*")) and not Path("/tmp/clawgym-escaped.txt").exists()


def test_what_a_task_may_modify_is_part_of_its_states():
    task = TASK | {"may_modify": ["in/day.csv"], "expected_outputs": ["in/day.csv"]}
    grader = "def grade(transcript, workspace_path):\n    return {'right': '7' in open(workspace_path + '/in/day.csv').read()}"
    verifier = VERIFIER | {"code": grader, "checks": [CHECKS[0]], "solution": "open('in/day.csv', 'w').write('item,total\\nbread,7\\n')"}
    sandbox = Sandbox.from_settings(SandboxSettings())
    rows = asyncio.run(run_cards(sandbox, [task], {"t-1": verifier}, parallel=1, wall_s=5, solver_asked=True))
    score = {row["state"]: row["score"] for row in rows}
    assert score["oracle"] == 1 and score["initial"] == score["mutant-stale"] == score["mutant-change_number"] == 0


def test_imported_graders_that_do_not_list_their_checks_have_a_card_too():
    rows = cards(checks=[], solution=None, solver_asked=False)
    assert scores(rows, "initial") == {"right": 0, "said": 0, "untouched": 1} and scores(rows, "oracle") == {}
    [row] = [row for row in cards(checks=[], solution=None, solver_asked=False, code="x = 1") if row["state"] == "empty"]
    assert row["check_id"] is None and row["score"] is None and row["status"] != "ok"
    assert cards(code=None) == []
