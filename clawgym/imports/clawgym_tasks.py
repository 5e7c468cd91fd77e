"""ClawGym's published form: `task_*/{data_entry.json, input_files/, reward/check.py}` (ClawGym-Agents, RL/data).

`reward.sh` runs `python3 check.py WORKSPACE` in `WORKSPACE/reward`, reads one JSON object from its output and takes the mean of all its
values. Some graders define `grade`, others are scripts that also print their own `reward`; both are run that way here, so that the
mean of the checks is that published score, fractions and the printed `reward` included.
"""

import ast
import json
from pathlib import Path

from clawgym.imports.records import Limits, Malformed, Origin, checked_id, read_tree, task_row, verifier_row

NAME = "clawgym"

# Works on a copy, since some graders run what the agent wrote and the snapshot is read-only.
WRAPPER = '''\
"""An imported check.py, run the way its reward.sh runs it: as a program in WORKSPACE/reward, its scores read from its output."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = {source}


def grade(transcript, workspace_path):
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        shutil.copytree(workspace_path, workspace, symlinks=True)
        reward = workspace / "reward"
        if reward.is_symlink() or reward.is_file():
            reward.unlink()
        reward.mkdir(exist_ok=True)
        script = reward / "check.py"
        script.unlink(missing_ok=True)
        script.write_text(SOURCE, encoding="utf-8", newline="")
        done = subprocess.run([sys.executable, str(script), str(workspace)], cwd=workspace, capture_output=True)
    if done.returncode:
        raise RuntimeError(f"check.py ended with code {{done.returncode}}: " + done.stderr.decode(errors="replace")[-500:])
    result = json.loads(done.stdout)
    if not isinstance(result, dict):
        result = {{"reward": result}}
    if not result:
        raise ValueError("check.py gave no scores")
    return {{name: float(value) for name, value in result.items()}}
'''


def records(folder: Path) -> list[Path]:
    """The task folders: every folder with `task` in front of its name or a data_entry.json in it."""
    return sorted(
        path for path in folder.iterdir() if path.is_dir() and (path.name.startswith("task") or (path / "data_entry.json").exists())
    )


def parse(folder: Path, origin: Origin, limits: Limits) -> tuple[dict, dict]:
    """Task and verifier of one task folder. Raises Malformed."""
    try:
        entry = json.loads((folder / "data_entry.json").read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise Malformed("missing_entry", "expected data_entry.json") from None
    except ValueError as error:
        raise Malformed("broken_json", f"data_entry.json: {error}") from None
    if not isinstance(entry, dict):
        raise Malformed("broken_json", f"data_entry.json: expected an object, found {type(entry).__name__}")
    prompt = entry.get("user_query")
    if not isinstance(prompt, str) or not prompt.strip():
        raise Malformed("missing_prompt", "data_entry.json: expected text under user_query")
    task_id = checked_id(entry.get("task_id"))
    metadata = entry.get("metadata") if isinstance(entry.get("metadata"), dict) else {}
    code = wrap(folder / "reward" / "check.py")
    inputs = folder / "input_files"
    files = read_tree(inputs, limits) if inputs.is_dir() else []
    task = task_row(NAME, task_id, prompt.strip(), metadata.get("category"), files, f"clawgym:{folder.name}", origin)
    return task, verifier_row(task, code, [], 1.0)


def wrap(path: Path) -> str:
    """Source of a `grade` function that carries check.py as data. The source is parsed, never run. Raises Malformed."""
    try:
        source = path.read_bytes().decode("utf-8-sig")
        tree = ast.parse(source)
    except FileNotFoundError:
        raise Malformed("missing_grader", "expected reward/check.py") from None
    except (SyntaxError, ValueError) as error:
        raise Malformed("broken_grader", f"reward/check.py: {error}") from None
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    prints = any(isinstance(node, ast.Name) and node.id == "print" for node in ast.walk(tree))
    if not prints or not functions & {"grade", "main"}:
        raise Malformed("grader_without_grade", "reward/check.py: expected a function grade or main whose scores are printed")
    return WRAPPER.format(source=repr(source))
