"""Verifier cards: what the grader says of states whose worth is known, by execution in the sandbox.

What costs no work should score next to nothing, the solver's result 1, and a result with a mistake in between; the quality stage
decides on that. All states of a task are graded in one sandbox, each in a process of its own; the untouched and the solved state once
more under another hash seed, time zone, locale and path, where a deterministic grader says the same.
"""

import asyncio
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from clawgym import workspaces
from clawgym.grades.code import run_states
from clawgym.sandbox import Completed, Sandbox
from clawgym.verifiers import states

PROGRAM = "/tmp/solution.py"
ELSEWHERE = {"PYTHONHASHSEED": "4242", "TZ": "XXX-13:30", "LANG": "C", "LC_ALL": "C"}
MAX_OUTPUT_BYTES = 1_000_000  # larger outputs of a reference program get no mutants


def event(role: str, text: str) -> dict:
    """One message in the transcript form that graders know (PinchBench)."""
    return {"type": "message", "message": {"role": role, "content": [{"type": "text", "text": text}]}}


def card_rows(task_id: str, state: str, checks: Iterable[str], scores: dict[str, float] | None, status: str) -> list[dict]:
    """CARD rows of one state: one per declared check and one per further check that the grader returned.

    A declared check that is not among the scores is null with status `missing_check`; if the grader failed, all are null with its status.
    """
    row = {"task_id": task_id, "state": state, "score": None}
    declared = list(dict.fromkeys(checks))
    if scores is None:
        return [row | {"check_id": check, "status": status} for check in declared or [None]]
    missing = [row | {"check_id": check, "status": "missing_check"} for check in declared if check not in scores]
    return missing + [row | {"check_id": check, "score": float(score), "status": "ok"} for check, score in scores.items()]


async def solve(sandbox: Sandbox, program: str, folder: Path) -> Completed:
    """Run a reference program in `folder`, its source mounted outside the workspace."""
    with tempfile.TemporaryDirectory(prefix="clawgym-solution-") as aside:
        source = Path(aside, "solution.py")
        source.write_text(program, encoding="utf-8")
        return await sandbox.run(["python3", PROGRAM], workspace=folder, readonly={source: PROGRAM})


async def cards_of(sandbox: Sandbox, task: dict, verifier: dict, wall_s: float, solver_asked: bool) -> list[dict]:
    """The card of one task. States that need a reference program are left out where none was asked for.

    The transcript is what an agent would have left: the instruction and, where a program ran, its standard output as the final answer.
    """
    asked = [event("user", task["instruction"])]
    inputs = workspaces.inputs_of(task)
    with workspaces.scratch("clawgym-card-") as folder:
        card = _Card(task["task_id"], inputs, folder)
        card.lay("initial", {}, asked)
        card.lay("empty", dict.fromkeys(inputs), asked)
        for name, change in states.effortless(task["instruction"], inputs, _inside(task["expected_outputs"])).items():
            card.lay(name, change, asked)
        unmeasured: dict[str, str] = {}
        if verifier["solution"] is not None:
            made, talk, problem = await _solved(sandbox, verifier["solution"], inputs, task, folder)
            if made is None:
                unmeasured["oracle"] = problem
            else:
                card.lay("oracle", made, [*asked, *talk])
                outputs = {path: content for path, content in made.items() if content is not None and len(content) <= MAX_OUTPUT_BYTES}
                card.lay("stub", made | {path: states.stub(content, path) for path, content in outputs.items()}, [*asked, *talk])
                for name, change in states.mutants(task["task_id"], inputs, outputs).items():
                    card.lay(name, made | dict.fromkeys(outputs) | change, [*asked, *talk])
                await _tampered(sandbox, verifier["solution"], inputs, task, made, card, asked)
        elif solver_asked:
            unmeasured["oracle"] = "solver_failed"
        return await card.rows(sandbox, verifier, wall_s) + [
            row for name, status in unmeasured.items() for row in card_rows(task["task_id"], name, _declared(verifier), None, status)
        ]


