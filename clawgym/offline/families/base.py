"""What a task family is: one kind of work with parameters that can be written into an instruction and read back from it.

A family knows nothing about a particular task but what its instruction and its files say. `phrasings` are templates with typed
placeholders (`{source:path}`, `{bound:number}`); the same template writes the instruction and parses it.
`facts`, `outputs` and `checks` are plain functions over standard-library values. Their source text, with that of `portable`, becomes the
grader and the reference program, so what the repository tests is what runs in the sandbox.
"""

import inspect
import pprint
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from clawgym.offline.families import portable
from clawgym.offline.vocabulary import VALUES, Scene

Params = dict[str, Any]
Files = dict[str, str | None]

TYPES: dict[str, tuple[str, Callable[[Any], str], Callable[[str], Any]]] = {}
"""Placeholder type: (pattern, to text, from text)."""


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _pairs(text: str) -> dict[str, str | int]:
    return {
        name: quoted if bare == "" else _number(bare) for name, quoted, bare in re.findall(r'(\w+) (?:"([^"]*)"|(-?\d+(?:\.\d+)?))', text)
    }


def _pairs_text(pairs: dict[str, str | int]) -> str:
    parts = [f'{name} "{value}"' if isinstance(value, str) else f"{name} {value}" for name, value in pairs.items()]
    return ", ".join(parts[:-1]) + " and " + parts[-1]


_PAIR = r'\w+ (?:"[^"\n]*"|-?\d+(?:\.\d+)?)'
TYPES.update(
    path=(r"[\w][\w./-]*\.[A-Za-z0-9]+", str, str),
    folder=(r"[\w][\w/-]*", str, str),
    word=(r"[\w-]+", str, str),
    phrase=(r"[^\n\"]+?", str, str),
    quoted=(r"\"[^\"\n]+\"", lambda text: f'"{text}"', lambda text: text.strip('"')),
    int=(r"-?\d+", str, int),
    number=(r"-?\d+(?:\.\d+)?", str, _number),
    relation=("at least|at most|above|below", str, str),
    pairs=(rf"{_PAIR}(?:, {_PAIR})*(?: and {_PAIR})", _pairs_text, _pairs),
)
_HOLE = re.compile(r"\{(\w+):(\w+)\}")


def fill(template: str, params: Params) -> str:
    """The template with its placeholders written out."""
    return _HOLE.sub(lambda hole: TYPES[hole[2]][1](params[hole[1]]), template)


@dataclass(frozen=True)
class Template:
    """A compiled phrasing."""

    text: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        parts, end, seen = [], 0, set()
        for hole in _HOLE.finditer(self.text):
            parts.append(re.sub(r"\s+", r"\\s+", re.escape(self.text[end : hole.start()]).replace(r"\ ", " ")))
            name, type_ = hole[1], hole[2]
            parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>{TYPES[type_][0]})")
            seen.add(name)
            end = hole.end()
        parts.append(re.sub(r"\s+", r"\\s+", re.escape(self.text[end:]).replace(r"\ ", " ")))
        return re.compile("".join(parts))

    def parse(self, text: str) -> Params | None:
        """The parameters of the last place where the text has this wording, or None."""
        found = None
        for found in self.pattern.finditer(text):  # noqa: B007 - the last one counts
            continue
        return found and {hole[1]: TYPES[hole[2]][2](found[hole[1]]) for hole in _HOLE.finditer(self.text)}


@dataclass(frozen=True)
class Rule:
    """One rubric rule; `artifact` names the parameter that holds the path. Anchors: what deserves 0, 0.25, 0.5, 0.75 and 1."""

    rule_id: str
    text: str
    artifact: str
    weight: float
    anchors: tuple[str, str, str, str, str]


