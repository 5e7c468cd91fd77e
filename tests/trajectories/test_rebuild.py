"""The conversation that is trained on is what the model said and saw, and nothing of a bad or foreign rollout gets in."""

import json

import pyarrow as pa
import pytest

from clawgym.config import Trajectories
from clawgym.errors import UserError
from clawgym.tables import read_rows, write_jsonl, write_table
from clawgym.trajectories.rebuild import Unusable, rebuild
from clawgym.trajectories.schema import STATS, TRAJECTORY
from clawgym.trajectories.select import select

TOOLS = [{"type": "function", "function": {"name": "write", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}}]
START = [{"role": "system", "content": "Work."}, {"role": "user", "content": "Write a.txt"}]


def call(index, messages, message, status=200, tools=TOOLS):
    return {
        "kind": "call",
        "index": index,
        "status": status,
        "request": {"messages": messages, "tools": tools},
        "response": {"choices": [{"message": message}], "usage": {"completion_tokens": 7}} if status == 200 else {"error": "busy"},
    }


def writes(arguments='{"path": "a.txt"}'):
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "write", "arguments": arguments}}],
    }


def capture(arguments='{"path": "a.txt"}', echo=None):
    said = writes(arguments)
    result = {"role": "tool", "tool_call_id": "c1", "content": "wrote 0 bytes"}
    return [
        call(0, START, said),
        call(1, [*START, echo or said, result], None, status=500),
        call(2, [*START, echo or said, result], {"role": "assistant", "content": "Done."}),
        {"kind": "end"},
    ]


def test_assistant_words_come_from_the_responses_and_the_rest_from_the_requests():
    trimmed = writes('{"path":"b.txt"}') | {"content": "what the harness made of it"}
    found = rebuild(capture(echo=trimmed))
    assert [message["role"] for message in found.messages] == ["system", "user", "assistant", "tool", "assistant"]
    said = found.messages[2]
    assert said["content"] == "" and said["tool_calls"][0]["function"]["arguments"] == '{"path": "a.txt"}'
    assert found.messages[3]["content"] == "wrote 0 bytes" and found.messages[4]["content"] == "Done."
    assert found.tools == TOOLS and found.tokens_out == 14


def test_arguments_stay_the_text_of_the_model_and_objects_become_text():
    assert rebuild(capture('{"path":  "ä.txt"}')).calls[0]["function"]["arguments"] == '{"path":  "ä.txt"}'
    assert json.loads(rebuild(capture({"path": "ä"})).calls[0]["function"]["arguments"]) == {"path": "ä"}


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ([{"kind": "end"}], "no model call succeeded"),
        ([call(0, START, {"role": "assistant", "content": ""})], "last answer is empty"),
        (capture('{"path": "a'), "not a JSON object"),
        (capture('["a"]'), "not a JSON object"),
        ([call(0, START, writes()), call(1, [START[1], writes()], {"role": "assistant", "content": "Done."})], "does not continue"),
        ([call(0, START, writes()), call(1, [*START, writes()], {"role": "assistant", "content": "x"}, tools=[])], "tools changed"),
        ([call(0, [{"role": "user", "content": [{"type": "image_url"}]}], {"role": "assistant", "content": "x"})], "not text"),
    ],
)
def test_what_is_no_whole_conversation_says_why(records, reason):
    with pytest.raises(Unusable, match=reason):
        rebuild(records)


def task(task_id, split="train", **more):
    row = {"task_id": task_id, "split": split, "route": "persona", "kind": "save-value", "category": "finance", "source": "made here"}
    return row | {"licence": "Apache-2.0", "redistributable": True} | more


def rollout(name, task_id):
    return {"rollout_id": name, "task_id": task_id, "model": "strong", "capture": f"captures/{name}.jsonl.zst"}


