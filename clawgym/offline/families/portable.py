"""Helpers that travel as text: graders and reference programs carry this module's source, so it uses the standard library only."""

import csv
import io
import json
import os
import re


def read_text(root, path):
    """Text of a regular file below `root`, or None. A link is not followed: it could point out of the workspace."""
    full = os.path.join(root, path)
    if os.path.islink(full) or not os.path.isfile(full) or os.path.getsize(full) > 2_000_000:
        return None
    with open(full, encoding="utf-8-sig", errors="replace", newline="") as source:
        return source.read().replace("\r\n", "\n")


def gather(root, paths, folder):
    """Path to text (or None) of the named inputs and of every file directly in `folder`."""
    found = {path: read_text(root, path) for path in paths}
    if folder and os.path.isdir(os.path.join(root, folder)):
        for name in sorted(os.listdir(os.path.join(root, folder))):
            if (text := read_text(root, f"{folder}/{name}")) is not None:
                found[f"{folder}/{name}"] = text
    return found


def table(text):
    """Rows of a CSV text as dicts with stripped cells; no text, no rows."""
    rows = csv.DictReader(io.StringIO((text or "").strip()))
    return [{str(k).strip(): (v or "").strip() for k, v in row.items() if isinstance(v, str) or v is None} for row in rows]


def header(text):
    """Column names of a CSV text."""
    return [name.strip() for name in next(csv.reader(io.StringIO((text or "").strip())), [])]


def to_csv(columns, rows):
    """CSV text of rows (dicts), columns in the given order."""
    sink = io.StringIO()
    writer = csv.DictWriter(sink, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return sink.getvalue()


def to_json(value):
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def number(text):
    """The number a cell holds, or None."""
    match = re.fullmatch(r"[-+]?\d+(\.\d+)?", str(text).strip())
    return float(match[0]) if match and not isinstance(text, bool) else None


def close(a, b):
    """Equal as numbers, to a cent."""
    a, b = number(a), number(b)
    return a is not None and b is not None and abs(a - b) < 0.006


def within(limit, *variants):
    """The first text of at most `limit` words, else the last."""
    return next((text for text in variants if len(text.split()) <= limit), variants[-1])


def tidy(value):
    """A float without needless decimals."""
    value = round(value, 2)
    return int(value) if value == int(value) else value


def key_values(text, joint):
    """`key<joint>value` lines as a dict, in order."""
    pairs = [line.partition(joint) for line in (text or "").splitlines() if joint in line]
    return {key.strip(): value.strip() for key, _, value in pairs}


def value_checks(want, read, target):
    """Checks of a file that must hold one value and nothing else."""

    def named():
        return re.search(r"(?<!\w)" + re.escape(want.lower()) + r"(?!\w)", read(target).lower())

    return {
        "names_value": named,
        "value_only": lambda: read(target).strip() == want,
        "single_line": lambda: named() and len(read(target).strip().splitlines()) == 1,
    }
