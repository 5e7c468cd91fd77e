"""Artefacts exist whole or not at all, are typed, and say where they came from."""

import multiprocessing
import os
import signal
import time

import pyarrow as pa
import pytest

from clawgym.errors import UserError
from clawgym.tables import code_version, column, fingerprint, provenance, read_jsonl, read_rows, write_jsonl, write_table

SCHEMA = pa.schema([column("id", pa.string(), "record"), column("score", pa.float64(), "measured", unit="0..1", nullable=True)])


def test_a_table_keeps_its_nulls_and_its_provenance(tmp_path):
    path = tmp_path / "a/b.parquet"
    write_table([{"id": "x", "score": 0.5}, {"id": "y", "score": None}], SCHEMA, path, {"seed": 17})
    assert read_rows(path, SCHEMA) == [{"id": "x", "score": 0.5}, {"id": "y", "score": None}]
    assert provenance(path) == {"code": code_version(), "seed": 17}


@pytest.mark.parametrize(
    ("rows", "message"),
    [([{"id": "x", "scroe": 1.0}], "scroe"), ([{"id": None, "score": 1.0}], "id has nulls"), ([{"score": 1.0}], "id has nulls")],
)
def test_rows_that_break_the_schema_are_refused_and_nothing_is_written(tmp_path, rows, message):
    with pytest.raises(ValueError, match=message):
        write_table(rows, SCHEMA, tmp_path / "t.parquet", {})
    assert list(tmp_path.iterdir()) == []


def test_missing_broken_and_outdated_files_get_one_clear_line(tmp_path):
    with pytest.raises(UserError, match="no such file; run the stage"):
        read_rows(tmp_path / "none.parquet")
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 not really")
    with pytest.raises(UserError, match="not a readable Parquet file"):
        read_rows(broken)
    write_table([{"id": "x", "score": 1.0}], SCHEMA, tmp_path / "old.parquet", {})
    with pytest.raises(UserError, match="columns .'more'. are missing"):
        read_rows(tmp_path / "old.parquet", SCHEMA.append(column("more", pa.string(), "new")))


@pytest.mark.parametrize("name", ["c.jsonl", "c.jsonl.zst"])
def test_jsonl_round_trip_hides_the_header(tmp_path, name):
    records = [{"a": "ü\n", "n": i} for i in range(100)]
    write_jsonl(records, tmp_path / name, {"seed": 1})
    assert read_jsonl(tmp_path / name) == records


def test_half_a_surrogate_pair_is_written_as_a_question_mark(tmp_path):
    write_table([{"id": "a\ud83d", "score": 1.0}], SCHEMA, tmp_path / "t.parquet", {})
    assert read_rows(tmp_path / "t.parquet", SCHEMA)[0]["id"] == "a?"
    assert fingerprint(["\ud83d"]) != fingerprint(["?"])


def test_a_jsonl_cut_inside_a_character_gives_what_was_complete(tmp_path):
    (tmp_path / "c.jsonl").write_bytes('{"a": 1}\n{"a": "ü'.encode()[:-1])
    assert read_jsonl(tmp_path / "c.jsonl") == [{"a": 1}]


def _write_for_ever(path, rows):
    while True:
        write_table(rows, SCHEMA, path, {})


def test_a_writer_killed_at_any_moment_leaves_a_whole_table(tmp_path):
    path = tmp_path / "t.parquet"
    rows = [{"id": str(i), "score": i / 2} for i in range(20_000)]
    write_table(rows, SCHEMA, path, {})
    for moment in range(5):
        writer = multiprocessing.get_context("fork").Process(target=_write_for_ever, args=(path, rows))
        writer.start()
        time.sleep(0.05 + 0.03 * moment)
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        assert len(read_rows(path, SCHEMA)) == 20_000