@dataclass(frozen=True)
class Family:
    kind: str
    operations: tuple[str, ...]
    """Main operations of the taxonomy that this family serves."""
    also: tuple[str, ...]
    """Further operations its tasks need."""
    difficulty: str
    phrasings: tuple[str, ...]
    draw: Callable[[random.Random, Scene], Params]
    """Parameters of one task; keys that start with `_` go to the file plan only."""
    plan: Callable[[random.Random, Scene, Params], list[dict[str, str]]]
    """Input files {path, type, spec}."""
    content: Callable[[random.Random, Params, str, str], str]
    """(rng, parameters from the instruction, path, spec) to the text of one file."""
    targets: tuple[str, ...]
    """Parameters that hold output paths."""
    sources: tuple[str, ...]
    """Parameters that hold input paths."""
    facts: Callable[[Params, Files], Any]
    outputs: Callable[[Params, Any], dict[str, str]]
    checks: Callable[[Params, Any, Callable[[str], str | None], str], dict[str, Callable[[], Any]]]
    """(parameters, facts, read, root) to check id and a function that is truthy if the check holds."""
    described: dict[str, str]
    """Check id to what it checks."""
    slips: tuple[Callable[[random.Random, Params, Files], dict[str, str]], ...]
    """What agents get wrong: outputs with one mistake."""
    folder: str | None = None
    """Parameter that holds a folder whose files are inputs."""
    optional: tuple[str, ...] = ()
    """Sources that may be missing."""
    modifies: tuple[str, ...] = ()
    """Sources that the task changes."""
    rubric: tuple[Rule, ...] = ()
    terse: bool = False
    """Short wording for a small student: no scene-setting, fewest calls."""
    modules: tuple[str, ...] = ()
    """Further standard modules that its functions use, beside those of `portable`."""
    weak_right: float = 0.25
    """How often the weak agent makes no mistake."""
    weak_slips: float = 0.45
    """How often its mistake is one of `slips`; else it is one of the mistakes that any work allows."""
    templates: tuple[Template, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "templates", tuple(Template(text) for text in self.phrasings))

    def parse(self, text: str) -> Params | None:
        """The parameters that the text states, or None if it is not a task of this family."""
        for template in self.templates:
            if (params := template.parse(text)) is not None:
                return params
        return None

    def inputs(self, params: Params) -> list[str]:
        return [params[name] for name in self.sources]

    def required(self, params: Params) -> list[str]:
        """Inputs without which there is nothing to do."""
        return [params[name] for name in self.sources if name not in self.optional]

    def folder_of(self, params: Params) -> str | None:
        return params[self.folder] if self.folder else None

    def targets_of(self, params: Params) -> list[str]:
        return [params[name] for name in self.targets]

    def solve(self, params: Params, files: Files) -> dict[str, str]:
        """Path to text of every output. Raises ValueError, KeyError or TypeError if an input is missing or cannot be read."""
        if gone := [path for path in self.required(params) if files.get(path) is None]:
            raise ValueError(f"{gone[0]} is missing")
        return self.outputs(params, self.facts(params, files))

    def _carried(self, *functions: Callable) -> str:
        aliases = [f"{alias} = {f.__name__}" for alias, f in zip(("facts", "outputs", "checks"), functions, strict=False)]
        modules = "".join(f"import {name}\n" for name in self.modules)
        return (
            "\n\n".join([inspect.getsource(portable), modules, *(inspect.getsource(f) for f in functions)])
            + "\n\n"
            + "\n".join(aliases)
            + "\n"
        )

    def program(self, params: Params) -> str:
        """A Python program (standard library) that writes the outputs, working directory = workspace."""
        return (
            self._carried(self.facts, self.outputs)
            + f"P = {pprint.pformat(params, sort_dicts=False)}\n"
            + f"files = gather('.', {self.inputs(params)!r}, {self.folder_of(params)!r})\n"
            + f"gone = [path for path in {self.required(params)!r} if files[path] is None]\n"
            + PROGRAM_END
        )

    def grader(self, params: Params, originals: dict[str, str], request: str) -> str:
        """Source of `grade(transcript, workspace_path)`. An output that only repeats `request`, or an input where that is not the answer,
        counts as no output: it would satisfy checks of form without any work.

        originals: first content of the files that the task changes; all other inputs are read from the workspace when it is graded.
        """
        return (
            self._carried(self.facts, self.outputs, self.checks)
            + f"P = {pprint.pformat(params, sort_dicts=False)}\n"
            + f"CHECKS = {list(self.described)!r}\n"
            + f"INPUTS = {self.inputs(params)!r}\n"
            + f"REQUIRED = {self.required(params)!r}\n"
            + f"FOLDER = {self.folder_of(params)!r}\n"
            + f"ORIGINALS = {pprint.pformat(originals, sort_dicts=False)}\n"
            + f"REQUEST = {request!r}\n"
            + GRADER_END
        )


