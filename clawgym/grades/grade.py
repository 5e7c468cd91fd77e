"""Grades of rollouts: code checks in a fresh sandbox on the snapshot, rubric rules by the judge, and the task score s of the paper."""

import asyncio
import tarfile
from collections.abc import Sequence
from pathlib import Path

import zstandard
from pydantic import BaseModel, field_validator

from clawgym import workspaces
from clawgym.client import Client, Unanswered, render
from clawgym.config import Grades
from clawgym.errors import UserError
from clawgym.grades import transcript
from clawgym.grades.code import run_code
from clawgym.sandbox import Sandbox
from clawgym.tables import damaged, read_capture

MAX_ARTIFACT = 40_000  # bytes of one artefact that the judge is shown
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


class Judgement(BaseModel):
    """The judge's answer on one rubric rule."""

    score: float
    evidence: str
    comment: str

    @field_validator("score", mode="before")
    @classmethod
    def _one_of_five(cls, value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, int | float) or value not in QUARTERS:
            raise ValueError("score must be one of the numbers 0, 0.25, 0.5, 0.75, 1")
        return float(value)


def rubric_score(rules: Sequence[dict], scores: dict[str, float | None]) -> float | None:
    """Σ w q / Σ w over the rules; null if there is no rule or one has no score."""
    values = [scores.get(rule["rule_id"]) for rule in rules]
    total = sum(rule["weight"] for rule in rules)
    if not rules or total <= 0 or any(value is None for value in values):
        return None
    return sum(rule["weight"] * value for rule, value in zip(rules, values, strict=True)) / total


def task_score(s_code: float | None, s_rubric: float | None, *, code: bool, rubric: bool, lambda_: float) -> float | None:
    """λ·s_code + (1-λ)·s_rubric for a task with both kinds, else the one kind it has; null if what it needs is null."""
    if code and rubric:
        return None if s_code is None or s_rubric is None else lambda_ * s_code + (1 - lambda_) * s_rubric
    return s_code if code else s_rubric


def code_rows(rollout_id: str, checks: Sequence[str], scores: dict[str, float] | None, status: str, detail: str) -> list[dict]:
    """GRADE rows of the code checks: what the grader returned, declared checks it did not return, or its failure for each of them."""
    row = {"rollout_id": rollout_id, "rule_id": None, "grader": "code", "score": None, "detail": detail or None}
    if scores is None:
        return [row | {"check_id": check, "status": status} for check in checks or [None]]
    rows = [row | {"check_id": check, "score": score, "status": "ok"} for check, score in scores.items()]
    return rows + [row | {"check_id": check, "status": "missing_check"} for check in checks if check not in scores]


def score_row(rollout: dict, verifier: dict, grades: list[dict]) -> dict:
    """The SCORE row of one rollout from its GRADE rows."""
    code = [grade for grade in grades if grade["grader"] == "code"]
    rubric = {grade["rule_id"]: grade["score"] for grade in grades if grade["rule_id"] is not None}
    measured = [grade["score"] for grade in code]
    s_code = sum(measured) / len(measured) if measured and None not in measured else None
    s_rubric = rubric_score(verifier["rubric"], rubric)
    has_code, has_rubric = bool(verifier["code"]), bool(verifier["rubric"])
    s_task = task_score(s_code, s_rubric, code=has_code, rubric=has_rubric, lambda_=verifier["lambda"])
    reasons = [grade["status"] for grade in grades if grade["status"] != "ok"]
    status = "ok" if s_task is not None else reasons[0] if reasons else "no_verifier"
    keys = {key: rollout[key] for key in ("rollout_id", "task_id", "model", "attempt")}
    return keys | {"s_code": s_code, "s_rubric": s_rubric, "s_task": s_task, "status": status}


def unmeasured(rollout: dict, verifier: dict, judge: str, status: str, detail: str | None) -> list[dict]:
    """GRADE rows of a rollout that cannot be graded: every check and rule null."""
    rows = code_rows(rollout["rollout_id"], _checks(verifier), None, status, detail or "") if verifier["code"] else []
    base = {"rollout_id": rollout["rollout_id"], "check_id": None, "score": None, "grader": judge, "status": status, "detail": detail}
    return rows + [base | {"rule_id": rule["rule_id"]} for rule in verifier["rubric"]]


def _checks(verifier: dict) -> list[str]:
    return [check["check_id"] for check in verifier["checks"]]


