"""What came of a rollout, told by the proxy, the sandbox and the workspace, whatever the agent and its commands try."""

import json
import os
import runpy
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from aiohttp import web

from clawgym import config
from clawgym.client import Store
from clawgym.errors import UserError
from clawgym.rollouts.run import Plan, require_rollouts
from clawgym.rollouts.schema import ROLLOUT
from clawgym.tables import read_jsonl, write_table
from clawgym.tasks.schema import TASK
from clawgym.workspaces import restore

from .conftest import say, task, turns

ROOT = Path(__file__).parent.parent.parent


def left(stage, row: dict, name: str = "left") -> Path:
    """The workspace of a rollout, restored."""
    folder = stage.folder / name
    restore(stage.folder / "out" / row["snapshot"], folder)
    return folder


def test_an_agent_reads_writes_and_finishes(stage):
    script = turns(
        say(None, ("read", {"path": "in/data.txt"})),
        say("Now I write.", ("write", {"path": "out/n.txt", "content": "7\n"}), ("exec", {"command": "cat out/n.txt; ls"})),
        say("Done."),
    )
    (row,) = stage.run(script)
    assert (row["status"], row["failure_kind"], row["turns"], row["tool_calls"]) == ("finished", None, 3, 3)
    assert row["tool_types"] == ["exec", "read", "write"] and row["final_text"] == "Done."
    assert (row["tokens_in"], row["tokens_out"]) == (30, 15) and row["rollout_id"] == "t1-m-0"
    write_table([row], ROLLOUT, stage.folder / "out/rollouts.parquet", {})
    assert (left(stage, row) / "out/n.txt").read_text() == "7\n"
    answers = [m["content"] for m in stage.bodies[-1]["messages"] if m["role"] == "tool"]
    assert answers == ["seven\n", "wrote 2 bytes to out/n.txt", "7\nin\nout\n"]
    calls = [record for record in read_jsonl(stage.folder / "out" / row["capture"]) if record["kind"] == "call"]
    assert len(calls) == 3 and [m["role"] for m in calls[0]["request"]["messages"]] == ["system", "user"]


def test_worked_examples_stand_before_the_task(stage):
    prefix = [{"role": "user", "content": "Do x."}, {"role": "assistant", "content": "Did x."}]
    stage.run(turns(say("ok")), prefix=prefix)
    assert [m["content"] for m in stage.bodies[0]["messages"]][1:] == ["Do x.", "Did x.", "Do t1."]


@pytest.mark.parametrize(
    ("script", "settings", "status"),
    [
        (turns(say(None, ("exec", {"command": "true"}))), {"max_turns": 3}, "turn_limit"),
        (turns(say(None, ("exec", {"command": "true"}))), {"max_tokens": 100, "max_turns": 50}, "token_limit"),
        (turns(say(None, ("exec", {"command": "sleep 30"}))), {"wall_s": 1.5}, "time_limit"),
        (turns(say("and so on and", reason="length")), {}, "token_limit"),
        (turns(say(None, ("write", '{"path": '))), {"max_turns": 9}, "malformed"),
        (turns(say(None, ("fly", {}))), {"max_turns": 9}, "malformed"),
        (turns(say(None, ("exec", {"command": "kill -9 -1"}))), {}, "killed"),
        (turns(say(None, ("exec", {"command": "head -c 9M /dev/zero > a; head -c 9M /dev/zero > b; sleep 9"}))), {}, "killed"),
    ],
    ids=["turns", "tokens", "time", "answer-cut", "bad-json", "unknown-tool", "suicide", "disk"],
)
def test_ends_that_the_agent_caused_are_no_failures(stage, script, settings, status):
    (row,) = stage.run(script, **settings)
    assert (row["status"], row["failure_kind"]) == (status, None), row


def test_a_malformed_call_is_answered_and_can_be_mended(stage):
    (row,) = stage.run(turns(say(None, ("write", "{")), say(None, ("write", {"path": "a", "content": "1"})), say("Done.")))
    assert row["status"] == "finished"
    answer = next(m["content"] for m in stage.bodies[1]["messages"] if m["role"] == "tool")
    assert answer.startswith("error: the arguments of write are not JSON")
    repeated = next(m["tool_calls"][0] for m in stage.bodies[1]["messages"] if m.get("tool_calls"))
    # transformers serve, among others, answers 500 to a history whose arguments are not a JSON object
    assert json.loads(repeated["function"]["arguments"]) == {"unreadable": "{"}