CASE_TASKS = [task("t1"), task("t2", route="skill"), task("t3", split="heldout"), task("t4", split="unseen")]
CASE_ROLLOUTS = [rollout(f"r{i}", t) for i, t in enumerate(["t1", "t1", "t1", "t2", "t2", "t3", "t4"])]
CASE_SCORES = [{"rollout_id": f"r{i}", "s_task": s} for i, s in enumerate([0.5, 1.0, 0.75, 0.49, None, 1.0, 1.0])]


def test_selection_by_reward_split_and_count():
    kept, stats = select(
        {row["task_id"]: row for row in CASE_TASKS},
        CASE_ROLLOUTS,
        CASE_SCORES,
        Trajectories(max_per_task=2),
        lambda row: rebuild(capture()),
    )
    assert [row["trajectory_id"] for row in kept] == ["r1", "r2"]
    whole = stats[-1]
    assert (whole["rollouts"], whole["kept"], whole["unscored"], whole["low_reward"], whole["surplus"]) == (5, 2, 1, 1, 1)
    skill = next(row for row in stats if row["route"] == "skill")
    assert skill["kept"] == 0 and skill["reward_mean"] is None


def test_an_unusable_best_rollout_makes_room_for_the_next():
    def load(row):
        return rebuild(capture("no json" if row["rollout_id"] == "r1" else "{}"))

    kept, stats = select({row["task_id"]: row for row in CASE_TASKS}, CASE_ROLLOUTS, CASE_SCORES, Trajectories(max_per_task=1), load)
    assert [row["trajectory_id"] for row in kept] == ["r2"]
    assert stats[-1]["unusable"] == 1 and stats[-1]["surplus"] == 1


@pytest.fixture
def script(tmp_path):
    """Runs the script on the case's tables and captures, some of them replaced."""
    from scripts.build_trajectories import main

    def run(**changed):
        for row in CASE_ROLLOUTS:
            write_jsonl(changed.get("capture") or capture(), tmp_path / row["capture"], {})
        for name, rows in {"tasks": CASE_TASKS, "rollouts": CASE_ROLLOUTS, "scores": CASE_SCORES}.items():
            table = pa.Table.from_pylist(changed.get(name, rows))
            write_table(table, table.schema, tmp_path / f"{name}.parquet", {})
        paths = [arg for name in ("tasks", "rollouts", "scores") for arg in (f"--{name}", str(tmp_path / f"{name}.parquet"))]
        settings = json.dumps({"trajectories": Trajectories().model_dump()})
        main([*paths, "--settings", settings, "--trajectories", str(tmp_path / "x.parquet"), "--stats", str(tmp_path / "y.parquet")])

    return run


def test_the_script_writes_both_tables(tmp_path, script):
    script()
    rows = read_rows(tmp_path / "x.parquet", TRAJECTORY)
    assert {row["task_id"] for row in rows} == {"t1"}
    assert json.loads(rows[0]["messages"])[2]["tool_calls"][0]["function"]["arguments"] == '{"path": "a.txt"}'
    assert read_rows(tmp_path / "y.parquet", STATS)[-1]["tool_types"] == '{"write": 2}'


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"scores": CASE_SCORES[2:]}, "scores.parquet: expected the score of r0 and 1 more; delete"),
        ({"rollouts": CASE_ROLLOUTS[:-1]}, "rollouts.parquet: expected the rollout of r6 and 0 more; delete"),
        ({"scores": [row | {"s_task": "1.0"} for row in CASE_SCORES]}, "scores.parquet: column s_task: expected double, found string"),
        ({"tasks": [row | {"split": 1} for row in CASE_TASKS]}, "tasks.parquet: column split: expected string, found int64"),
        ({"capture": capture()[:1]}, "captures/r1.jsonl.zst: expected a whole capture"),
    ],
)
def test_tables_that_do_not_belong_together_and_damaged_captures_stop_the_script(tmp_path, script, changed, message):
    with pytest.raises(UserError, match=message):
        script(**changed)
    assert not (tmp_path / "x.parquet").exists()