def restore(snapshot: Path, workspace: Path, max_mb: float) -> None:
    """Unpack a snapshot. Raises UserError, naming it, if it is missing or not whole."""
    try:
        with open(snapshot, "rb") as packed:
            frame = zstandard.ZstdDecompressor().decompressobj()
            while not frame.eof:  # a tar that is cut between two entries is unpacked without complaint
                if not (data := packed.read(4096)):
                    raise EOFError("it is cut off")
                frame.decompress(data)
        workspaces.restore(snapshot, workspace, max_mb)
    except (FileNotFoundError, IsADirectoryError, PermissionError, EOFError, ValueError, tarfile.TarError, zstandard.ZstdError) as error:
        raise UserError(damaged(snapshot, "snapshot", error)) from None


class Grader:
    """Grades rollouts of one job. folder: where the rollouts' captures and snapshots are."""

    def __init__(self, sandbox: Sandbox, client: Client, prompts: str, settings: Grades, judge: str, folder: Path, slots: int):
        self.sandbox, self.client, self.prompts, self.settings = sandbox, client, prompts, settings
        self.judge, self.folder, self.slots = judge, folder, asyncio.Semaphore(slots)

    async def grade(self, rollout: dict, task: dict, verifier: dict) -> list[dict]:
        """GRADE rows of one rollout. Ends that the agent caused are graded on what is there; failed rollouts stay unmeasured.

        Raises UserError if its snapshot or capture is missing or damaged.
        """
        if rollout["status"] == "failed":
            return unmeasured(rollout, verifier, self.judge, "rollout_failed", rollout["failure_kind"])
        if rollout["snapshot"] is None:
            return unmeasured(rollout, verifier, self.judge, "no_snapshot", rollout["detail"])
        with workspaces.scratch("clawgym-grade-") as aside:
            workspace = Path(aside, "workspace")
            restore(self.folder / rollout["snapshot"], workspace, self.sandbox.limits.disk_mb)
            workspaces.overlay_inputs(task, workspace)
            contents = {rule["rule_id"]: self._content(rollout, rule, workspace) for rule in verifier["rubric"]}
            rows = []
            if verifier["code"]:
                conversation = transcript.messages(read_capture(self.folder / rollout["capture"]), task["instruction"])
                async with self.slots:
                    result = await run_code(self.sandbox, verifier["code"], workspace, conversation, self.settings.wall_s)
                rows = code_rows(rollout["rollout_id"], _checks(verifier), result.scores, result.status, result.detail)
        judged = await asyncio.gather(*(self._judge(rollout, task, rule, contents[rule["rule_id"]]) for rule in verifier["rubric"]))
        return [*rows, *judged]

    def _content(self, rollout: dict, rule: dict, workspace: Path) -> str | None:
        """The artefact that a rule names, and nothing else of the workspace; the final answer for a rule without one."""
        if rule["artifact"] is None:
            return rollout["final_text"]
        data = workspaces.read_artifact(workspace, rule["artifact"], MAX_ARTIFACT)
        return None if data is None else data.decode("utf-8", errors="replace")

    async def _judge(self, rollout: dict, task: dict, rule: dict, content: str | None) -> dict:
        row = {"rollout_id": rollout["rollout_id"], "check_id": None, "rule_id": rule["rule_id"], "grader": self.judge}
        asked = {name: rule[name] for name in ("rule_id", "text", "anchors")}
        request = {
            "request": "judge_rule",
            "instruction": task["instruction"],
            "rule": asked,
            "artifact": rule["artifact"],
            "content": content,
        }
        prompt = render(self.prompts, "judge_rule", request=request, **{key: value for key, value in request.items() if key != "request"})
        try:
            judgement = await self.client.structured("judge", prompt, Judgement)
        except Unanswered as failure:
            return row | {"score": None, "status": failure.kind, "detail": failure.detail[:500] or None}
        return row | {"score": judgement.score, "status": "ok", "detail": judgement.evidence[:500] or None}


async def grade_all(
    grader: Grader, rollouts: list[dict], tasks: dict[str, dict], verifiers: dict[str, dict]
) -> tuple[list[dict], list[dict]]:
    """(GRADE rows, SCORE rows) of all rollouts, in their order."""

    async def one(rollout: dict) -> list[dict]:
        return await grader.grade(rollout, tasks[rollout["task_id"]], verifiers[rollout["task_id"]])

    grades = await grader.client.map(one, rollouts)
    scores = [score_row(rollout, verifiers[rollout["task_id"]], rows) for rollout, rows in zip(rollouts, grades, strict=True)]
    return [row for rows in grades for row in rows], scores