@pytest.mark.parametrize("answer", [lambda: web.Response(status=500, text="down"), lambda: web.Response(text="{}")])
def test_a_model_that_does_not_answer_is_a_failure_with_a_row(stage, answer):
    (row,) = stage.run(lambda body: answer())
    assert (row["status"], row["failure_kind"], row["turns"]) == ("failed", "model_api", 0) and row["detail"]
    with pytest.raises(UserError, match="1 of 1 rollouts failed .*1 model_api.*max_infrastructure_failures"):
        require_rollouts([row], 0.2, "model m")


def test_a_failure_outside_the_agent_is_tried_again(stage):
    def script(body):
        return web.Response(status=500) if stage.asked == 1 else say("Done.")

    (row,) = stage.run(script, retries=1)
    assert row["status"] == "finished" and stage.asked == 2


def test_finished_rollouts_are_taken_up_and_failed_ones_run_again(stage):
    tasks = [task("a"), task("b")]
    first = stage.run(lambda body: web.Response(status=500) if "Do b." in str(body) else say("Done."), tasks)
    assert [row["status"] for row in first] == ["finished", "failed"]
    asked = stage.asked
    second = stage.run(turns(say("Done.")), tasks)
    assert [row["status"] for row in second] == ["finished", "finished"] and stage.asked == asked + 1
    stage.run(turns(say("Done.")), [task("a", instruction="Do a otherwise."), task("b")])
    assert stage.asked == asked + 2  # only what a change concerns runs again
    stage.run(turns(say("Done.")), tasks, attempts=2)
    assert stage.asked == asked + 4


def test_an_agent_that_leaves_traps_gets_a_snapshot_that_harms_nobody(stage):
    command = "ln -s /etc/passwd pw; ln -s / root; ln -s .. in/up; mkfifo pipe; ln in/data.txt hard;"
    command += "mkdir shut; echo x > shut/f; chmod 0 shut/f shut"
    (row,) = stage.run(turns(say(None, ("exec", {"command": command})), say("Done.")))
    assert row["status"] == "finished"
    folder = left(stage, row)
    assert os.readlink(folder / "pw") == "/etc/passwd" and not (folder / "pipe").exists()
    assert (folder / "shut/f").read_text() == "x\n" and (folder / "hard").stat().st_nlink == 1


def test_commands_reach_their_own_session_and_nothing_else(stage):
    program = "import os, socket; print(sorted(os.environ)); print(socket.if_nameindex())"
    commands = [f"python3 -c '{program}'", "cat /proc/net/route | wc -l; ls /run /opt/clawgym; ls -A $HOME"]
    stage.run(turns(*(say(None, ("exec", {"command": command})) for command in commands), say("Done.")))
    answers = [m["content"] for m in stage.bodies[-1]["messages"] if m["role"] == "tool"]
    assert "KEY" not in answers[0] and "TOKEN" not in answers[0] and "[(1, 'lo')]" in answers[0]
    assert answers[1].split() == ["1", "/opt/clawgym:", "lite.py", "toolbox.py", "/run:", "model.sock"]


def test_tools_of_a_real_model_prompt_stay_short():
    from clawgym.rollouts.toolbox import schemas

    assert len(json.dumps(schemas(["read", "write", "exec"]))) < 800  # about four characters per token


