"""Is a file what its type says? Each type is read back with a real parser of it before a task may use the file."""

import ast
import configparser
import csv
import io
import json
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable

import yaml


def _json_lines(text: str) -> None:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                json.loads(line)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None


def _table(delimiter: str) -> Callable[[str], None]:
    def parse(text: str) -> None:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter, strict=True) if row]
        if not rows:
            raise ValueError("expected a header line")
        if len(rows[0]) != len(set(rows[0])):
            raise ValueError("expected column names that differ from each other")
        for number, row in enumerate(rows[1:], 2):
            if len(row) != len(rows[0]):
                raise ValueError(f"row {number}: {len(row)} fields, the header has {len(rows[0])}; quote fields that contain the delimiter")

    return parse


def _xml(text: str) -> None:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError("expected XML without a document type")
    ElementTree.fromstring(text)


def _ini(text: str) -> None:
    configparser.ConfigParser(interpolation=None, allow_no_value=True).read_string(text)


PARSERS: dict[str, Callable[[str], object]] = {
    "json": json.loads,
    "jsonl": _json_lines,
    "ndjson": _json_lines,
    "yaml": lambda text: list(yaml.safe_load_all(text)),
    "yml": lambda text: list(yaml.safe_load_all(text)),
    "csv": _table(","),
    "tsv": _table("\t"),
    "xml": _xml,
    "svg": _xml,
    "toml": tomllib.loads,
    "ini": _ini,
    "cfg": _ini,
    "py": ast.parse,
    "python": ast.parse,
}
ERRORS = (ValueError, SyntaxError, csv.Error, yaml.YAMLError, configparser.Error, ElementTree.ParseError, RecursionError)


def check_content(path: str, type_: str, text: str) -> None:
    """Raises ValueError, with the parser's words, if `text` is not a file of `type_` (types without a parser are any text)."""
    if not text.strip():
        raise ValueError(f"{path}: the content is empty")
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError(f"{path}: the content has characters that no text file can hold")
    if parse := PARSERS.get(type_):
        try:
            parse(text)
        except ERRORS as error:
            raise ValueError(f"{path}: not valid {type_}: {' '.join(str(error).split())[:300]}") from None
