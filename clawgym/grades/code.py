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
from clawgym.grades.transcript import events
from clawgym.sandbox import Sandbox

MAX_CHECKS = 200
SANDBOX_TRIES = 3
FIRST_PAUSE_S = 0.5
MAX_UNMEASURED = 0.2

# The result goes to a duplicate of stdout that no child inherits, marked by a nonce that is read from stdin and lies only in this
# process, which is not dumpable: its memory and descriptors are closed to others of the same user (prctl PR_SET_DUMPABLE = 4).
RUNNER = r"""
import ctypes, json, os, sys
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
job = json.loads(sys.stdin.buffer.read())
channel = os.dup(1)
null = os.open(os.devnull, os.O_RDWR)
os.dup2(null, 0)
os.dup2(2, 1)
def answer(**result):
    sys.stdout.flush()
    data = job["nonce"] + json.dumps(result) + "\n"
    with os.fdopen(channel, "w") as out:
        out.write(data)
        out.flush()
    os._exit(0)
def number(score):
    return score if isinstance(score, (bool, int, float)) else repr(score)[:80]
space = {"__name__": "grader"}
try:
    exec(compile(job["code"], "grader.py", "exec"), space)
    scores = space["grade"](job["transcript"], job["workspace"])
    if isinstance(scores, dict):
        answer(scores={str(name)[:200]: number(score) for name, score in scores.items()})
    answer(error="invalid", detail="grade() returned " + type(scores).__name__ + ", not a dict")
except BaseException as error:
    place = error.__traceback__
    while place.tb_next:
        place = place.tb_next
    answer(error="crash", detail="%s: %s (line %d)" % (type(error).__name__, str(error)[:300], place.tb_lineno))
"""


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
    nonce = secrets.token_hex(16)
    job = {"nonce": nonce, "code": code, "transcript": events(transcript), "workspace": "/workspace"}
    bounds = config.Limits.model_validate(sandbox.limits.model_dump() | {"wall_s": wall_s})
    for trial in range(SANDBOX_TRIES):
        done = await sandbox.run(
            ["python3", "-I", "-S", "-c", RUNNER], workspace=workspace, writable=False, stdin=json.dumps(job).encode(), limits=bounds
        )
        if done.failure_kind != "sandbox":
            break
        await asyncio.sleep(FIRST_PAUSE_S * 2**trial)
    return read_result(done.stdout, nonce, done.failure_kind, done.stderr)


def require_sandbox(statuses: Iterable[str], where: str) -> None:
    """The gate of a job that runs graders. Raises UserError if more than a fifth of its checks found no sandbox, in spite of all tries.

    It fails rather than letting later stages drop good tasks and rollouts for what happened to this machine.
    """
    statuses = list(statuses)
    lost = statuses.count("sandbox")
    if lost > MAX_UNMEASURED * len(statuses):
        raise UserError(f"{where}: the sandbox could not be started for {lost} of {len(statuses)} checks; see to it and run again")


def read_result(stdout: bytes, nonce: str, failure_kind: str | None, stderr: bytes = b"") -> CodeResult:
    """What a grader's run amounts to."""
    if failure_kind == "time_limit":
        return CodeResult(None, "grader_timeout")
    if failure_kind == "sandbox":
        return CodeResult(None, "sandbox", stderr.decode(errors="replace")[-300:])
    if failure_kind:
        return CodeResult(None, "grader_killed", failure_kind)
    mark = stdout.rfind(nonce.encode())
    if mark < 0:
        return CodeResult(None, "grader_crash", "ended without a result: " + stderr.decode(errors="replace")[-300:])
    try:
        answer = json.loads(stdout[mark + len(nonce) :])
    except ValueError:
        return CodeResult(None, "grader_invalid", "the result is not JSON")
    if "error" in answer:
        return CodeResult(None, f"grader_{answer['error']}", answer["detail"])
    return validated(answer["scores"])


def validated(scores: dict) -> CodeResult:
    """The scores as floats, or `grader_invalid`: a value that is no number in 0..1 means that nothing was measured."""
    if not 0 < len(scores) <= MAX_CHECKS:
        return CodeResult(None, "grader_invalid", f"{len(scores)} checks; expected 1 to {MAX_CHECKS}")
    for name, score in scores.items():
        if isinstance(score, str) or not 0 <= score <= 1:  # NaN is not in between either
            return CodeResult(None, "grader_invalid", f"check {name!r} is {str(score)[:80]}; expected a number from 0 to 1")
    return CodeResult({name: float(score) for name, score in scores.items()}, "ok")
