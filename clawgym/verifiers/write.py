"""Asking the author for the verifier of a task and the solver, who never sees it, for a program that solves the task."""

from clawgym.client import Client, Unanswered, render
from clawgym.verifiers.draft import Solution, VerifierDraft


def verifier_request(task: dict) -> dict:
    """The machine-readable form of `write_verifier`."""
    files = [{name: file[name] for name in ("path", "type", "content")} for file in task["files"]]
    return {
        "request": "write_verifier",
        "instruction": task["instruction"],
        "files": files,
        "expected_outputs": task["expected_outputs"],
        "may_modify": task["may_modify"],
    }


def solution_request(task: dict) -> dict:
    """The machine-readable form of `write_solution`: what an agent would know, nothing of the verifier."""
    return {name: value for name, value in verifier_request(task).items() if name != "may_modify"} | {"request": "write_solution"}


def _messages(prompts: str, name: str, asked: dict) -> list[dict]:
    return render(prompts, name, request=asked, **{key: value for key, value in asked.items() if key != "request"})


async def write_verifiers(client: Client, prompts: str, tasks: list[dict], weight: float, solver: bool) -> tuple[list[dict], list[dict]]:
    """VERIFIER rows and REJECT rows: each task becomes one or the other.

    weight: λ. solver: ask for reference programs too; a task whose solver gave no usable program keeps its verifier with a null
    solution, and its oracle card says `solver_failed`.
    Raises UserError if a fifth of the questions of either role got no answer because of the endpoint.
    """
    unsolved: list[Unanswered] = []

    async def solve(task: dict) -> str | None:
        try:
            return (await client.structured("solver", _messages(prompts, "write_solution", solution_request(task)), Solution)).program
        except Unanswered as failure:
            unsolved.append(failure)
            return None

    async def write(task: dict) -> tuple[dict | None, dict | None]:
        messages = _messages(prompts, "write_verifier", verifier_request(task))
        try:
            draft = await client.structured("author", messages, VerifierDraft)
        except Unanswered as failure:
            return None, {"stage": "verifiers", "record_id": task["task_id"], "reason": failure.kind, "detail": failure.detail}
        row = {"task_id": task["task_id"], "lambda": weight, "model": client.models["author"].model, **draft.model_dump()}
        return row | {"solution": await solve(task) if solver and draft.code else None}, None

    results = await client.map(write, tasks)
    rejects = [rejected for _, rejected in results if rejected]
    client.require_answers([(rejected["reason"], rejected["detail"]) for rejected in rejects], len(tasks))
    client.require_answers([(failure.kind, failure.detail) for failure in unsolved], len(tasks))
    return [row for row, _ in results if row], rejects
