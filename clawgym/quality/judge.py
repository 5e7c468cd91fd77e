"""The judge's view of a task: plausible, how difficult, covered by its verifier, over-strict, rubric complementary to the checks."""

from typing import Literal

from pydantic import BaseModel, Field

from clawgym.client import Client, Unanswered, render

SHOWN_CHARS = 4000
"""Of each input file; what is longer is cut, so that one log file does not fill the judge's context."""


class TaskJudgement(BaseModel):
    """The answer to a `judge_task` request."""

    plausibility: int = Field(ge=1, le=5)
    difficulty: Literal["easy", "medium", "hard"]
    coverage: int = Field(ge=1, le=5)
    overstrictness: int = Field(ge=1, le=5)
    complementarity: int | None = Field(None, ge=1, le=5)
    comment: str = ""


def request(task: dict, verifier: dict) -> dict:
    """The machine-readable form of the question. Binary contents (types `base64:…`) are not shown."""
    files = []
    for file in task["files"]:
        shown = None if file["type"].startswith("base64:") or file["content"] is None else file["content"][:SHOWN_CHARS]
        files.append({"path": file["path"], "type": file["type"], "content": shown})
    return {
        "request": "judge_task",
        "instruction": task["instruction"],
        "files": files,
        "expected_outputs": task["expected_outputs"],
        "checks": verifier["checks"],
        "rubric": verifier["rubric"],
    }


async def judge_tasks(client: Client, prompts: str, tasks: list[dict], verifiers: dict[str, dict]) -> list[dict]:
    """A row of judgements.parquet per task. A judge that gives no usable answer leaves nulls and the kind of its failure, never a mark.

    Raises UserError if more than a fifth of the tasks got no answer because of the endpoint.
    """
    model = client.models["judge"].model

    async def judge(task: dict) -> dict:
        asked = request(task, verifiers[task["task_id"]])
        messages = render(prompts, "judge_task", **{k: v for k, v in asked.items() if k != "request"}, request=asked)
        row = {"task_id": task["task_id"], "model": model}
        try:
            answer = await client.structured("judge", messages, TaskJudgement)
        except Unanswered as failure:
            return row | {"status": failure.kind, "detail": failure.detail}
        return row | {"status": "ok"} | answer.model_dump()

    rows = await client.map(judge, tasks)
    client.require_answers([(row["status"], row.get("detail") or "") for row in rows], len(rows))
    return rows
