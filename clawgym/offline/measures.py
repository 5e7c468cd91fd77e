"""What the rule-based judge can measure of an artefact for a rubric rule, each as a share 0..1 with the line that decides.

A measure sees the instruction, the artefact's path and its content, nothing else; it knows no family and no right answer. It rates the
form that a colleague or a program meets (bare, tidy, named as asked, consistent in itself), where code checks rate the result.
"""

import ast
import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

_TALK = re.compile(r"\b(?:sure!|here (?:is|are)\b|i hope\b|let me know\b|of course\b|as requested\b|note to self\b|happy to\b)", re.I)
_NUMERIC = re.compile(r"[-+]?\d+(?:\.\d+)?")
Measured = tuple[float, str]
"""(share 0..1, a line of the content that shows why)."""


@dataclass(frozen=True)
class Case:
    """One artefact to judge."""

    content: str
    instruction: str
    path: str

    @cached_property
    def lines(self) -> list[str]:
        return [line.strip() for line in self.content.splitlines() if line.strip()]

    @cached_property
    def quoted(self) -> list[str]:
        """What the instruction puts in double quotes."""
        return re.findall(r'"([^"\n]+)"', self.instruction)

    @cached_property
    def json(self) -> tuple[Any, bool]:
        """(value, whole content?): the content as JSON, or the first object or list inside other text; (None, False) without one."""
        try:
            return json.loads(self.content), True
        except (ValueError, RecursionError):
            pass  # not JSON as a whole, perhaps in parts
        for start in re.finditer(r"[\[{]", self.content):
            try:
                return json.JSONDecoder().raw_decode(self.content[start.start() :])[0], False
            except (ValueError, RecursionError):
                continue
        return None, False

    @cached_property
    def rows(self) -> list[list[str]]:
        """The content as CSV, header first."""
        try:
            return [row for row in csv.reader(io.StringIO(self.content)) if row]
        except csv.Error:
            return []

    @property
    def form(self) -> str:
        """`json`, `csv` or `lines`: by the path's ending, else by the content."""
        ending = self.path.rpartition(".")[2].lower()
        if ending in ("json", "csv"):
            return ending
        return "json" if self.content.lstrip()[:1] in ("{", "[") else "csv" if len(self.rows) > 1 and len(self.rows[0]) > 1 else "lines"

    def columns(self) -> dict[str, list[str]]:
        """Column name to cells; cells that are not there are empty."""
        head, *body = self.rows or [[]]
        return {name.strip(): [row[i].strip() if i < len(row) else "" for row in body] for i, name in enumerate(head)}

    def names(self) -> list[str]:
        """Keys of the object (or of a list's first object), or the columns of the table."""
        if self.form == "json":
            value, _ = self.json
            value = value[0] if isinstance(value, list) and value else value
            return list(value) if isinstance(value, dict) else []
        return [name for name in self.columns() if name] if len(self.rows) > 1 and len(self.rows[0]) > 1 else []

    def flaw(self, *patterns: str) -> str:
        """The first line with talk or one of the patterns, else the first line."""
        wrong = (line for line in self.lines if _TALK.search(line) or any(re.search(pattern, line) for pattern in patterns))
        return next(wrong, self.lines[0])


def _share(tests: list[bool]) -> float:
    return sum(tests) / len(tests) if tests else 0.0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def bare(case: Case) -> Measured:
    """Nothing but the value: one line without label, quotes, further cells, sentence or talk around it. Quoted texts are taken as given."""
    line = case.lines[0]
    given = any(line in text for text in case.quoted)
    lost = 0.25 * (len(case.lines) > 1) + 0.25 * (len(case.lines) > 2) + 0.25 * any(_TALK.search(x) for x in case.lines)
    lost += 0.25 * (case.content.strip(" \t") not in (case.content.strip(), case.content.strip() + "\n", case.content.strip() + "\r\n"))
    if not given:
        lost += 0.5 * bool(re.match(r"[\w -]{1,40}[:=]\s", line) or re.match(r"[^,]+,\S", line))
        lost += 0.25 * bool(re.match(r"[\"'`*#>-].", line) and not _NUMERIC.fullmatch(line))
        lost += 0.25 * (line.endswith(".") and len(line.split()) >= 4) + 0.25 * (len(line.split()) > 15)
    return max(0.0, 1 - lost), case.flaw()


def _uniform(value: Any) -> bool:
    """Numbers are no strings, keys are no numbers, objects in a list have the same keys."""
    if isinstance(value, str):
        return not _NUMERIC.fullmatch(value)
    if isinstance(value, dict):
        return not any(_NUMERIC.fullmatch(str(key)) for key in value) and all(map(_uniform, value.values()))
    if isinstance(value, list):
        keys = {tuple(item) if isinstance(item, dict) else type(item).__name__ for item in value}
        return len(keys) <= 1 and all(map(_uniform, value))
    return True


