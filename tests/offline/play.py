"""Plays whole tasks against the stand-in without a network: author, files, verifier, agent loop, grade."""

import json
import random
import subprocess
import sys
from functools import cache
from pathlib import Path

from clawgym.offline.families import BY_OPERATION
from clawgym.offline.server import check, complete
from clawgym.offline.vocabulary import SCENES

TOOLS = {
    "read": {"path": {"type": "string"}},
    "write": {"path": {"type": "string"}, "content": {"type": "string"}},
    "exec": {"command": {"type": "string"}},
}
PERSONAS = (
    "A night-shift pharmacist in a harbour town who keeps paper lists.",
    "You are a senior fleet dispatcher with twenty vans and no patience.",
    "An archivist at a film museum, working with old spreadsheets.",
    "A retired choir teacher who organises a community garden.",
    "",
)


def tools(*names: str) -> list[dict]:
    return [
        {"type": "function", "function": {"name": name, "description": name, "parameters": {"type": "object", "properties": TOOLS[name]}}}
        for name in names or TOOLS
    ]


def say(model: str, messages: list[dict], **more) -> dict:
    """The assistant message of one completion."""
    return complete(check({"model": f"offline/{model}", "messages": messages} | more))["choices"][0]["message"]


def ask(model: str, block: dict, **more) -> dict:
    messages = [{"role": "system", "content": "Answer in JSON."}, {"role": "user", "content": prompt(block)}]
    return json.loads(say(model, messages, **more)["content"])


def prompt(block: dict) -> str:
    return f"Please answer the request below as JSON.\n\n```json\n{json.dumps(block, ensure_ascii=False)}\n```\n"


@cache
def author(kind: str, draw: int) -> dict:
    """A task of the kind with contents and verifier, from draw number `draw`."""
    rng = random.Random(f"{kind}-{draw}")
    operation = next(name for name, family in BY_OPERATION.items() if family.kind == kind)
    request = {
        "request": "write_task",
        "route": "persona",
        "persona": rng.choice(PERSONAS),
        "category": "any",
        "subcategory": rng.choice(sorted(SCENES)),
        "operations": [operation],
        "skills": [],
        "seed_id": f"seed-{draw}",
    }
    task = ask("author", request)
    for file in task["files"]:
        file["content"] = write_file(task, file["path"])
    shown = {"instruction": task["instruction"], "files": task["files"], "expected_outputs": task["expected_outputs"]}
    task["verifier"] = ask("author", {"request": "write_verifier", "may_modify": task["may_modify"], **shown})
    task["program"] = ask("solver", {"request": "write_solution", **shown})["program"]
    return task


def write_file(task: dict, path: str) -> str:
    files = [{name: file[name] for name in ("path", "type", "spec")} for file in task["files"]]
    return ask("author", {"request": "write_file", "instruction": task["instruction"], "kind": task["kind"], "files": files, "path": path})[
        "content"
    ]


def lay_out(task: dict, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for file in task["files"]:
        (folder / file["path"]).parent.mkdir(parents=True, exist_ok=True)
        (folder / file["path"]).write_text(file["content"])
    return folder


def use(name: str, arguments: dict, folder: Path) -> str:
    """What a plain executor answers to one tool call."""
    if name == "exec":
        done = subprocess.run(
            ["bash", "-c", arguments["command"].replace("python3", sys.executable)], cwd=folder, capture_output=True, text=True
        )
        return done.stdout + done.stderr + (f"\n(exit code {done.returncode})" if done.returncode else "")
    path = folder / arguments["path"]
    if name == "read":
        return path.read_text() if path.is_file() else f"error: {arguments['path']}: no such file"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(arguments["content"])
    return f"wrote {len(arguments['content'])} characters to {arguments['path']}"


def roll(task: dict, model: str, folder: Path, *, offered: list[dict] | None = None, seed: int = 0, turns: int = 8) -> list[dict]:
    """The conversation of one rollout in `folder`."""
    messages = [{"role": "system", "content": "You work with files through tools."}, {"role": "user", "content": task["instruction"]}]
    for _ in range(turns):
        message = say(model, messages, tools=tools() if offered is None else offered, seed=seed, temperature=0.7)
        messages.append(message)
        if not message.get("tool_calls"):
            break
        for call in message["tool_calls"]:
            result = use(call["function"]["name"], json.loads(call["function"]["arguments"]), folder)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    return messages


_GRADE = """
import json, sys
jobs = json.load(sys.stdin)
out = []
for code, folder in jobs:
    space = {}
    exec(compile(code, "grader", "exec"), space)
    out.append(space["grade"]([], folder))
print(json.dumps(out))
"""


def grade(jobs: list[tuple[dict, Path]]) -> list[dict[str, float]]:
    """Check scores of (task, folder) pairs, by the grader sources in a separate interpreter without this repository on its path."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", _GRADE],
        input=json.dumps([(task["verifier"]["code"], str(folder)) for task, folder in jobs]),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def judge(task: dict, folder: Path) -> dict[str, dict]:
    """The answer to each rubric rule of a task, on what lies in `folder`."""
    answers = {}
    for rule in task["verifier"]["rubric"]:
        artifact = folder / rule["artifact"]
        asked = {name: rule[name] for name in ("rule_id", "text", "anchors")}
        block = {"request": "judge_rule", "instruction": task["instruction"], "rule": asked, "artifact": rule["artifact"]}
        answers[rule["rule_id"]] = ask("judge", block | {"content": artifact.read_text() if artifact.is_file() else None})
    return answers


def mean(scores: dict[str, float]) -> float:
    return sum(scores.values()) / len(scores)
