"""Code checks: run a grader on a snapshot, in a sandbox of its own, and believe only what comes back through its private channel.

Contract of a grader (PinchBench, ClawGym): source that defines `grade(transcript: list, workspace_path: str) -> dict[str, float]`,
standard library only. Its prints, and whatever the graded files print when the grader runs them, are not the result.
"""

import asyncio
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from clawgym import config
from clawgym.errors import UserError
from clawgym.grades import runner
from clawgym.grades.transcript import events
from clawgym.sandbox import Sandbox

INSIDE = "/opt/clawgym/runner.py"
MAX_CHECKS = 200
SANDBOX_TRIES = 3
FIRST_PAUSE_S = 0.5
MAX_UNMEASURED = 0.2


@dataclass(frozen=True)
class CodeResult:
    """scores: check → 0..1, or null if nothing could be measured; then status says why.

    status: `ok`, `grader_crash`, `grader_timeout`, `grader_invalid` (no dict of scores in 0..1), `grader_killed` (memory, processes,
    disk), `sandbox`.
    """

    scores: dict[str, float] | None
    status: str
    detail: str = ""


async def run_code(sandbox: Sandbox, code: str, workspace: Path, transcript: list, wall_s: float) -> CodeResult:
    """Scores of the snapshot in `workspace` by the grader `code`.

    The workspace is mounted read-only. transcript: the conversation as OpenAI messages (the grader gets them as events); [] where there
    is none.
    """
    [result] = await _graded(sandbox, code, workspace, [("/workspace", transcript)], wall_s)
    return result


async def run_states(
    sandbox: Sandbox, code: str, folder: Path, states: list[tuple[str, list]], wall_s: float, env: dict[str, str] | None = None
) -> list[CodeResult]:
    """Scores of several workspaces of one task by the same grader, in one sandbox: for cards, whose states nobody wants to forge.

    folder: holds a folder per state. states: (its name, the transcript). wall_s: seconds for each state. env: for the grader's process.
    What has no score then is graded once more in a sandbox of its own: a state that brought the sandbox down costs no other.
    """
    found = await _graded(sandbox, code, folder, [(f"/workspace/{name}", transcript) for name, transcript in states], wall_s, env)
    if len(states) > 1:
        for index, (name, transcript) in enumerate(states):
            if found[index].scores is None:
                [found[index]] = await _graded(sandbox, code, folder, [(f"/workspace/{name}", transcript)], wall_s, env)
    return found


async def _graded(
    sandbox: Sandbox, code: str, workspace: Path, states: list[tuple[str, list]], wall_s: float, env: dict[str, str] | None = None
) -> list[CodeResult]:
    nonce = secrets.token_hex(16)
    told = [(place, events(transcript)) for place, transcript in states]
    job = {"nonce": nonce, "code": code, "states": told, "wall_s": wall_s}
    bounds = config.Limits.model_validate(sandbox.limits.model_dump() | {"wall_s": wall_s * len(states)})
    for trial in range(SANDBOX_TRIES):
        done = await sandbox.run(
            ["python3", "-s", "-S", INSIDE],  # a script outside the workspace: nothing there can pass for a module
            workspace=workspace,
            readonly={Path(runner.__file__): INSIDE},
            writable=False,
            stdin=json.dumps(job).encode(),
            env=env,
            limits=bounds,
        )
        if done.failure_kind != "sandbox":
            break
        await asyncio.sleep(FIRST_PAUSE_S * 2**trial)
    return read_results(done.stdout, nonce, len(states), done.failure_kind, done.stderr)


def require_sandbox(statuses: Iterable[str], where: str) -> None:
    """The gate of a job that runs graders. Raises UserError if more than a fifth of its checks found no sandbox, in spite of all tries.

    It fails rather than letting later stages drop good tasks and rollouts for what happened to this machine.
    """
    statuses = list(statuses)
    lost = statuses.count("sandbox")
    if lost > MAX_UNMEASURED * len(statuses):
        raise UserError(f"{where}: the sandbox could not be started for {lost} of {len(statuses)} checks; see to it and run again")


def read_results(stdout: bytes, nonce: str, states: int, failure_kind: str | None, stderr: bytes = b"") -> list[CodeResult]:
    """What a grader's run amounts to, state by state. The first result of a state counts."""
    answers: dict[int, dict | None] = {}
    for text in stdout.split(nonce.encode())[1:]:
        try:
            answer = json.loads(text.split(b"\n")[0])
        except ValueError:
            answer = None
        answers.setdefault(answer["index"] if answer else len(answers), answer)
    return [_result(answers[i]) if i in answers else _missing(failure_kind, stderr) for i in range(states)]


def _result(answer: dict | None) -> CodeResult:
    if answer is None:
        return CodeResult(None, "grader_invalid", "the result is not JSON")
    if "error" in answer:
        return CodeResult(None, f"grader_{answer['error']}", answer["detail"])
    return validated(answer["scores"])


def _missing(failure_kind: str | None, stderr: bytes) -> CodeResult:
    said = stderr.decode(errors="replace")[-300:]
    if failure_kind == "time_limit":
        return CodeResult(None, "grader_timeout")
    if failure_kind == "sandbox":
        return CodeResult(None, "sandbox", said)
    if failure_kind:
        return CodeResult(None, "grader_killed", failure_kind)
    return CodeResult(None, "grader_crash", f"ended without a result: {said}")


def validated(scores: dict) -> CodeResult:
    """The scores as floats, or `grader_invalid`: a value that is no number in 0..1 means that nothing was measured."""
    if not 0 < len(scores) <= MAX_CHECKS:
        return CodeResult(None, "grader_invalid", f"{len(scores)} checks; expected 1 to {MAX_CHECKS}")
    for name, score in scores.items():
        if isinstance(score, str) or not 0 <= score <= 1:  # NaN is not in between either
            return CodeResult(None, "grader_invalid", f"check {name!r} is {str(score)[:80]}; expected a number from 0 to 1")
    return CodeResult({name: float(score) for name, score in scores.items()}, "ok")
