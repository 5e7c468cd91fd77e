"""Read a whole imported set: every record becomes a task with its verifier or one reject with its reason."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from clawgym.config import Imports
from clawgym.errors import UserError
from clawgym.imports import clawgym_tasks, pinchbench
from clawgym.imports.records import Limits, Malformed, Origin

FORMATS: dict[str, ModuleType] = {"clawgym": clawgym_tasks, "pinchbench": pinchbench}
Parser = Callable[[Path, Origin, Limits], tuple[dict, dict]]


def read_set(name: str, folder: Path, origin: Origin, limits: Limits) -> tuple[list[dict], list[dict], list[dict]]:
    """Tasks, verifiers and rejects of one folder. Nothing that is imported is run.

    Raises UserError if the folder does not exist or holds no record.
    """
    if not folder.is_dir():
        raise UserError(f"imports.{name}: {folder}: no such folder; set it to the folder that holds the tasks")
    form = FORMATS[name]
    found = form.records(folder)
    if not found:
        expected = "task_*/data_entry.json" if name == "clawgym" else "task_*.md"
        raise UserError(f"imports.{name}: {folder}: expected {expected}, found no task; set it to the folder that holds the tasks")
    tasks, verifiers, rejects = [], [], []
    seen: dict[str, Path] = {}
    for path in found:
        try:
            task, verifier = form.parse(path, origin, limits)
            if (first := seen.get(task["task_id"])) is not None:
                raise Malformed("duplicate_id", f"{task['task_id']} was already read from {first.name}")
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError, MemoryError, OSError) as error:
            # What a stranger's file makes a parser raise: the other records are read all the same.
            detail = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            rejects.append({"stage": "imports", "record_id": f"{name}:{path.name}", "reason": "unreadable", "detail": detail})
            continue
        except Malformed as problem:
            rejects.append({"stage": "imports", "record_id": f"{name}:{path.name}", "reason": problem.reason, "detail": problem.detail})
            continue
        seen[task["task_id"]] = path
        tasks.append(task)
        verifiers.append(verifier)
    return tasks, verifiers, rejects


def read_imports(settings: Imports, limits: Limits) -> tuple[list[dict], list[dict], list[dict]]:
    """Tasks, verifiers and rejects of every configured set. Raises UserError if none is configured."""
    folders = {name: getattr(settings, name) for name in FORMATS if getattr(settings, name)}
    if not folders:
        raise UserError(
            "imports: expected a folder under imports.clawgym or imports.pinchbench, found neither; see config/examples/imports.yaml"
        )
    origin = Origin(settings.licence, settings.redistributable)
    tasks: list[dict] = []
    verifiers: list[dict] = []
    rejects: list[dict] = []
    for name, folder in folders.items():
        for rows, more in zip((tasks, verifiers, rejects), read_set(name, Path(folder), origin, limits), strict=True):
            rows.extend(more)
    return tasks, verifiers, rejects
