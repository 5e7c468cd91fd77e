"""Each state differs from the oracle by exactly the mistake its name says, in every format."""

import json
import random

import pytest

from clawgym.verifiers import states

TABLE = b"name,amount\nfig,10\nplum,25\nquince,31\n"
RECORD = b'{"title": "Stock", "count": 3, "rows": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]}'
NOTE = "Lager café\n\n- fig: 10\n- plum: 25\n".encode()
OUTPUTS = {"out/table.csv": TABLE, "record.json": RECORD, "note.md": NOTE, "rows.jsonl": b'{"a": 1, "b": 2}\n{"a": 3, "b": 4}\n'}


def rng():
    return random.Random(5)


def test_states_without_work():
    inputs = {"data/a.csv": TABLE, "data/long.txt": b"z" * 500}
    made = states.effortless("Sum it.", inputs, ["out.csv", "sub/out.md"])
    assert made["touch"] == {"out.csv": b"", "sub/out.md": b""}
    assert made["echo"] == {"out.csv": b"Sum it.", "sub/out.md": b"Sum it."}
    assert made["copy"] == {"out.csv": TABLE, "sub/out.md": b"z" * 500}  # the same type if there is one, else the largest
    assert "copy" not in states.effortless("Write it.", {}, ["a.md"]) and states.effortless("Say it.", inputs, []) == {}


def test_an_output_that_is_an_input_is_never_copied_onto_itself():
    made = states.effortless("Sort it.", {"list.csv": TABLE, "notes.txt": b"n"}, ["list.csv"])
    assert made["copy"] == {"list.csv": b"n"}


@pytest.mark.parametrize("path", OUTPUTS)
def test_a_row_less(path):
    changed = states.drop_row(OUTPUTS[path], path, rng())
    if path.endswith("csv"):
        lines, before = changed.splitlines(), TABLE.splitlines()
        assert lines[0] == before[0] and len(lines) == len(before) - 1 and set(lines) < set(before)
    elif path.endswith(".json"):
        value = json.loads(changed)
        assert len(value["rows"]) == 1 and value["title"] == "Stock"
    else:
        assert len(changed.splitlines()) == len(OUTPUTS[path].splitlines()) - 1


@pytest.mark.parametrize("path", OUTPUTS)
def test_one_number_is_another(path):
    before, after = OUTPUTS[path].decode(), states.change_number(OUTPUTS[path], path, rng()).decode()
    assert len(before) == len(after) and sum(a != b for a, b in zip(before, after, strict=True)) == 1


def test_fields_change_places():
    rows = [line.split(b",") for line in states.swap_fields(TABLE, "t.csv", rng()).splitlines()]
    assert rows[0] == [b"name", b"amount"] and sorted(map(sorted, rows)) == sorted(sorted(line.split(b",")) for line in TABLE.splitlines())
    assert rows != [line.split(b",") for line in TABLE.splitlines()]
    value = json.loads(states.swap_fields(b'{"a": 1, "b": 2}', "r.json", rng()))
    assert value == {"a": 2, "b": 1}
    assert states.swap_fields(NOTE, "note.md", rng()) is None


def test_another_order():
    changed = states.reorder(TABLE, "t.csv", rng())
    assert changed != TABLE and sorted(changed.splitlines()) == sorted(TABLE.splitlines()) and changed.splitlines()[0] == b"name,amount"
    assert json.loads(states.reorder(RECORD, "r.json", rng()))["rows"] == json.loads(RECORD)["rows"][::-1]
    assert states.reorder(b'{"a": 1, "b": 2}', "r.json", rng()) is None  # the order of keys says nothing
    assert states.reorder(b"x,y\n1,2\n", "t.csv", rng()) is None


def test_a_mistake_that_has_no_place_gives_no_state():
    assert states.change_number(b"no number", "a.txt", rng()) is None
    assert states.drop_row(b"one line\n", "a.txt", rng()) is None
    for mutate in states.MUTATIONS.values():
        assert mutate(b"\xff\xfe\x00", "a.bin", rng()) is None
        assert mutate(b"", "a.csv", rng()) is None


def test_malformed_documents_are_edited_as_lines():
    assert states.drop_row(b'{"a": 1,\n"b"\n', "a.json", rng()) in (b'{"a": 1,\n', b'"b"\n')


def test_mutants_of_a_task_are_the_same_every_time_and_each_wrong_in_one_way():
    made = states.mutants("t-1", {"note.md": b"old"}, OUTPUTS)
    assert made == states.mutants("t-1", {"note.md": b"old"}, OUTPUTS)
    assert set(made) == {f"mutant-{name}" for name in (*states.MUTATIONS, "wrong_name", "stale")}
    for name, files in made.items():
        different = {path for path in OUTPUTS if files.get(path) != OUTPUTS[path]}
        assert len(different) == 1, name
    assert len(made["mutant-wrong_name"].keys() - OUTPUTS.keys()) == 1
    assert states.mutants("t-1", {}, {}) == {}


def test_a_stale_output_is_absent_or_as_it_was_given():
    assert states.mutants("t-1", {"a.md": b"old 1"}, {"a.md": b"new 1"})["mutant-stale"] == {"a.md": b"old 1"}
    assert states.mutants("t-1", {}, {"a.md": b"new 1"})["mutant-stale"] == {"a.md": None}


def test_inputs_with_other_values_keep_their_form():
    before = b"day,amount\n2026-01-31,10\n2026-02-01,25\n09:30,7.5\n"
    after = states.perturbed(before)
    assert after == b"day,amount\n2026-02-01,25\n2026-01-31,10\n09:31,7.6\n"
    assert states.perturbed(b"none") == b"none" and states.perturbed(b"\xff\x00") == b"\xff\x00"


def test_a_stub_has_the_form_and_not_the_values():
    assert states.stub(TABLE, "t.csv") == b"name,amount\nx,x\nx,x\nx,x\n"
    assert json.loads(states.stub(RECORD, "r.json")) == {"title": "x", "count": -1, "rows": [{"a": -1, "b": "x"}, {"a": -1, "b": "x"}]}
    assert states.stub(NOTE, "n.md") == b"x\n\nx\nx\n"
    assert states.stub(b"\xff", "a.bin") == b""


def test_what_a_program_left_that_was_not_there():
    assert states.produced({"a": b"1", "b": b"2"}, {"a": b"1", "b": b"3", "c": b"4"}) == {"b": b"3", "c": b"4"}


def test_a_long_name_has_room_for_another():
    made = states.mutants("t-1", {}, {"x" * 250 + ".csv": TABLE})
    assert all(len(path) <= 255 for change in made.values() for path in change)