PROGRAM_END = """if gone:
    raise SystemExit(f"error: {gone[0]} is missing")
for path, text in outputs(P, facts(P, files)).items():
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as sink:
        sink.write(text)
    print("wrote", path)
"""

GRADER_END = '''

def grade(transcript, workspace_path):
    """Each check 1.0 or 0.0. What is expected is computed here from the inputs; an output nobody can parse fails its checks."""
    root = str(workspace_path)
    unreadable = (ValueError, KeyError, TypeError, AttributeError, IndexError, OSError, csv.Error)
    unreadable += (RecursionError, StopIteration, SyntaxError, ArithmeticError)

    def passed(check):
        try:
            return 1.0 if check() else 0.0
        except unreadable:
            return 0.0

    files = gather(root, INPUTS, FOLDER)
    try:
        if any(files[path] is None for path in REQUIRED):
            raise ValueError("an input is gone")
        files.update(ORIGINALS)
        known = facts(P, files)
        wanted = outputs(P, known)

        def read(path):
            text = read_text(root, path)
            repeated = text is not None and path not in files and (REQUEST in text or any(text == given for given in files.values()))
            return None if repeated and text != wanted.get(path) else text

        tests = checks(P, known, read, root)
    except unreadable:
        return dict.fromkeys(CHECKS, 0.0)
    return {name: passed(tests[name]) for name in CHECKS}
'''


# --- file plans: `clause: value; clause: value` texts from which the content can be made ---


def spec(form: str, /, **clauses: Any) -> str:
    """A file description: `CSV table; rows: 8; item: a, b; stock: 3..90`."""
    return "; ".join([form, *(f"{name}: {', '.join(map(str, v)) if isinstance(v, list | tuple) else v}" for name, v in clauses.items())])


def clauses(text: str) -> dict[str, str]:
    """The clauses of a file description."""
    return {name.strip(): value.strip() for name, joint, value in (part.partition(": ") for part in text.split(";")) if joint}


def rows_from(rng: random.Random, text: str) -> list[dict[str, str]]:
    """Rows of the table that a description asks for. The first column has no value twice.

    A column's clause is a value type of the vocabulary, a range `3..90` (with decimals: `3.00..90.00`) or a list of values.
    """
    parts = clauses(text)
    columns = [name.strip() for name in parts["header"].split(",")]
    count = int(parts["rows"])
    rows: list[dict[str, str]] = []
    for i in range(count):
        row = {}
        for j, column in enumerate(columns):
            clause = parts.get(column, "int")
            if match := re.fullmatch(r"(-?\d+)(\.\d+)?\.\.(-?\d+)(\.\d+)?", clause):
                value = str(rng.randint(int(match[1]), int(match[3])))
                row[column] = f"{value}.{rng.randint(0, 99):02d}" if match[2] else value
            elif clause in VALUES:
                row[column] = VALUES[clause](rng)
            else:
                values = [v.strip() for v in clause.split(",")]
                row[column] = (
                    (values[i % len(values)] + (f" {i // len(values) + 1}" if i >= len(values) else "")) if j == 0 else rng.choice(values)
                )
        rows.append(row)
    return rows


def csv_text(rows: list[dict[str, str]]) -> str:
    return portable.to_csv(list(rows[0]), rows)
