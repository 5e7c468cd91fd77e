"""One record can be looked at in the terminal, found by the start of its id, and nothing in it can steer the terminal."""

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from clawgym import show
from clawgym.errors import UserError
from clawgym.tables import write_jsonl, write_table
from clawgym.tasks.schema import TASK
from clawgym.verifiers.schema import CARD, VERIFIER

MESSAGES = [
    {"role": "system", "content": "You work with files."},
    {"role": "user", "content": "Write 42 to total.txt."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "function": {"name": "write", "arguments": '{"path": "total.txt", "content": "42"}'}}],
    },
    {"role": "tool", "tool_call_id": "1", "content": "[bold]ok[/bold] \x1b[31mred"},
]
ANSWER = {"role": "assistant", "content": "All done."}


def plain_table(rows: list[dict], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    task = {
        "task_id": "t-abc1",
        "seed_id": "p-1",
        "route": "persona",
        "instruction": "Write 42 to total.txt. [not markup]",
        "category": "finance",
        "subcategory": None,
        "kind": "save-value",
        "operations": ["write_note"],
        "difficulty": "easy",
        "files": [
            {"path": "a.json", "type": "json", "spec": "numbers", "content": '{"n": 40}', "sha256": "0"},
            {"path": "b.xlsx", "type": "base64:xlsx", "spec": "sheet", "content": "UEsDBA==", "sha256": "1"},
            {"path": "c.txt", "type": "txt", "spec": "to come", "content": None, "sha256": None},
        ],
        "expected_outputs": ["total.txt"],
        "may_modify": [],
        "model": "m",
        "source": "pool",
        "licence": "Apache-2.0",
        "redistributable": True,
    }
    write_table([task, task | {"task_id": "t-abd2"}], TASK, tmp_path / "tasks/tasks.parquet", {})
    rule = {"rule_id": "tone", "text": "Is it polite?", "artifact": None, "weight": 1.0, "anchors": ["none", "bit", "half", "most", "all"]}
    check = {"check_id": "total", "description": "total.txt holds 42", "artifact": "total.txt"}
    verifier = {"task_id": "t-abc1", "code": "def grade(transcript, workspace_path):\n    return {}", "checks": [check], "rubric": [rule]}
    write_table([verifier | {"lambda": 0.7, "solution": None, "model": "m"}], VERIFIER, tmp_path / "verifiers/verifiers.parquet", {})
    cards = [
        {"task_id": "t-abc1", "state": "initial", "check_id": "total", "score": 0.0, "status": "ok"},
        {"task_id": "t-abc1", "state": "oracle", "check_id": "total", "score": None, "status": "grader_crash"},
    ]
    write_table(cards, CARD, tmp_path / "verifiers/cards.parquet", {})
    plain_table(
        [{"task_id": "t-abc1", "kept": False, "stage": "sanity", "reason": "grader_crash", "detail": "state oracle", "cosine": 0.5}],
        tmp_path / "quality/decisions.parquet",
    )
    rollout = {"rollout_id": "t-abc1-strong-0", "task_id": "t-abc1", "status": "finished", "turns": 2, "tool_calls": 1}
    plain_table([rollout | {"capture": "captures/x.jsonl.zst", "final_text": ""}], tmp_path / "rollouts/strong/rollouts.parquet")
    calls = [
        {"kind": "call", "index": 0, "request": {"messages": MESSAGES[:2]}, "response": {"choices": [{"message": MESSAGES[2]}]}},
        {"kind": "call", "index": 1, "request": {"messages": MESSAGES}, "response": {"choices": [{"message": ANSWER}]}},
        {"kind": "end"},
    ]
    write_jsonl(calls, tmp_path / "rollouts/strong/captures/x.jsonl.zst", {})
    grade = {
        "rollout_id": "t-abc1-strong-0",
        "check_id": "total",
        "rule_id": None,
        "score": 1.0,
        "grader": "code",
        "status": "ok",
        "detail": "",
    }
    plain_table([grade], tmp_path / "grades/strong/grades.parquet")
    plain_table(
        [{"rollout_id": "t-abc1-strong-0", "s_code": 1.0, "s_rubric": None, "s_task": 1.0, "status": "ok"}],
        tmp_path / "grades/strong/scores.parquet",
    )
    tools = json.dumps([{"type": "function", "function": {"name": "write"}}])
    plain_table(
        [{"trajectory_id": "t-abc1-strong-0", "reward": 1.0, "messages": json.dumps([*MESSAGES, ANSWER]), "tools": tools}],
        tmp_path / "trajectories/baseline/trajectories.parquet",
    )
    seed = {"seed_id": "p-1", "route": "persona", "persona": "A careful clerk.", "main_skill": "calc-1", "support_skills": []}
    plain_table([seed], tmp_path / "seeds/seeds.parquet")
    plain_table([{"skill_id": "calc-1", "name": "calc", "description": "adds", "body": "# Calc"}], tmp_path / "seeds/skills.parquet")
    return tmp_path


def printed(results: Path, kind: str, record_id: str, full: bool = False) -> str:
    out = io.StringIO()
    show.show(results, kind, record_id, Console(file=out, width=140, force_terminal=False), full)
    return out.getvalue()


def test_a_task_with_files_verifier_card_decision_and_rollouts(results):
    text = printed(results, "task", "t-abc1")
    for expected in (
        "[not markup]",
        '"n": 40',
        "binary, 6 bytes",
        "to come",
        "total.txt holds 42",
        "grader_crash",
        "state oracle",
        "Is it polite?",
    ):
        assert expected in text
    assert "left" in text and "t-abc1-strong-0" in text


def test_a_verifier_with_its_source(results):
    assert "def grade(transcript, workspace_path)" in printed(results, "verifier", "t-abc1")


def test_a_rollout_with_its_grades_and_turns(results):
    text = printed(results, "rollout", "t-abc1-strong-0")
    order = [text.index(part) for part in ("finished", "s_task", "total", "2 model calls", "You work with files", "→ write", "All done.")]
    assert order == sorted(order)


def test_a_rollout_without_a_capture_says_so(results):
    (results / "rollouts/strong/captures/x.jsonl.zst").unlink()
    assert "no capture was kept" in printed(results, "rollout", "t-abc1-strong-0")


def test_a_trajectory_turn_by_turn(results):
    text = printed(results, "trajectory", "t-abc1")
    order = [text.index(part) for part in ("reward", "0 system", "1 user", "2 assistant", "3 tool", "4 assistant", "All done.")]
    assert order == sorted(order)


def test_a_seed_with_its_skill_and_task(results):
    text = printed(results, "seed", "p-1")
    assert "A careful clerk." in text and "skill calc: adds" in text and "t-abc1" in text


def test_nothing_steers_the_terminal(results):
    text = printed(results, "trajectory", "t-abc1")
    assert "\x1b" not in text and "\\x1b[31mred" in text and "[bold]ok[/bold]" in text


def test_long_texts_are_cut_unless_asked_for(results, monkeypatch):
    monkeypatch.setattr(show, "SHORT", 10)
    assert "more characters (--full shows them)" in printed(results, "trajectory", "t-abc1")
    assert "more characters" not in printed(results, "trajectory", "t-abc1", full=True)


def test_the_beginning_of_an_id_is_enough_if_it_is_the_only_one(results):
    assert "t-abd2" in printed(results, "task", "t-abd")
    with pytest.raises(UserError, match="2 ids start so"):
        printed(results, "task", "t-ab")


def test_an_unknown_id_names_similar_ones_and_a_missing_table_its_stage(results):
    with pytest.raises(UserError, match="no task with this id; similar ones: .*t-abc1"):
        printed(results, "task", "t-xbc1")
    with pytest.raises(UserError, match="no table of rollout records"):
        show.find(results / "absent", "rollout", "x")
