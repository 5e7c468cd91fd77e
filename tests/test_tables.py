"""Artefacts exist whole or not at all, are typed, and say where they came from."""

import multiprocessing
import os
import signal
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from clawgym.errors import UserError
from clawgym.tables import (
    code_version,
    column,
    fingerprint,
    provenance,
    read_capture,
    read_jsonl,
    read_rows,
    read_table,
    write_jsonl,
    write_table,
)

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


WIDE = pa.schema(
    [
        column("id", pa.string(), "record"),
        column("count", pa.int32(), "number"),
        column("files", pa.list_(pa.struct([("path", pa.string()), ("size", pa.int64())])), "files"),
    ]
)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": pa.array([1])}, "column id: expected string, found int64; delete it and run"),
        ({"count": pa.array(["1"])}, "column count: expected int32, found string"),
        ({"count": pa.array([1.0])}, "column count: expected int32, found double"),
        ({"files": pa.array(["in/a.txt"])}, "column files: expected list<.*>, found string"),
        ({"files": pa.array([["in/a.txt"]])}, "column files: expected list<.*>, found list<.*>"),
        ({"files": pa.array([[{"path": "in/a.txt"}]])}, "column files: expected list<.*>, found list<.*>"),
        ({"id": pa.array(["a"]).dictionary_encode()}, None),
        ({"id": pa.array(["a"], pa.large_string()), "count": pa.array([1], pa.int64())}, None),
        ({"files": pa.array([[{"path": "a", "size": 1, "more": 2}]], pa.large_list(pa.struct(
            [("path", pa.large_string()), ("size", pa.int32()), ("more", pa.int8())]
        )))}, None),
        ({"id": pa.nulls(1), "more": pa.array([7])}, None),
    ],
)  # fmt: skip
def test_a_column_of_another_type_is_named_and_one_that_gives_the_same_values_is_read(tmp_path, columns, message):
    whole = {"id": pa.array(["a"]), "count": pa.array([1]), "files": pa.array([[{"path": "a", "size": 1}]])} | columns
    pq.write_table(pa.table(whole), tmp_path / "t.parquet")
    if message is None:
        assert read_table(tmp_path / "t.parquet", WIDE).num_rows == 1
    else:
        with pytest.raises(UserError, match=f"t.parquet: {message}"):
            read_table(tmp_path / "t.parquet", WIDE)


def test_a_changed_byte_is_an_error_and_never_another_value(tmp_path):
    rows = [{"id": f"record {i}", "score": i / 7} for i in range(300)]
    path = tmp_path / "t.parquet"
    write_table(rows, SCHEMA, path, {})
    raw = path.read_bytes()
    for place in range(4, len(raw) - 8, 37):
        path.write_bytes(raw[:place] + bytes([raw[place] ^ 0xFF]) + raw[place + 1 :])
        try:
            assert read_rows(path, SCHEMA) == rows, place  # in a statistic, which is not read
        except UserError as error:
            assert "t.parquet" in str(error)


def test_texts_that_are_not_utf8_and_folders_are_no_tables(tmp_path):
    text = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff\xfe"]).buffers())
    pq.write_table(pa.table({"id": text}), tmp_path / "t.parquet")
    (tmp_path / "folder.parquet").mkdir()
    for name in ("t", "folder"):
        with pytest.raises(UserError, match=f"{name}.parquet: not a readable Parquet file"):
            read_rows(tmp_path / f"{name}.parquet")


CALL, END = b'{"kind": "call"}\n', b'{"kind": "end"}\n'


@pytest.mark.parametrize(
    "content",
    [None, b"", b"garbage", zstandard.compress(CALL), zstandard.compress(CALL + END)[:-4], zstandard.compress(b"\xff\n" + END)],
    ids=["missing", "empty", "garbage", "without_end", "cut", "not_utf8"],
)
def test_a_capture_that_is_not_whole_says_what_to_delete(tmp_path, content):
    path = tmp_path / "rollouts/m/captures/t-1-gpt-4.1-0.jsonl.zst"
    path.parent.mkdir(parents=True)
    path.write_bytes(zstandard.compress(CALL) + zstandard.compress(END))
    assert [record["kind"] for record in read_capture(path)] == ["call", "end"]
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    again = f"delete {tmp_path}/rollouts/m and results/.work/\\*/\\*/t-1-gpt-4.1-0.\\* and run again"
    with pytest.raises(UserError, match=f"{path}: expected a whole capture.*{again}"):
        read_capture(path)


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