def layout(case: Case) -> Measured:
    """Can a program or colleague go on with it: readable form, the same in every entry, nothing around it."""
    plain = not any(_TALK.search(line) for line in case.lines)
    if case.form == "json":
        value, whole = case.json
        if not isinstance(value, dict | list):
            return 0.0, case.flaw()
        spread = len(case.lines) > 2 or len(case.content) <= 200
        return 0.25 + 0.25 * (whole and plain) + (0.25 * spread + 0.25 * _uniform(value) if whole else 0), case.flaw(r": \"-?\d+(\.\d+)?\"")
    if case.form == "csv":
        head, *body = case.rows or [[]]
        even = len(head) > 1 and bool(body) and all(len(row) == len(head) for row in body)
        named = len(head) > 1 and len(set(head)) == len(head) and all(re.fullmatch(r"[A-Za-z_][\w -]*", name) for name in head)
        kept = [" ".join(",".join(row).lower().split()) for row in body]
        tidy = plain and len(set(kept)) == len(kept) and "\n\n" not in case.content.strip() and bool(body)
        return 0.25 * (len(case.lines) > 1) + 0.25 * even + 0.25 * named + 0.25 * tidy, case.flaw()
    shapes = {("/" in line, " " in line) for line in case.lines}
    marked = any(re.match(r"[-*•>#]\s|\d+[.)]\s", line) for line in case.lines)
    ordered = case.lines == sorted(set(case.lines))
    return 0.25 * plain + 0.25 * (len(shapes) == 1) + 0.25 * (not marked) + 0.25 * ordered, case.flaw(r"^[-*•>#]\s", r"^\d+[.)]\s")


def naming(case: Case) -> Measured:
    """Keys or columns carry the names of the instruction, and every name it quotes is there."""
    names = case.names()
    said = set(re.findall(r"[\w-]+", case.instruction))
    present = _share([text.lower() in case.content.lower() for text in case.quoted]) if case.quoted else 1.0
    if not names:
        return 0.25 * (bool(case.quoted) and present == 1), case.flaw()
    formed = all(re.fullmatch(r"[A-Za-z_][\w .-]*", name) for name in names)
    known = [name for name in names if name in said]
    share = 0.25 + 0.25 * formed + 0.25 * min(1.0, 3 * len(known) / len(names)) + 0.25 * present
    return share - 0.25 * (case.form == "json" and not case.json[1]), case.flaw(*(rf"\b{re.escape(name)}\b" for name in known))


def _object_tests(value: dict[str, Any], case: Case) -> tuple[list[bool], list[bool]]:
    """(relations between parts, what holds for each list)."""
    numbers = {key: number for key, number in value.items() if _is_number(number)}
    lists = {key: items for key, items in value.items() if isinstance(items, list)}
    relations, tests = [], []
    if "total" in value or "total" in case.quoted:
        parts = [number for key, number in numbers.items() if key != "total"]
        relations.append("total" in numbers and bool(parts) and abs(sum(parts) - numbers["total"]) < 0.01)
        tests.append(len(numbers) == len(value))
    if "count" in value or "count" in case.quoted:
        relations.append("count" in numbers and any(len(items) == numbers["count"] for items in lists.values()))
    texts = [[str(item) for item in items] for items in lists.values()]
    if lists:
        tests += [all(len(set(items)) == len(items) for items in texts), any(texts)]
        if re.search(r"\bsorted\b|\balphabetical", case.instruction):
            tests.append(all(items in (sorted(items), sorted(items, key=str.lower)) for items in texts))
        if counted := [items for items in lists.values() if items and all(map(_is_number, items))]:
            tests.append(all(items == sorted(items) and items[0] >= 1 for items in counted))
    if len(lists) > 1:
        every = [item for items in texts for item in items]
        tests.append(len(set(every)) == len(every))
    quoted_lists = [name for name in case.quoted if re.fullmatch(r"\w+", name)]
    return relations, [*tests, all(name in value for name in quoted_lists)] if quoted_lists and lists else tests


def _table_tests(case: Case) -> tuple[list[bool], list[bool]]:
    """(relations between rows, what holds for the entries)."""
    columns = case.columns()
    relations, tests = [], []
    if "rank" in columns:
        values = list(columns.values())[-1]
        numeric = all(_NUMERIC.fullmatch(cell) for cell in values)
        relations += [
            columns["rank"] == [str(i + 1) for i in range(len(values))],
            numeric and all(float(a) >= float(b) for a, b in pairwise(values)),
        ]
    if "day" in columns:
        days = [int(cell) if cell.isdigit() else 0 for cell in columns["day"]]
        relations += [days[:1] == [1] and all(0 <= after - before <= 1 for before, after in pairwise(days)), len(set(days)) > 1]
    if re.search(r"\bsorted by\b", case.instruction):
        first = next(iter(columns.values()))
        tests.append(first == sorted(first))
    entries = next((cells for name, cells in columns.items() if name not in ("rank", "day")), [])
    return relations, [*tests, bool(entries) and all(entries), len(set(entries)) == len(entries)]