def _inside(paths: Iterable[str]) -> list[str]:
    """Those that name a file inside the workspace: imported tasks may list folders, patterns or worse."""
    found = []
    for path in paths:
        with suppress(ValueError):
            found.append(workspaces.relative_path(path))
    return found


def _declared(verifier: dict) -> list[str]:
    return [check["check_id"] for check in verifier["checks"]]


async def _solved(
    sandbox: Sandbox, program: str, inputs: states.Files, task: dict, folder: Path
) -> tuple[states.Change | None, list[dict], str]:
    """What the reference program makes of `inputs` (null if it failed, with the status), and what it says."""
    place = folder / "solving"
    workspaces.lay(inputs, place)
    done = await solve(sandbox, program, place)
    try:
        left = workspaces.contents(place)
    except ValueError:
        left = None
    workspaces.discard(place)
    if done.failure_kind == "sandbox":
        return None, [], "sandbox"
    if done.exit_code != 0 or done.failure_kind or left is None:
        return None, [], "solver_failed"
    fixed = set(inputs) - set(task["may_modify"])  # restored before grading, whatever the program did to them
    made = {path: left.get(path) for path in (inputs.keys() | left.keys()) - fixed if left.get(path) != inputs.get(path)}
    return made, [event("assistant", done.stdout.decode(errors="replace"))], "ok"


async def _tampered(
    sandbox: Sandbox, program: str, inputs: states.Files, task: dict, made: states.Change, card: "_Card", asked: list[dict]
) -> None:
    """State `tamper`: the program's result for other inputs, laid over the given ones; left out where it is no other result."""
    edited = {path: states.perturbed(content) for path, content in inputs.items()}
    wrong, talk, _ = await _solved(sandbox, program, edited, task, card.folder)
    if wrong is not None and wrong != made:
        card.lay("tamper", wrong, [*asked, *talk])


class _Card:
    """The states of one task as folders next to each other, and their grading."""

    def __init__(self, task_id: str, inputs: states.Files, folder: Path):
        self.task_id, self.inputs, self.folder = task_id, inputs, folder
        self.transcripts: dict[str, list[dict]] = {}

    def lay(self, name: str, change: states.Change, transcript: list[dict]) -> None:
        """Lay `change` over the untouched inputs as the state `name`."""
        files = self.inputs | change
        workspaces.lay({path: content for path, content in files.items() if content is not None}, self.folder / name)
        self.transcripts[name] = transcript

    async def rows(self, sandbox: Sandbox, verifier: dict, wall_s: float) -> list[dict]:
        checks = _declared(verifier)
        results = await run_states(sandbox, verifier["code"], self.folder, list(self.transcripts.items()), wall_s)
        found = dict(zip(self.transcripts, results, strict=True))
        again = [name for name in ("initial", "oracle") if name in found and found[name].scores is not None]
        for name in again:
            (self.folder / name).rename(self.folder / f"{name} again")
        moved = [(f"{name} again", self.transcripts[name]) for name in again]
        repeated = await run_states(sandbox, verifier["code"], self.folder, moved, wall_s, ELSEWHERE) if again else []
        rows = []
        for name, result in found.items():
            scores, status = result.scores, result.status
            if name in again and repeated[again.index(name)].status != "sandbox" and repeated[again.index(name)].scores != scores:
                scores, status = None, "not_deterministic"
            rows += card_rows(self.task_id, name, checks, scores, status)
        return rows


async def run_cards(
    sandbox: Sandbox, tasks: Iterable[dict], verifiers: dict[str, dict], *, parallel: int, wall_s: float, solver_asked: bool
) -> list[dict]:
    """CARD rows of all tasks that have grader code, in the order of the tasks. Reusable for imported tasks (`solver_asked=False`).

    verifiers: VERIFIER rows by task_id. parallel: sandboxes at work at once. wall_s: seconds one grader may run.
    """
    slots = asyncio.Semaphore(parallel)

    async def one(task: dict) -> list[dict]:
        async with slots:
            return await cards_of(sandbox, task, verifiers[task["task_id"]], wall_s, solver_asked)

    graded = [task for task in tasks if verifiers.get(task["task_id"], {}).get("code")]
    return [row for rows in await asyncio.gather(*map(one, graded)) for row in rows]
