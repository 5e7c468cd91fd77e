"""Imported graders run in the sandbox only, give what their reward.sh gives, and what fails the sanity gate is listed with its reason."""

import asyncio
import hashlib
import json
import shutil
from pathlib import Path

import pytest

from clawgym.config import Gates, Imports
from clawgym.config import Sandbox as SandboxSettings
from clawgym.grades.code import run_code
from clawgym.imports.decide import decide
from clawgym.imports.read import read_imports, read_set
from clawgym.imports.records import Limits, Origin
from clawgym.sandbox import Sandbox
from clawgym.verifiers.cards import run_cards
from clawgym.workspaces import materialise

from .conftest import FUNCTION_GRADER, write_clawgym

DATA = Path(__file__).parents[3] / "shared/data"

# The last step of the published reward.sh: the mean of all values of the printed object.
REWARD = "import json,sys; d=json.load(sys.stdin); print(sum(float(v) for v in d.values()) / len(d))"


@pytest.fixture(scope="module")
def sandbox():
    return Sandbox.from_settings(SandboxSettings())


def read(name, folder):
    return read_set(name, folder, Origin("MIT", False), Limits())


def graded(sandbox, verifier, workspace, transcript=()):
    return asyncio.run(run_code(sandbox, verifier["code"], workspace, list(transcript), 30))


def workspace(tmp_path: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (tmp_path / "ws" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "ws" / name).write_text(text)
    (tmp_path / "ws").mkdir(exist_ok=True)
    return tmp_path / "ws"


def test_the_script_form_keeps_the_reward_it_prints(sandbox, clawgym_set, tmp_path):
    _, verifiers, _ = read("clawgym", clawgym_set)
    result = graded(sandbox, verifiers[0], workspace(tmp_path, {"output/total.txt": "41"}))
    assert result.scores == {"reward": 0.5, "exists": 1.0, "right": 0.0}


def test_the_function_form_keeps_fractions(sandbox, clawgym_set, tmp_path):
    _, verifiers, _ = read("clawgym", clawgym_set)
    result = graded(sandbox, verifiers[1], workspace(tmp_path, {"notes.md": "# Title\nline\n"}))
    assert result.scores == {"three_lines": pytest.approx(2 / 3), "title": 1.0}


def test_a_grader_may_write_beside_the_work_it_grades_and_leaves_it_alone(sandbox, tmp_path):
    source = FUNCTION_GRADER.replace("    path = ", "    Path(workspace_path, 'scratch').write_text('x')\n    path = ", 1)
    write_clawgym(tmp_path / "set", "task_1", source)
    _, verifiers, _ = read("clawgym", tmp_path / "set")
    folder = workspace(tmp_path, {"notes.md": "# Title\n"})
    assert graded(sandbox, verifiers[0], folder).status == "ok"
    assert [path.name for path in folder.iterdir()] == ["notes.md"]


@pytest.mark.parametrize(
    "source",
    [
        "import sys\ndef main():\n    print('{}')\nmain()\n",
        "import sys\ndef main():\n    print('no json')\nmain()\n",
        "def main():\n    print('{}')\n    raise SystemExit(3)\nmain()\n",
        'def main():\n    print(\'{"a": "high"}\')\nmain()\n',
    ],
)
def test_a_grader_that_gives_no_scores_has_failed(sandbox, tmp_path, source):
    write_clawgym(tmp_path / "set", "task_1", source)
    _, verifiers, _ = read("clawgym", tmp_path / "set")
    result = graded(sandbox, verifiers[0], workspace(tmp_path, {}))
    assert result.scores is None and result.status == "grader_crash"


def test_a_pinchbench_grader_reads_the_session_log(sandbox, pinchbench_set, tmp_path):
    _, (verifier,), _ = read("pinchbench", pinchbench_set)
    call = {"type": "function", "id": "1", "function": {"name": "read", "arguments": '{"path": "facts.txt"}'}}
    messages = [{"role": "user", "content": "…"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    folder = workspace(tmp_path, {"letter.md": "Dear Ada"})
    assert graded(sandbox, verifier, folder, messages).scores == {"read_facts": 1.0, "named": 1.0}
    assert graded(sandbox, verifier, folder).scores == {"read_facts": 0.0, "named": 1.0}


def test_binary_inputs_reach_the_workspace(pinchbench_set, tmp_path):
    (task,), _, _ = read("pinchbench", pinchbench_set)
    materialise(task, tmp_path / "ws")
    assert (tmp_path / "ws/data/table.xlsx").read_bytes() == (pinchbench_set / "assets/table.xlsx").read_bytes()


def test_what_fails_the_sanity_gate_is_listed_beside_what_could_not_be_read(sandbox, clawgym_set):
    write_clawgym(clawgym_set, "task_3", "import json\ndef main():\n    print(json.dumps({'always': True}))\nmain()\n")
    write_clawgym(clawgym_set, "task_4", "def main():\n    print(1 / 0)\nmain()\n")
    (write_clawgym(clawgym_set, "task_5") / "data_entry.json").write_text("{")
    tasks, verifiers, rejects = read("clawgym", clawgym_set)
    by_id = {row["task_id"]: row for row in verifiers}
    cards = asyncio.run(run_cards(sandbox, tasks, by_id, parallel=2, wall_s=30, solver_asked=False))
    rows = {row["record_id"]: row for row in decide(tasks, verifiers, rejects, cards, Gates())}
    assert {name: (row["stage"], row["reason"]) for name, row in rows.items()} == {
        "clawgym-task_1": (None, None),
        "clawgym-task_2": (None, None),
        "clawgym-task_3": ("sanity", "effortless_initial"),
        "clawgym-task_4": ("sanity", "grader_crash"),
        "clawgym:task_5": ("imports", "broken_json"),
    }
    assert rows["clawgym-task_3"]["s_initial"] == 1.0 and rows["clawgym-task_4"]["s_initial"] is None


@pytest.mark.skipif(not DATA.exists(), reason="the published task sets are not beside this repository")
def test_published_graders_give_the_score_of_their_reward_script(sandbox, tmp_path):
    """On a workspace where every file the prompt names holds the prompt: some checks pass, most do not."""
    tasks, verifiers, _ = read_imports(Imports(clawgym=str(DATA / "clawgym_tasks")), Limits())
    chosen = sorted(range(len(tasks)), key=lambda i: hashlib.sha256(tasks[i]["task_id"].encode()).digest())[:8]
    scored = 0
    for i in chosen:
        task, folder = tasks[i], tmp_path / tasks[i]["task_id"]
        materialise(task, folder)
        for output in task["expected_outputs"]:
            (folder / output).parent.mkdir(parents=True, exist_ok=True)
            (folder / output).write_text(task["instruction"])
        result = graded(sandbox, verifiers[i], folder)
        shutil.copytree(DATA / "clawgym_tasks" / task["source"].removeprefix("clawgym:") / "reward", folder / "reward")
        command = f"python3 reward/check.py /workspace | python3 -c '{REWARD}'"
        done = asyncio.run(sandbox.run(["bash", "-o", "pipefail", "-c", command], workspace=folder))
        if done.exit_code:
            assert result.scores is None
            continue
        assert sum(result.scores.values()) / len(result.scores) == pytest.approx(json.loads(done.stdout))
        scored += json.loads(done.stdout) > 0
    assert scored >= 3
