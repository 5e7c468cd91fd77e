"""What an author model answers to `write_task`, what it must satisfy, and the task record made from it."""

import hashlib
from collections.abc import Callable, Collection
from typing import Literal

from pydantic import BaseModel, Field, field_validator, model_validator

from clawgym import config
from clawgym.client import Client, Unanswered, render
from clawgym.seeds.taxonomy import Taxonomy
from clawgym.tasks.paths import WorkspacePath, check_together

BINARY = {
    "pdf",
    "png",
    "jpg",
    "jpeg",
    "gif",
    "bmp",
    "xls",
    "xlsx",
    "doc",
    "docx",
    "ppt",
    "pptx",
    "zip",
    "gz",
    "tar",
    "parquet",
    "sqlite",
    "db",
}
SKILL_CHARS = 3000


class FilePlan(BaseModel):
    path: WorkspacePath
    type: str = Field(pattern=r"^[a-z][a-z0-9]{0,11}$")
    spec: str = Field(min_length=1)

    @field_validator("type", mode="before")
    @classmethod
    def _plain(cls, value: object) -> object:
        return value.lower().lstrip(".") if isinstance(value, str) else value


class TaskDraft(BaseModel):
    """The answer to a `write_task` request."""

    instruction: str = Field(min_length=20)
    kind: str = Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$", max_length=40)
    difficulty: Literal["easy", "medium", "hard"]
    operations: list[str] = Field(min_length=1)
    files: list[FilePlan]
    expected_outputs: list[WorkspacePath]
    may_modify: list[WorkspacePath]

    @model_validator(mode="after")
    def _consistent(self) -> "TaskDraft":
        inputs = [file.path for file in self.files]
        if repeated := {path for path in inputs if inputs.count(path) > 1}:
            raise ValueError(f"files: {sorted(repeated)} are planned more than once")
        check_together([*inputs, *self.expected_outputs])
        if unknown := set(self.may_modify) - set(inputs):
            raise ValueError(f"may_modify: {sorted(unknown)} are not among files")
        if locked := set(self.expected_outputs) & set(inputs) - set(self.may_modify):
            raise ValueError(f"expected_outputs: {sorted(locked)} are input files; list them in may_modify, or write to another path")
        if not self.expected_outputs and not self.may_modify:
            raise ValueError("expected_outputs: name at least one file that the agent must leave")
        if binary := sorted({file.type for file in self.files} & BINARY):
            raise ValueError(f"files: {binary} cannot be written as text; plan text files")
        return self


def limits(settings: config.Tasks, operations: Collection[str]) -> Callable[[TaskDraft], None]:
    """The configured limits and the taxonomy as a check of a draft (raises ValueError)."""

    def check(draft: TaskDraft) -> None:
        if len(draft.instruction) > settings.max_instruction_chars:
            raise ValueError(f"instruction: {len(draft.instruction)} characters; at most {settings.max_instruction_chars} are allowed")
        if len(draft.files) > settings.max_files:
            raise ValueError(f"files: {len(draft.files)} planned; at most {settings.max_files} are allowed")
        if unknown := set(draft.operations) - set(operations):
            raise ValueError(f"operations: {sorted(unknown)} are not operations of the taxonomy; use only {', '.join(sorted(operations))}")

    return check


def task_id(seed_id: str, instruction: str) -> str:
    return "t-" + hashlib.sha256(f"{seed_id}\0{instruction}".encode()).hexdigest()[:12]


def task_row(seed: dict, draft: TaskDraft, model: str) -> dict:
    """The TASK row of a draft; contents of its files are still null."""
    instruction = draft.instruction.strip()
    return {
        "task_id": task_id(seed["seed_id"], instruction),
        "instruction": instruction,
        "kind": draft.kind,
        "operations": list(dict.fromkeys(draft.operations)),
        "difficulty": draft.difficulty,
        "files": [file.model_dump() | {"content": None, "sha256": None} for file in draft.files],
        "expected_outputs": list(dict.fromkeys(draft.expected_outputs)),
        "may_modify": list(dict.fromkeys(draft.may_modify)),
        "model": model,
        **{name: seed[name] for name in ("seed_id", "route", "category", "subcategory", "source", "licence", "redistributable")},
    }


def request(seed: dict, skills: dict[str, dict]) -> dict:
    """The machine-readable form of the question. skills: SKILL rows by id."""
    used = [skills[name] for name in [seed["main_skill"], *seed["support_skills"]] if name]
    return {
        "request": "write_task",
        "route": seed["route"],
        "persona": seed["persona"],
        "category": seed["category"],
        "subcategory": seed["subcategory"],
        "operations": seed["operations"],
        "skills": [{name: skill[name] for name in ("name", "description", "operations")} for skill in used],
        "seed_id": seed["seed_id"],
    }


def described(seed: dict, taxonomy: Taxonomy) -> dict[str, list[str] | str]:
    """Category, subcategory and operations in words, for the prompt."""
    categories = {category.id: category for category in [*taxonomy.skill_categories, *taxonomy.categories]}
    category = categories.get(seed["category"])
    places = [f"{category.name}: {category.description}"] if category else [seed["category"]]
    places += [f"{s.name}: {s.description}" for s in getattr(category, "subcategories", []) if s.id == seed["subcategory"]]
    known = taxonomy.operations
    return {
        "scenario": " – ".join(places),
        "wanted": [f"{name}: {known[name].description}" if name in known else name for name in seed["operations"]],
    }


async def write_tasks(
    client: Client, prompts: str, seeds: list[dict], skills: dict[str, dict], taxonomy: Taxonomy, settings: config.Tasks
) -> tuple[list[dict], list[dict]]:
    """TASK rows and REJECT rows: each seed becomes one or the other.

    Raises UserError if a fifth of the seeds got no answer because of the endpoint.
    """
    model = client.models["author"].model
    check = limits(settings, taxonomy.operations)

    async def write(seed: dict) -> tuple[dict | None, dict | None]:
        asked = request(seed, skills)
        body = (skills[seed["main_skill"]]["body"] if seed["main_skill"] else "")[:SKILL_CHARS]
        messages = render(
            prompts, "write_task", request=asked, skill_body=body, max_files=settings.max_files,
            max_instruction_chars=settings.max_instruction_chars, vocabulary=sorted(taxonomy.operations),
            **described(seed, taxonomy), **{k: v for k, v in asked.items() if k != "request"},
        )  # fmt: skip
        try:
            draft = await client.structured("author", messages, TaskDraft, check=check)
        except Unanswered as failure:
            return None, {"stage": "tasks", "record_id": seed["seed_id"], "reason": failure.kind, "detail": failure.detail}
        return task_row(seed, draft, model), None

    results = await client.map(write, seeds)
    rejects = [reject for _, reject in results if reject]
    client.require_answers([(reject["reason"], reject["detail"]) for reject in rejects], len(seeds))
    return [task for task, _ in results if task], rejects
