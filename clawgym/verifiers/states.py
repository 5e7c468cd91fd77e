"""Workspaces of known worth: what costs no work, what is nearly right. Pure functions from files to files.

Files are path → bytes. A state is the files that are laid over the untouched inputs; None in place of the bytes removes a file.
Whatever is chosen (which file, which row) follows from the task's id, so that a card can be made again.
"""

import csv
import io
import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath

Files = dict[str, bytes]
Change = dict[str, bytes | None]

# Numbers and dates as they stand in texts; a date is one piece, so that exchanging pieces of one shape leaves it a date.
PIECE = re.compile(r"\d{4}-\d{2}-\d{2}|\d{2}:\d{2}|\d+(?:\.\d+)?")
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def text_of(content: bytes) -> str | None:
    """The content as text; None if it is not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def effortless(instruction: str, inputs: Files, outputs: Iterable[str]) -> dict[str, Change]:
    """States that cost no work: `touch` (empty files at every expected output), `echo` (the instruction there), `copy` (an input there).

    The copied input is the largest of the output's type, else the largest of all.
    """

    def nearest(path: str) -> bytes:
        suffix = PurePosixPath(path).suffix
        same = [name for name in inputs if PurePosixPath(name).suffix == suffix and name != path]
        names = same or [name for name in inputs if name != path]
        return inputs[max(names, key=lambda name: (len(inputs[name]), name))] if names else b""

    outputs = list(outputs)
    states: dict[str, Change] = {
        "touch": dict.fromkeys(outputs, b""),
        "echo": dict.fromkeys(outputs, instruction.encode()),
    }
    if inputs:
        states["copy"] = {path: nearest(path) for path in outputs}
    return states if outputs else {}


def produced(inputs: Mapping[str, bytes], left: Mapping[str, bytes]) -> Files:
    """The files that a program made or changed."""
    return {path: content for path, content in left.items() if inputs.get(path) != content}


def perturbed(content: bytes) -> bytes:
    """An input with other values in the same form: numbers and dates of one shape change places; a single one is counted up.

    Bytes that are not text, and text without a number, come back unchanged.
    """
    if (text := text_of(content)) is None:
        return content
    by_shape: dict[str, list[str]] = defaultdict(list)
    for piece in PIECE.findall(text):
        by_shape[re.sub(r"\d", "9", piece)].append(piece)
    turned = {}
    for shape, pieces in by_shape.items():
        distinct = list(dict.fromkeys(pieces))
        turned[shape] = (
            dict(zip(distinct, distinct[1:] + distinct[:1], strict=True)) if len(distinct) > 1 else {pieces[0]: _next(pieces[0])}
        )
    return PIECE.sub(lambda match: turned[re.sub(r"\d", "9", match.group())][match.group()], text).encode()


def _next(piece: str) -> str:
    """The piece with its last digit counted up: another value of the same shape."""
    return piece[:-1] + str((int(piece[-1]) + 1) % 10)


def stub(content: bytes, path: str) -> bytes:
    """The right format with wrong values: keys, columns and number of lines stay, what they say does not."""
    text = text_of(content)
    if text is None:
        return b""
    parsed = _parse(text, path)
    if parsed is None:
        return "\n".join("x" if line.strip() else line for line in text.split("\n")).encode()
    kind, value = parsed
    return _write(kind, [value[0], *(["x"] * len(row) for row in value[1:])] if kind in ("csv", "tsv") else _blank(value))


def _blank(value):
    if isinstance(value, dict):
        return {key: _blank(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_blank(item) for item in value]
    if isinstance(value, bool) or value is None:
        return value if value is None else not value
    return -1 if isinstance(value, int | float) else "x"


def _parse(text: str, path: str):
    """(kind, value) of a table or a JSON document; None for other texts and for what does not parse."""
    suffix = PurePosixPath(path).suffix.lower()
    try:
        if suffix in (".csv", ".tsv"):
            rows = list(csv.reader(io.StringIO(text, newline=""), delimiter="\t" if suffix == ".tsv" else ","))
            return (suffix[1:], rows) if rows and len(rows[0]) > 1 else None
        if suffix == ".jsonl":
            return "jsonl", [json.loads(line) for line in text.splitlines() if line.strip()]
        if suffix == ".json":
            return "json", json.loads(text)
    except (csv.Error, ValueError, RecursionError):
        return None
    return None


def _write(kind: str, value) -> bytes:
    if kind in ("csv", "tsv"):
        sink = io.StringIO(newline="")
        csv.writer(sink, delimiter="\t" if kind == "tsv" else ",", lineterminator="\n").writerows(value)
        return sink.getvalue().encode()
    if kind == "jsonl":
        return "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in value).encode()
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


# -- mutants: each takes one output of the oracle and gives it with one mistake, or None where the mistake has no place ------------------


def drop_row(content: bytes, path: str, rng: random.Random) -> bytes | None:
    """A row, list element, key or line is missing."""
    return _edited(content, path, lambda items: items.pop(rng.randrange(len(items))), least=2)


def change_number(content: bytes, path: str, rng: random.Random) -> bytes | None:
    """One number is another."""
    if (text := text_of(content)) is None or not (found := list(NUMBER.finditer(text))):
        return None
    match = rng.choice(found)
    return (text[: match.start()] + _next(match.group()) + text[match.end() :]).encode()


def swap_fields(content: bytes, path: str, rng: random.Random) -> bytes | None:
    """Two fields of a row, or the values of two keys, have changed places."""
    if (text := text_of(content)) is None or (parsed := _parse(text, path)) is None:
        return None
    kind, value = parsed
    rows = value[1:] if kind in ("csv", "tsv") else _dicts(value)
    pairs = [(row, a, b) for row in rows for a, b in _neighbours(row) if row[a] != row[b] or type(row[a]) is not type(row[b])]
    if not pairs:
        return None
    row, a, b = rng.choice(pairs)
    row[a], row[b] = row[b], row[a]
    return _write(kind, value)


def reorder(content: bytes, path: str, rng: random.Random) -> bytes | None:
    """Rows, list elements or lines stand in another order. Where order does not matter, a grader is right to accept it."""

    def turn(items: list) -> None:
        place = rng.randrange(len(items) - 1)
        items[place], items[place + 1] = items[place + 1], items[place]

    return _edited(content, path, turn, least=2, keys=False)


def _neighbours(row: list | dict) -> list[tuple]:
    places = list(range(len(row))) if isinstance(row, list) else list(row)
    return list(zip(places, places[1:], strict=False))


def _dicts(value) -> list[dict]:
    if isinstance(value, dict):
        return [value, *(found for item in value.values() for found in _dicts(item))]
    return [found for item in value for found in _dicts(item)] if isinstance(value, list) else []


def _lists(value) -> list[list]:
    if isinstance(value, list):
        return [value, *(found for item in value for found in _lists(item))]
    return [found for item in value.values() for found in _lists(item)] if isinstance(value, dict) else []


def _edited(content: bytes, path: str, edit: Callable[[list], object], *, least: int, keys: bool = True) -> bytes | None:
    """The content after `edit` of its rows, its longest list, its keys (with `keys`) or its lines; None if there are fewer than `least`."""
    if (text := text_of(content)) is None:
        return None
    if parsed := _parse(text, path):
        kind, value = parsed
        if kind in ("csv", "tsv"):
            rows = value[1:]
            if len(rows) < least - (1 if keys else 0):
                return None
            edit(rows)
            edited = _write(kind, [value[0], *rows])
        elif lists := [found for found in _lists(value) if len(found) >= least]:
            edit(max(lists, key=len))
            edited = _write(kind, value)
        elif keys and isinstance(value, dict) and len(value) >= least:
            items = list(value.items())
            edit(items)
            edited = _write(kind, dict(items))
        else:
            return None
        return edited if edited != _write(*_parse(text, path)) else None  # `value` has been edited in place
    lines = text.rstrip("\n").split("\n")
    if len(lines) < least:
        return None
    edit(lines)
    edited = ("\n".join(lines) + "\n").encode()
    return edited if edited.rstrip() != content.rstrip() else None


MUTATIONS: dict[str, Callable[[bytes, str, random.Random], bytes | None]] = {
    "drop_row": drop_row,
    "change_number": change_number,
    "swap_fields": swap_fields,
    "reorder": reorder,
}


def mutants(task_id: str, inputs: Mapping[str, bytes], outputs: Files) -> dict[str, Change]:
    """States with one mistake each, by name: `mutant-<mutation>`. outputs: what the oracle made or changed.

    Beside MUTATIONS: `wrong_name` (an output lies under another name) and `stale` (one output is not there, or still as it was given).
    """
    rng = random.Random(task_id)
    states: dict[str, Change] = {}
    paths = sorted(outputs)
    for name, mutate in MUTATIONS.items():
        for path in rng.sample(paths, len(paths)):
            if (changed := mutate(outputs[path], path, rng)) is not None and changed != outputs[path]:
                states[f"mutant-{name}"] = {**outputs, path: changed}
                break
    if made := [path for path in paths if path not in inputs]:
        path = rng.choice(made)
        other = PurePosixPath(path)
        renamed = str(other.with_name(f"{other.stem[:100]}-copy{other.suffix[:20]}"))  # a name has at most 255 bytes
        states["mutant-wrong_name"] = {**{p: c for p, c in outputs.items() if p != path}, renamed: outputs[path]}
    if paths:
        path = rng.choice(paths)
        states["mutant-stale"] = {**outputs, path: inputs.get(path)}
    return states
