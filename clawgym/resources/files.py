"""Asking for the content of every planned input file."""

import hashlib

from pydantic import BaseModel

from clawgym import config
from clawgym.client import Client, Unanswered, render
from clawgym.resources.parsers import check_content

SHOWN_CHARS = 6000


class FileContent(BaseModel):
    """The answer to a `write_file` request."""

    content: str


def request(task: dict, path: str) -> dict:
    """The machine-readable form of the question."""
    plans = [{name: file[name] for name in ("path", "type", "spec")} for file in task["files"]]
    return {"request": "write_file", "instruction": task["instruction"], "kind": task["kind"], "files": plans, "path": path}


def reject(task: dict, reason: str, detail: str) -> dict:
    return {"stage": "resources", "record_id": task["task_id"], "reason": reason, "detail": detail}


async def fill(client: Client, prompts: str, task: dict, max_bytes: int) -> tuple[dict | None, dict | None]:
    """The task with its contents, or the reject row.

    Files are written one after the other, each with those before it in view, so that keys and totals agree between them.
    """
    files: list[dict] = []
    for plan in task["files"]:
        path, type_ = plan["path"], plan["type"]
        asked = request(task, path)
        written = [{"path": file["path"], "content": file["content"][:SHOWN_CHARS]} for file in files]
        messages = render(
            prompts, "write_file", request=asked, type=type_, spec=plan["spec"], written=written, max_bytes=max_bytes,
            expected_outputs=task["expected_outputs"], **{k: v for k, v in asked.items() if k != "request"},
        )  # fmt: skip

        def check(answer: FileContent, path: str = path, type_: str = type_) -> None:
            check_content(path, type_, answer.content)

        try:
            answer = await client.structured("author", messages, FileContent, check=check)
        except Unanswered as failure:
            return None, reject(task, failure.kind, f"{path}: {failure.detail}")
        data = answer.content.encode()
        if len(data) > max_bytes:
            return None, reject(task, "too_large", f"{path}: {len(data)} bytes, resources.max_file_bytes is {max_bytes}")
        files.append(plan | {"content": answer.content, "sha256": hashlib.sha256(data).hexdigest()})
    return task | {"files": files}, None


async def write_files(client: Client, prompts: str, tasks: list[dict], settings: config.Resources) -> tuple[list[dict], list[dict]]:
    """TASK rows with contents and REJECT rows: each task becomes one or the other.

    Raises UserError if a fifth of the tasks got no answer because of the endpoint.
    """
    results = await client.map(lambda task: fill(client, prompts, task, settings.max_file_bytes), tasks)
    rejects = [rejected for _, rejected in results if rejected]
    client.require_answers([(rejected["reason"], rejected["detail"]) for rejected in rejects], len(tasks))
    return [task for task, _ in results if task], rejects
