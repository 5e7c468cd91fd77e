"""Personas of the user's own: a JSONL or Parquet file, or a dataset of the Hugging Face hub (PersonaHub, Nemotron-Personas …)."""

import hashlib
import heapq
import json
import os.path
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from clawgym.errors import UserError
from clawgym.tables import encodable


def read_personas(source: str, column: str) -> Iterator[str]:
    """The persona texts of `source` one by one: a path ending in .jsonl or .parquet, or `hf:dataset[:config]:split`.

    Raises UserError if it cannot be read, has no such column, or a record of it is not a text.
    """
    if source.startswith("hf:"):
        return _from_hub(source, column)
    path = Path(source)
    if not os.path.isfile(path):  # also where its folder may not be entered
        raise UserError(f"{source}: no such persona file; set seeds.personas.source to a .jsonl or .parquet file, hf:dataset:split or null")
    if path.suffix == ".jsonl":
        return _from_jsonl(path, column)
    if path.suffix == ".parquet":
        return _from_parquet(path, column)
    raise UserError(f"{source}: expected a name ending in .jsonl or .parquet; convert the file")


def _text(value: object, where: str, column: str) -> str:
    if not isinstance(value, str):
        raise UserError(f"{where}: expected a text in {column!r}, found {type(value).__name__}; correct it or seeds.personas.column")
    return encodable(value)


def _from_jsonl(path: Path, column: str) -> Iterator[str]:
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                if (text := _of_line(line, f"{path}: line {number}", column)) is not None:
                    yield text
    except OSError as error:
        raise UserError(f"{path}: expected a readable file ({error.strerror}); correct its permissions or the disk") from None


def _of_line(line: str, where: str, column: str) -> str | None:
    """The text of a line; null for an empty line and for the header of a JSONL artefact of this workflow."""
    if not line.strip():
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: expected one JSON object per line ({error}); correct or remove the line") from None
    if not isinstance(record, dict):
        raise UserError(f"{where}: expected a JSON object, found {type(record).__name__}; correct or remove the line")
    if "provenance" in record and column not in record:
        return None
    if column not in record:
        raise UserError(f"{where}: no column {column!r}, found {sorted(record)}; set seeds.personas.column")
    return _text(record[column], where, column)


def _from_parquet(path: Path, column: str) -> Iterator[str]:
    row = 0
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            if column not in file.schema_arrow.names:
                raise UserError(f"{path}: no column {column!r}, found {file.schema_arrow.names}; set seeds.personas.column")
            for batch in file.iter_batches(columns=[column]):
                for value in batch.column(0).to_pylist():
                    row += 1
                    yield _text(value, f"{path}: row {row}", column)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"{path}: not a readable Parquet file, from row {row + 1} on ({reason}); write or fetch it again") from None


def _from_hub(source: str, column: str) -> Iterator[str]:
    parts = source.removeprefix("hf:").split(":")
    if len(parts) not in (2, 3) or not all(parts):
        raise UserError(f"{source}: expected hf:dataset:split or hf:dataset:config:split, e.g. hf:proj-persona/PersonaHub:persona:train")
    name, *config, split = parts
    # Imported here: it takes seconds that nobody without a dataset should pay.
    from datasets import load_dataset

    try:
        dataset = load_dataset(name, *config, split=split)
    except Exception as error:  # the hub's client raises its own, requests' and httpx's errors, all of them for what a user can mend
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:300]
        raise UserError(
            f"{source}: the dataset could not be loaded ({type(error).__name__}: {reason}); check its name, configuration and split and "
            "that the hub is reachable (HF_ENDPOINT, HF_TOKEN), or give a .jsonl or .parquet file"
        ) from None
    if column not in dataset.column_names:
        raise UserError(f"{source}: no column {column!r}, found {dataset.column_names}; set seeds.personas.column")
    return (_text(value, f"{source}: row {row}", column) for row, value in enumerate(dataset.select_columns([column])[column], 1))


def draw_texts(texts: Iterable[str], count: int, seed: int) -> list[str]:
    """`count` distinct non-empty texts, uniform, reproducible from `seed`, whatever the order; memory for `count` of them only.

    Drawn are the texts with the smallest hash of seed and text, so a larger count begins with the same ones. Fewer if there are fewer.
    """
    worst_first: list[tuple[int, str]] = []
    held: set[str] = set()
    for text in texts:
        text = " ".join(text.split())
        if not text or text in held:
            continue
        key = int.from_bytes(hashlib.sha256(f"{seed}:{text}".encode("utf-8", "replace")).digest()[:8], "big")
        if len(worst_first) < count:
            heapq.heappush(worst_first, (-key, text))
            held.add(text)
        elif -key > worst_first[0][0]:
            _, dropped = heapq.heapreplace(worst_first, (-key, text))
            held.add(text)
            held.discard(dropped)
    return [text for _, text in sorted(worst_first, reverse=True)]
