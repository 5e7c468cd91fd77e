"""Artefacts on disk: typed Parquet tables and JSONL conversations that exist whole or not at all, with their provenance inside."""

import hashlib
import io
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from clawgym.errors import UserError

PROVENANCE = b"clawgym"


def column(name: str, type_: pa.DataType, meaning: str, *, unit: str | None = None, nullable: bool = False) -> pa.Field:
    """One column of an artefact: its name, type, meaning and unit, as `results/README.md` prints them."""
    metadata = {"meaning": meaning} | ({"unit": unit} if unit else {})
    return pa.field(name, type_, nullable=nullable, metadata=metadata)


@cache
def code_version() -> str:
    """Hash of the library's sources: 12 hex digits that change with any edit to `clawgym/`."""
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:12]


def fingerprint(value: Any) -> str:
    """Hash of a JSON-serialisable value that does not depend on key order: 16 hex digits."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def encodable(value: Any) -> Any:
    """A JSON-like value whose texts can all be written as UTF-8: lone surrogates become `?`.

    JSON can spell half a surrogate pair, and the name of a file need not be UTF-8, so models, agents and graders produce such texts.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {encodable(key): encodable(item) for key, item in value.items()}
    return [encodable(item) for item in value] if isinstance(value, list | tuple) else value


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A binary file that appears at `path` only once it is complete and synced.

    A job killed at any moment leaves the old file or none, never half of one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(aside, "wb") as sink:
            yield sink
            sink.flush()
            os.fsync(sink.fileno())
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def write_table(rows: Iterable[dict] | pa.Table, schema: pa.Schema, path: Path, provenance: dict[str, Any]) -> pa.Table:
    """Validate `rows` against `schema` and write them to `path` (zstd Parquet) with `provenance` in the metadata.

    provenance: what the rows depend on, e.g. `{"config": fingerprint(...), "models": [...], "prompts": {...}, "seed": 17}`;
    the code version is added. Raises ValueError if a column is missing, unknown, of another type or null where it may not be.
    """
    if not isinstance(rows, pa.Table):
        rows = list(rows)
        unknown = {name for row in rows for name in row} - set(schema.names)
        if unknown:
            raise ValueError(f"{path}: columns {sorted(unknown)} are not in the schema of this artefact")
        try:
            rows = pa.Table.from_pylist(rows, schema=schema)
        except UnicodeEncodeError:
            rows = pa.Table.from_pylist(encodable(rows), schema=schema)
    for field in schema:
        if not field.nullable and rows[field.name].null_count:
            raise ValueError(f"{path}: column {field.name} has nulls, its schema allows none")
    table = rows.select(schema.names).cast(schema)
    meta = json.dumps({"code": code_version()} | provenance, sort_keys=True, default=str)
    table = table.replace_schema_metadata({PROVENANCE: meta})
    with replacing(path) as sink:
        pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    return table


def read_table(path: Path, schema: pa.Schema | None = None, columns: list[str] | None = None) -> pa.Table:
    """Read a Parquet artefact; with `schema`, check that every column of it is there and holds what it should.

    Raises UserError if the file is missing, is not whole Parquet, or a column is missing or of another type. Further columns, nulls and the
    width of numbers are not looked at.
    """
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read(columns=columns)
        table.validate(full=True)  # texts that are not UTF-8, in files without checksums
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; run the stage that writes it") from None
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{path}: not a readable Parquet file ({reason}); delete it and run the stage again") from None
    wanted = [field for field in (schema or []) if columns is None or field.name in columns]
    missing = [field.name for field in wanted if field.name not in table.column_names]
    if missing:
        raise UserError(f"{path}: columns {missing} are missing; delete it and run the stage that writes it again")
    for field in wanted:
        if not _holds(found := table.schema.field(field.name).type, field.type):
            raise UserError(
                f"{path}: column {field.name}: expected {field.type}, found {found}; delete it and run the stage that writes it again"
            )
    return table


def _holds(found: pa.DataType, expected: pa.DataType) -> bool:
    """Does a column of type `found` give the same Python values as one of type `expected`?"""
    types = pa.types
    if types.is_dictionary(found):
        found = found.value_type
    if found == expected or types.is_null(found):
        return True
    if types.is_struct(found) and types.is_struct(expected):
        return all(field.name in found.names and _holds(found.field(field.name).type, field.type) for field in expected)
    for is_list in (types.is_list, types.is_large_list):
        if is_list(found) and types.is_list(expected):
            return _holds(found.value_type, expected.value_type)
    return any(
        any(test(found) for test in same) and any(test(expected) for test in same)
        for same in ([types.is_integer], [types.is_floating], [types.is_string, types.is_large_string, types.is_string_view])
    )


def read_rows(path: Path, schema: pa.Schema | None = None) -> list[dict]:
    """The rows of a Parquet artefact as dicts."""
    return read_table(path, schema).to_pylist()


def provenance(path: Path) -> dict[str, Any]:
    """What a Parquet artefact says about where it came from."""
    return json.loads((pq.read_schema(path).metadata or {}).get(PROVENANCE, b"{}"))


def write_jsonl(records: Iterable[dict], path: Path, provenance: dict[str, Any]) -> None:
    """Write JSON lines (zstd if the name ends in .zst), the first being the header `{"provenance": {...}}`."""
    with replacing(path) as sink:
        stream = zstandard.ZstdCompressor().stream_writer(sink, closefd=False) if path.suffix == ".zst" else sink
        for record in [{"provenance": {"code": code_version()} | provenance}, *records]:
            stream.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
        if stream is not sink:
            stream.close()


def read_jsonl(path: Path) -> list[dict]:
    """The records of a JSONL artefact (plain or .zst) without its header.

    A compressed stream that was cut off in the middle gives what was complete: a capture of a killed rollout is readable.
    """
    raw = path.read_bytes()
    if path.suffix == ".zst":
        chunks = []
        with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(raw), read_across_frames=True) as reader:
            while chunk := reader.read(1 << 20):
                chunks.append(chunk)
        raw = b"".join(chunks)
    lines = raw.split(b"\n")
    records = [json.loads(line) for line in lines[:-1] if line]  # what follows the last newline was not finished, maybe inside a character
    return [record for record in records if "provenance" not in record]


def read_capture(path: Path) -> list[dict]:
    """The records of the capture of a rollout that ended: it is whole, its last record is of kind `end`. Raises UserError if it is not."""
    try:
        records = read_jsonl(path)
        if not records or records[-1].get("kind") != "end":
            raise ValueError("its last record is not of kind end")
    except (OSError, zstandard.ZstdError, ValueError, TypeError, AttributeError) as error:
        raise UserError(damaged(path, "capture", error)) from None
    return records


def damaged(path: Path, what: str, error: Exception) -> str:
    """What a user is told of a capture or snapshot that is missing or not whole. The working copy may be the same file, a hard link."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else " ".join(str(error).split())[:200]
    rollout = path.name.removesuffix(".jsonl.zst").removesuffix(".tar.zst")
    again = f"delete {path.parent.parent} and results/.work/*/*/{rollout}.* and run again"
    return f"{path}: expected a whole {what}, found none ({reason}); {again}"