def test_the_script_shards_filters_by_split_and_collects(tmp_path, monkeypatch):
    files = [{"path": "in/data.txt", "type": "txt", "spec": "", "content": "seven\n", "sha256": "0"}]
    base = {name: "x" for name in ("seed_id", "route", "category", "subcategory", "kind", "difficulty", "model", "source", "licence")}
    rows = [
        base
        | {"task_id": f"t{i}", "instruction": "Say nothing.", "operations": [], "files": files, "expected_outputs": [], "may_modify": []}
        for i in range(4)
    ]
    table = write_table([row | {"redistributable": True} for row in rows], TASK, tmp_path / "plain.parquet", {})
    split = table.append_column("split", [["train", "train", "train", "unseen"]])
    pq.write_table(split, tmp_path / "tasks.parquet")
    settings = config.select(config.Config(), "rollouts", "sandbox", "spend", "seed", "models.strong")

    def script(name: str, *arguments: str) -> None:
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        runpy.run_path(str(ROOT / "scripts" / f"{name}.py"))["main"]()

    monkeypatch.chdir(tmp_path)
    shards = []
    for shard in ("0", "1"):
        shards.append(f"shards/{shard}/rollouts.parquet")
        script(
            "run_rollouts", "--tasks", "tasks.parquet", "--split", "train", "--model", "strong", "--shard", shard, "--shards", "2",
            "--settings", settings, "--out", shards[-1],
        )  # fmt: skip
    with pytest.raises(UserError, match="expected a column split"):
        script(
            "run_rollouts",
            "--tasks",
            "plain.parquet",
            "--split",
            "train",
            "--model",
            "strong",
            "--settings",
            settings,
            "--out",
            "x.parquet",
        )


def test_a_model_that_only_opens_brackets_is_malformed_and_not_a_failure(stage):
    (row,) = stage.run(turns(say(None, ("read", "[" * 5000)), say("half a pair \ud83d")))
    assert (row["status"], row["final_text"]) == ("finished", "half a pair ?")
    (row,) = stage.run(turns(say(None, ("read", "{" + '"a": {' * 5000))), [task("t2")])
    assert row["status"] == "malformed"


def test_one_malformed_answer_costs_its_rollout_and_not_the_job(stage):
    broken = [[{"index": 0, "message": {"content": None, "tool_calls": calls}}] for calls in (["x"], [{"function": "read"}], {"a": 1})]

    def script(body):
        index = int(body["messages"][-1]["content"].removeprefix("Do t").rstrip("."))
        return say("Done.") | ({"choices": broken[index]} if index < 3 else {"usage": [1] if index == 3 else {"prompt_tokens": 10**30}})

    rows = stage.run(script, [task(f"t{i}") for i in range(5)])
    assert [(row["status"], row["failure_kind"]) for row in rows] == [("failed", "model_api")] * 3 + [("finished", None)] * 2
    assert all("not a chat completion" in row["detail"] for row in rows[:3]) and all(0 < row["tokens_in"] < 1000 for row in rows[3:])
    write_table(rows, ROLLOUT, stage.folder / "out/rollouts.parquet", {})


def test_text_in_parts_and_arguments_as_an_object_are_understood(stage):
    first = say("Now I write.", ("write", {"path": "a", "content": "1"}))
    first["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = {"path": "a", "content": "1"}
    last = say([{"type": "text", "text": "All "}, {"type": "text", "text": "done."}])
    (row,) = stage.run(turns(first, last))
    assert (row["status"], row["final_text"], row["tool_types"]) == ("finished", "All done.", ["write"])
    assert (left(stage, row) / "a").read_text() == "1"


def test_a_ledger_that_cannot_be_written_stops_the_job(stage, monkeypatch):
    def full(*_, **__):
        raise UserError("disk is full")

    monkeypatch.setattr(Store, "record_usage", full)
    with pytest.raises(UserError, match="disk is full"):
        stage.run(turns(say("Done.")), [task(f"t{i}") for i in range(9)])
    assert stage.asked <= 2  # those in flight


def test_another_way_of_serving_a_checkpoint_is_another_rollout(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    plan = Plan("sft", config.Model(base_url="checkpoint", model=str(tmp_path)), config.Rollouts(), config.Sandbox(), config.Spend(), 1)
    marks = {plan.fingerprint(task(), 0), replace(plan, dtype="float32").fingerprint(task(), 0)}
    assert len(marks | {replace(plan, arguments=("--quantization", "bnb-4bit")).fingerprint(task(), 0)}) == 3


def test_a_bottomless_folder_ends_its_rollout_and_not_the_job(stage):
    dig = "import os\nfor _ in range(1200):\n    os.mkdir('d' * 50)\n    os.chdir('d' * 50)\n"
    script = turns(say(None, ("write", {"path": "dig.py", "content": dig}), ("exec", {"command": "python3 dig.py"})), say("Done."))
    (row,) = stage.run(script)
    assert (row["status"], row["failure_kind"], row["snapshot"]) == ("killed", None, None)
