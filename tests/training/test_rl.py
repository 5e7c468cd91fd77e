"""GRPO acts with the agent's tools in the sandbox; a rollout that could not be scored earns no zero and is counted."""

import asyncio
import json
import math

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from clawgym.config import Limits, Rl, Sandbox
from clawgym.errors import UserError
from clawgym.grades.code import CodeResult
from clawgym.rollouts.toolbox import schemas
from clawgym.sandbox import Sandbox as Backend
from clawgym.tables import write_table
from clawgym.training import episodes, rl
from clawgym.training.schema import RL_METRICS

GRADER = """
import os
def grade(transcript, workspace_path):
    path = os.path.join(workspace_path, "out.txt")
    return {"written": float(os.path.exists(path)), "right": float(os.path.exists(path) and open(path).read() == "yes")}
"""


def task(number, **more):
    return {
        "task_id": f"t{number}",
        "split": "train",
        "instruction": "Write yes to out.txt",
        "files": [{"path": "in.txt", "type": "text", "spec": "", "content": "yes", "sha256": None}],
        "may_modify": [],
        "expected_outputs": ["out.txt"],
        "code": GRADER,
    } | more


@pytest.fixture(scope="module")
def sandbox():
    return Backend.from_settings(Sandbox())


def environment(sandbox, *tasks, tools=("read", "write", "exec")):
    return episodes.episode_class(list(tools), sandbox, {row["task_id"]: row for row in tasks}, 30.0, 10.0)


def scores(made):
    logged = {}
    return asyncio.run(episodes.reward_function(2)(made, logged.__setitem__)), logged


def test_tools_act_on_the_workspace_and_the_grader_scores_it(sandbox):
    make = environment(sandbox, task(1), task(2))
    made = [make(), make(), make()]
    for episode, name in zip(made, ("t1", "t2", "t2"), strict=True):
        episode.reset(task_id=name, prompt=[])
    assert made[0].read(path="in.txt") == "yes"
    assert made[0].exec(command="cat in.txt > out.txt").startswith("")
    made[1].write(path="out.txt", content="no")
    found, logged = scores(made)
    assert found == [1.0, 0.5, 0.0] and logged == {"unscored": 0.0}
    made[0].reset(task_id="t1")
    assert "no such file" in made[0].read(path="out.txt")
    folders = [episode._folder for episode in made]
    for episode in made:
        episode._close()
    assert not any(folder.exists() for folder in folders)


def test_a_failed_sandbox_or_grader_is_null_and_counted(sandbox, monkeypatch):
    make = environment(sandbox, task(1, code="def grade(transcript, workspace_path):\n    raise ValueError('mine')"), task(2))
    made = [make(), make()]
    made[0].reset(task_id="t1")
    made[1].reset(task_id="t2")
    assert scores(made) == ([None, 0.0], {"unscored": 1.0})

    async def broken(*args):
        return CodeResult(None, "sandbox", "no namespaces")

    monkeypatch.setattr(episodes, "run_code", broken)
    made[1].reset(task_id="t2")
    assert scores(made[1:]) == ([None], {"unscored": 1.0})
    for episode in made:
        episode._close()


def test_only_the_tools_that_were_asked_for_are_offered(sandbox):
    make = environment(sandbox, tools=("read", "edit"))
    assert {name for name in vars(make) if name in episodes.TOOLS} == {"read", "edit"} and not hasattr(make, "exec")


def test_tasks_are_drawn_from_training_tasks_with_a_grader():
    tasks = [task(1), task(2, split="heldout"), task(3, code=None), task(4), task(5)]
    assert {row["task_id"] for row in rl.choose(tasks, 9, 17)} == {"t1", "t4", "t5"}
    assert rl.choose(tasks, 2, 17) == rl.choose(tasks[::-1], 2, 17)
    with pytest.raises(UserError, match="no training task has code checks"):
        rl.choose(tasks[1:3], 1, 17)


def test_a_changed_grader_file_or_limit_is_another_run(sandbox):
    changed = [task(1), task(1, code=GRADER + "#"), task(1, files=[]), task(1, may_modify=["in.txt"])]
    marks = {json.dumps(episodes.identity(environment(sandbox, row))) for row in changed}
    tighter = Backend.from_settings(Sandbox(limits=Limits(memory_mb=512)))
    assert len(marks | {json.dumps(episodes.identity(environment(tighter, task(1))))}) == 5


def test_a_group_must_divide_among_the_processes(tmp_path):
    with pytest.raises(UserError, match="does not divide"):
        rl.arguments(Rl(rollouts_per_prompt=3), tmp_path, 1, 2)


def test_the_trainer_runs_episodes_and_leaves_a_model(sandbox, tiny, tmp_path, monkeypatch):
    """One step on a model that writes noise: one rollout's grader fails and must neither stop the step nor count as zero."""
    graded = []

    async def some_fail(*args):
        graded.append(args)
        return CodeResult(None, "grader_crash") if len(graded) == 1 else CodeResult({"a": float(len(graded) == 2)}, "ok")

    monkeypatch.setattr(episodes, "run_code", some_fail)
    tools = ["read", "write", "exec"]
    rows = rl.prompts([task(1)], "Work.")
    seen = []
    original = rl.Trainer._tokenize_prompts
    monkeypatch.setattr(rl.Trainer, "_tokenize_prompts", lambda self, prompts: seen.append(original(self, prompts)) or seen[-1])
    settings = Rl(steps=1, rollouts_per_prompt=4, prompts_per_step=1, max_completion_tokens=24, precision="float32")
    metrics = rl.train(rows, environment(sandbox, task(1)), schemas(tools), tiny, tmp_path / "work", tmp_path / "out", settings, 17)
    write_table(metrics, RL_METRICS, tmp_path / "m.parquet", {})
    (step,) = metrics
    assert step["unscored"] == 1 and step["reward_mean"] == pytest.approx(1 / 3) and math.isfinite(step["loss"])
    assert len(graded) == 4 and step["reward_std"] > 0
    AutoModelForCausalLM.from_pretrained(tmp_path / "out")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    assert tokenizer.response_template["fields"]["tool_calls"]["content"] == "text"
    shown = tokenizer.decode(seen[0][0][0])
    (row,) = rl.prompt_rows(rows, tokenizer, schemas(tools))
    assert shown == tokenizer.decode(row["input_ids"]) and json.dumps(schemas(tools)[1]) in shown
