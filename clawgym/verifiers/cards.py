"""Verifier cards: what the grader says of states whose worth is known, by execution in the sandbox.

The untouched and the empty workspace should score 0 and the solver's result 1; the quality stage decides on that.
"""

import asyncio
import tempfile
from collections.abc import Iterable
from pathlib import Path

from clawgym import workspaces
from clawgym.grades.code import CodeResult, run_code
from clawgym.sandbox import Completed, Sandbox

PROGRAM = "/tmp/solution.py"


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
    """The card of one task: states initial, empty and, where a reference program was asked for, oracle.

    The transcript is what an agent would have left: the instruction and, for the oracle, its standard output as the final answer.
    """
    checks = [check["check_id"] for check in verifier["checks"]]
    asked = [event("user", task["instruction"])]

    async def state(name: str, folder: Path, transcript: list[dict]) -> list[dict]:
        result: CodeResult = await run_code(sandbox, verifier["code"], folder, transcript, wall_s)
        return card_rows(task["task_id"], name, checks, result.scores, result.status)

    rows = []
    with workspaces.scratch("clawgym-card-") as parent:
        folders = {name: Path(parent, name) for name in ("initial", "empty", "oracle")}
        for folder in folders.values():
            folder.mkdir()
        workspaces.materialise(task, folders["initial"])
        rows += await state("initial", folders["initial"], asked)
        rows += await state("empty", folders["empty"], asked)
        if verifier["solution"] is not None:
            workspaces.materialise(task, folders["oracle"])
            done = await solve(sandbox, verifier["solution"], folders["oracle"])
            if done.exit_code != 0 or done.failure_kind or not _overlaid(task, folders["oracle"]):
                status = "sandbox" if done.failure_kind == "sandbox" else "solver_failed"
                rows += card_rows(task["task_id"], "oracle", checks, None, status)
            else:
                answer = event("assistant", done.stdout.decode(errors="replace"))
                rows += await state("oracle", folders["oracle"], [*asked, answer])
        elif solver_asked:
            rows += card_rows(task["task_id"], "oracle", checks, None, "solver_failed")
    return rows


def _overlaid(task: dict, folder: Path) -> bool:
    """Lay the inputs over what the program left, unless it left a tree too deep to be walked."""
    try:
        workspaces.overlay_inputs(task, folder)
    except ValueError:
        return False
    return True


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