def adds_up(case: Case) -> Measured:
    """The result agrees with itself: total and parts, count and list, ranks and values; nothing twice, sorted where that is asked for."""
    value, whole = case.json if case.form == "json" else (None, True)
    if case.form == "json" and not isinstance(value, dict):
        return 0.25 * isinstance(value, list), case.flaw()
    if case.form != "json" and (len(case.rows) < 2 or len(case.rows[0]) < 2 or any(map(_TALK.search, case.lines))):
        return 0.25 * bool(re.search(r"\d", case.content)), case.flaw()
    relations, tests = _object_tests(value, case) if case.form == "json" else _table_tests(case)
    share = 0.5 * _share(relations) + 0.25 * _share(tests) if relations else 0.75 * _share(tests)
    return max(0.25, 0.25 + share - 0.5 * (not whole)), case.flaw(r"\b(?:total|count)\b")


def kept(case: Case) -> Measured:
    """Nothing else was disturbed: besides what the instruction names, the file still has its other keys, in a form that can be loaded."""
    value, whole = case.json
    if not isinstance(value, dict):
        return 0.0, case.flaw()
    named = {*case.quoted, *re.findall(r"\bset (\w+) to\b", case.instruction)}
    others = [key for key in value if key not in named]
    spread = whole and len(case.lines) > len(value)
    return 0.25 + 0.25 * bool(others) + 0.5 * (bool(others) and spread), case.flaw(*(rf'"{re.escape(key)}"' for key in others))


def readable(case: Case) -> Measured:
    """A script somebody else can maintain: it parses, says what it does, computes in steps, and deals with odd input."""
    try:
        tree = ast.parse(case.content)
    except (SyntaxError, ValueError, RecursionError):
        return 0.0, case.flaw()
    nodes = list(ast.walk(tree))
    said = len(re.findall(r"(?:^|\s)#\s*\w+ \w+", case.content)) + bool(ast.get_docstring(tree))
    steps = any(isinstance(node, ast.For | ast.FunctionDef | ast.comprehension) for node in nodes)
    reads = any(isinstance(node, ast.Import | ast.ImportFrom) for node in nodes)
    careful = any(isinstance(node, ast.Try | ast.If) for node in nodes) and max(map(len, case.content.splitlines())) <= 120
    return max(0.25, 0.125 * min(said, 2) + 0.25 * steps + 0.25 * reads + 0.25 * careful), case.flaw(r"#\s*\w", r'^"""')


def candid(case: Case) -> Measured:
    """Says what it leaves out or cannot tell, and of what."""
    sentences = [s.strip() for s in re.split(r"(?<=[.!?])\s+|\n", case.content) if s.strip()]
    limits = [s for s in sentences if re.search(r"\b(left out|leaves? out|not (?:counted|covered|included|shown)|does not (?:say|show)|"
                                                r"cannot tell|skip\w*|ignor\w*|omit\w*|unknown|unclear)\b", s, re.I)]  # fmt: skip
    concrete = any(re.search(r"\d|\b[A-Z]{2,}\b|\b(?:lines?|rows?|files?|entries)\b", s) for s in limits)
    enough = len(case.content.split()) >= 12
    headed = bool(re.search(r"^(?:#|[-*] )", case.content, re.M))
    return 0.25 * enough + 0.25 * headed + 0.25 * bool(limits) + 0.25 * concrete, (limits or [case.lines[0]])[0]


MEASURES: dict[str, tuple[str, Callable[[Case], Measured]]] = {
    "bare": (r"\bnothing but the\b|\bonly the value\b|\bno label\b", bare),
    "layout": (r"\btidy\b|\blayout\b|\breus\w+", layout),
    "naming": (r"\bnamed as\b|\b(?:key|column) names\b|\bcarry the names\b", naming),
    "adds_up": (r"\badds? up\b|\bself-consistent\b|\bagrees? with itself\b", adds_up),
    "kept": (r"\bundisturbed\b|\bother (?:keys|settings)\b", kept),
    "readable": (r"\bcommented\b|\breadable script\b", readable),
    "candid": (r"\bleft out\b|\blimits of\b|\bcannot tell\b", candid),
}
"""Name to (wording by which a rule asks for it, the measure)."""
