"""What every import format shares: the records, input files as text or base64, outputs a prompt names, and typed reasons for a reject."""

import base64
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from clawgym.tasks import paths

BINARY = "base64:"
"""`files[].content` of a type that starts with this is base64 of the file's bytes; of any other type it is the text itself."""
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_TEXT = "csv|html|ini|ics|json|jsonl|log|md|py|sh|sql|toml|tsv|txt|xml|yaml|yml"
OUTPUT = re.compile(rf"(?<![\w./@-])((?:[\w.-]+/)*[\w-][\w.-]*\.(?:{_TEXT}))(?![\w/@-])")


class Malformed(Exception):
    """A record that cannot be imported. reason: typed slug; detail: what was expected and what was found."""

    def __init__(self, reason: str, detail: str):
        super().__init__(f"{reason}: {detail}")
        self.reason, self.detail = reason, detail


@dataclass(frozen=True)
class Limits:
    """Bounds on what is imported: bytes of one input file, number of input files."""

    max_file_bytes: int = 1_000_000
    max_files: int = 1000


@dataclass(frozen=True)
class Origin:
    """What exports must know of an imported set."""

    licence: str
    redistributable: bool


def checked_id(value: object) -> str:
    """A record id that can be a file name. Raises Malformed."""
    if not isinstance(value, str) or not ID.fullmatch(value):
        raise Malformed("bad_id", f"expected an id of letters, digits, '.', '_' and '-', found {value!r:.80}")
    return value


def checked_path(value: object) -> str:
    """A relative, normalised path that stays in the workspace. Raises Malformed."""
    try:
        return paths.checked_path(value if isinstance(value, str) else "")
    except ValueError as error:
        raise Malformed("unsafe_path", str(error)) from None


def checked_files(files: list[dict]) -> list[dict]:
    """`files`, if they can exist side by side. Raises Malformed."""
    try:
        paths.check_together(file["path"] for file in files)
    except ValueError as error:
        raise Malformed("unsafe_path", str(error)) from None
    return files


def input_file(path: str, raw: bytes, limits: Limits) -> dict:
    """A `files` entry of a task. Text stays text, byte for byte; anything else becomes base64 and says so in its type. Raises Malformed."""
    if len(raw) > limits.max_file_bytes:
        raise Malformed("file_too_large", f"{path}: {len(raw)} bytes, at most {limits.max_file_bytes} (resources.max_file_bytes)")
    suffix = PurePosixPath(path).suffix.lstrip(".").lower() or "text"
    try:
        content, type_ = raw.decode("utf-8"), suffix
        if "\0" in content:
            raise ValueError("NUL is not text")
    except ValueError:
        content, type_ = base64.b64encode(raw).decode(), BINARY + suffix
    return {"path": path, "type": type_, "spec": "imported", "content": content, "sha256": hashlib.sha256(raw).hexdigest()}


def read_tree(root: Path, limits: Limits) -> list[dict]:
    """The files below `root` as task inputs, sorted by path. Links are not followed but refused. Raises Malformed."""
    files = []
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            raise Malformed("symlink", f"{name}: expected a plain file, found a link")
        if path.is_file():
            if len(files) >= limits.max_files:
                raise Malformed("too_many_files", f"more than {limits.max_files} input files")
            files.append(input_file(checked_path(name), path.read_bytes(), limits))
    return checked_files(files)


def named_outputs(instruction: str, files: list[dict]) -> list[str]:
    """File names in the instruction that are not inputs: what the task asks for, as far as the prompt says it."""
    inputs = {file["path"] for file in files}
    names = dict.fromkeys(match.removeprefix("./") for match in OUTPUT.findall(instruction))
    # `plan.json` after `output/plan.json`, or after an input of that name, is the same file called by its short name.
    short = {PurePosixPath(path).name for path in (*inputs, *names) if "/" in path}
    return [name for name in names if name not in inputs | short and ".." not in PurePosixPath(name).parts]


def task_row(set_name: str, task_id: str, instruction: str, category: object, files: list[dict], source: str, origin: Origin) -> dict:
    """A row of the task table.

    The sources do not say which inputs a task may change and grade the workspace as the agent left it, so every input may be modified.
    """
    return {
        "task_id": f"{set_name}-{task_id}",
        "seed_id": None,
        "route": "import",
        "instruction": instruction,
        "category": category if category and isinstance(category, str) else "uncategorised",
        "subcategory": None,
        "kind": set_name,
        "operations": [],
        "difficulty": "medium",
        "files": files,
        "expected_outputs": named_outputs(instruction, files),
        "may_modify": [file["path"] for file in files],
        "model": f"import:{set_name}",
        "source": source,
        "licence": origin.licence,
        "redistributable": origin.redistributable,
    }


def verifier_row(task: dict, code: str | None, rubric: list[dict], weight_of_code: float) -> dict:
    """A row of the verifier table. The names of the checks are what the grader returns; they are filled in by running it."""
    return {
        "task_id": task["task_id"],
        "code": code,
        "checks": [],
        "rubric": rubric,
        "lambda": weight_of_code,
        "solution": None,
        "model": task["model"],
    }
