"""The four families that the default trains on: one or two calls, short enough for a student of 135M parameters."""

import json
import random

from clawgym.offline.families import rubric
from clawgym.offline.families.base import Family, Files, Params, clauses, csv_text, rows_from, spec
from clawgym.offline.families.portable import key_values, table, value_checks
from clawgym.offline.vocabulary import VALUES, Scene, short_note, some_path

VALUE_CHECKS = {
    "names_value": "the output file contains the right value",
    "value_only": "the output file holds exactly the value",
    "single_line": "the value stands in one line with no other line around it",
}


def _no_files(rng: random.Random, scene: Scene, p: Params) -> list[dict[str, str]]:
    return []


def _no_content(rng: random.Random, p: Params, path: str, text: str) -> str:
    raise ValueError("tasks of this family have no input files")


# --- save-value ---


def note_facts(p, files):
    return p["value"]


def note_outputs(p, value):
    return {p["target"]: value + "\n"}


def note_checks(p, value, read, root):
    return value_checks(value, read, p["target"])


def _note_draw(rng: random.Random, scene: Scene) -> Params:
    return {"value": short_note(rng, scene), "target": some_path(rng, rng.choice(scene.things), rng.choice(("txt", "txt", "md")))}


save_value = Family(
    kind="save-value",
    operations=("write_note",),
    also=(),
    difficulty="easy",
    phrasings=(
        "Write the text {value:quoted} to the file {target:path}.",
        "Save {value:quoted} in {target:path}.",
        "Put the note {value:quoted} into {target:path}, nothing else.",
        "Create {target:path} with the text {value:quoted}.",
        "Store this line in {target:path}: {value:quoted}",
        "Keep {value:quoted} as a one-line note in {target:path}.",
    ),
    draw=_note_draw,
    plan=_no_files,
    content=_no_content,
    sources=(),
    targets=("target",),
    facts=note_facts,
    outputs=note_outputs,
    checks=note_checks,
    described=VALUE_CHECKS,
    rubric=(rubric.bare(),),
    slips=(
        lambda rng, p, files: {p["target"]: p["value"].rsplit(" ", 1)[0] + "\n"},
        lambda rng, p, files: {p["target"]: f"Note: {p['value']}\n"},
        lambda rng, p, files: {p["target"]: f"Note to self\n\n{p['value']}\n\nLet me know if you need anything else.\n"},
    ),
    terse=True,
    weak_right=0.25,
    weak_slips=0.5,
)


# --- write-record ---


def record_facts(p, files):
    return p["fields"]


def record_outputs(p, fields):
    return {p["target"]: json.dumps(fields, ensure_ascii=False) + "\n"}


def record_checks(p, fields, read, root):
    def got():
        value = json.loads(read(p["target"]))
        return value if isinstance(value, dict) else {}

    return {
        "has_fields": lambda: set(fields) <= set(got()),
        "values": lambda: all(str(got()[name]) == str(value) for name, value in fields.items()),
        "types": lambda: all(type(got()[name]) is type(value) and got()[name] == value for name, value in fields.items()),
        "only_fields": lambda: set(got()) == set(fields),
    }


def _record_draw(rng: random.Random, scene: Scene) -> Params:
    thing = rng.choice(scene.things)
    names = [name for name, type_ in scene.fields.items() if type_ != "money"]
    chosen = rng.sample(names, rng.choice((1, 2)))
    typed = {name: int(value) if scene.fields[name] == "int" else value for name in chosen if (value := VALUES[scene.fields[name]](rng))}
    return {"fields": {scene.key: thing} | typed, "target": some_path(rng, thing, "json")}


def _record_stringly(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    first = next(iter(p["fields"]))
    return {p["target"]: json.dumps({first: str(p["fields"][first])}) + "\n"}


write_record = Family(
    kind="write-record",
    operations=("fill_template",),
    also=("convert_format",),
    difficulty="easy",
    phrasings=(
        "Create {target:path} as a JSON object with {fields:pairs}.",
        "Write a JSON record with {fields:pairs} to {target:path}.",
        "Save a JSON object to {target:path}: {fields:pairs}.",
        "Fill in the JSON record {target:path} with {fields:pairs}.",
        "Make the JSON file {target:path} holding {fields:pairs}.",
    ),
    draw=_record_draw,
    plan=_no_files,
    content=_no_content,
    sources=(),
    targets=("target",),
    facts=record_facts,
    outputs=record_outputs,
    checks=record_checks,
    described={
        "has_fields": "the output is a JSON object with every field",
        "values": "every field has its value",
        "types": "numbers are JSON numbers and texts are JSON strings",
        "only_fields": "there are no other fields",
    },
    rubric=(rubric.layout(weight=2.0), rubric.naming()),
    slips=(
        _record_stringly,
        lambda rng, p, files: {p["target"]: "".join(f"{name}: {value}\n" for name, value in p["fields"].items())},
    ),
    terse=True,
    weak_right=0.32,
    weak_slips=0.5,
)


# --- copy-field ---


def field_facts(p, files):
    return key_values(files[p["source"]], ":")[p["field"]]


def field_outputs(p, value):
    return {p["target"]: value + "\n"}


def field_checks(p, value, read, root):
    return value_checks(value, read, p["target"])


def _field_draw(rng: random.Random, scene: Scene) -> Params:
    thing = rng.choice(scene.things)
    names = rng.sample(sorted(scene.fields), min(3, len(scene.fields)))
    source, target = some_path(rng, thing, "txt"), some_path(rng, rng.choice(scene.things) + " " + names[0], "txt")
    return {"source": source, "target": target, "field": names[0], "_names": names, "_thing": thing}


def _field_plan(rng: random.Random, scene: Scene, p: Params) -> list[dict[str, str]]:
    lines = {name: VALUES[scene.fields[name]](rng) for name in p["_names"]}
    lines = dict(rng.sample(sorted(({scene.key: p["_thing"]} | lines).items()), len(lines) + 1))
    return [{"path": p["source"], "type": "text", "spec": spec("Key-value lines", **lines)}]


def _field_content(rng: random.Random, p: Params, path: str, text: str) -> str:
    return "".join(f"{name}: {value}\n" for name, value in clauses(text).items())


def _other_field(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    values = key_values(files[p["source"]], ":")
    return {p["target"]: rng.choice([value for name, value in values.items() if name != p["field"]]) + "\n"}


copy_field = Family(
    kind="copy-field",
    operations=("extract_field", "read_file"),
    also=("write_note",),
    difficulty="easy",
    phrasings=(
        "Read {source:path} and write the value of {field:word} to {target:path}.",
        "Copy the {field:word} from {source:path} into {target:path}, only the value.",
        "What is the {field:word} in {source:path}? Write just the value to {target:path}.",
        "Take the {field:word} entry of {source:path} and save its value as {target:path}.",
        "Open {source:path} and put its {field:word} value into {target:path}.",
    ),
    draw=_field_draw,
    plan=_field_plan,
    content=_field_content,
    sources=("source",),
    targets=("target",),
    facts=field_facts,
    outputs=field_outputs,
    checks=field_checks,
    described=VALUE_CHECKS,
    rubric=(rubric.bare(),),
    slips=(
        _other_field,
        lambda rng, p, files: {p["target"]: files[p["source"]]},
        lambda rng, p, files: {p["target"]: f"{p['field']}: {field_facts(p, files)}\n"},
    ),
    terse=True,
    weak_right=0.25,
    weak_slips=0.6,
)


# --- lookup-row ---


def cell_facts(p, files):
    return next(row[p["column"]] for row in table(files[p["source"]]) if row[p["key"]] == p["entry"])


def cell_outputs(p, value):
    return {p["target"]: value + "\n"}


def cell_checks(p, value, read, root):
    return value_checks(value, read, p["target"])


def _cell_draw(rng: random.Random, scene: Scene) -> Params:
    columns = rng.sample(sorted(scene.fields), 2)
    width = 6 + sum({"date": 11, "money": 6, "code": 6, "time": 6, "version": 6}.get(scene.fields[name], 4) for name in columns)
    things = rng.sample(scene.things, rng.randint(3, max(3, min(5, 70 // width))))  # at most some 80 tokens in all
    source = some_path(rng, scene.topic if rng.random() < 0.5 else f"{rng.choice(scene.things)} list", "csv")
    entry = rng.choice(things)
    target = some_path(rng, f"{entry} {columns[0]}", "txt")
    return {
        "source": source,
        "target": target,
        "key": scene.key,
        "entry": entry,
        "column": columns[0],
        "_columns": columns,
        "_things": things,
    }


def _cell_plan(rng: random.Random, scene: Scene, p: Params) -> list[dict[str, str]]:
    columns = rng.sample(p["_columns"], 2)
    ranges = {name: {"int": "2..480", "money": "11.00..980.00"}.get(scene.fields[name], scene.fields[name]) for name in columns}
    text = spec(
        "CSV table",
        header=[scene.key, *columns],
        rows=len(p["_things"]),
        **{scene.key: p["_things"]},
        **ranges,
        variant=rng.randint(1, 9999),
    )
    return [{"path": p["source"], "type": "csv", "spec": text}]


def _cell_content(rng: random.Random, p: Params, path: str, text: str) -> str:
    return csv_text(rows_from(rng, text))


def _next_row(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    rows = table(files[p["source"]])
    here = next(i for i, row in enumerate(rows) if row[p["key"]] == p["entry"])
    return {p["target"]: rows[(here + 1) % len(rows)][p["column"]] + "\n"}


def _other_column(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    row = next(row for row in table(files[p["source"]]) if row[p["key"]] == p["entry"])
    return {p["target"]: next(value for name, value in row.items() if name not in (p["key"], p["column"])) + "\n"}


lookup_row = Family(
    kind="lookup-row",
    operations=("search_text",),
    also=("read_file", "write_note"),
    difficulty="medium",
    phrasings=(
        "In {source:path}, find the row whose {key:word} is {entry:quoted} and write its {column:word} to {target:path}.",
        "Look up {entry:quoted} ({key:word} column) in {source:path} and save its {column:word} to {target:path}.",
        "Write the {column:word} of the {key:word} {entry:quoted} from {source:path} to {target:path}.",
        "Find {key:word} {entry:quoted} in the table {source:path}; put its {column:word} alone into {target:path}.",
        "Search {source:path} for the {key:word} {entry:quoted}. Save only its {column:word} in {target:path}.",
    ),
    draw=_cell_draw,
    plan=_cell_plan,
    content=_cell_content,
    sources=("source",),
    targets=("target",),
    facts=cell_facts,
    outputs=cell_outputs,
    checks=cell_checks,
    described=VALUE_CHECKS,
    rubric=(rubric.bare(),),
    slips=(
        _next_row,
        _other_column,
        lambda rng, p, files: {
            p["target"]: ",".join(next(r for r in table(files[p["source"]]) if r[p["key"]] == p["entry"]).values()) + "\n"
        },
    ),
    terse=True,
    weak_right=0.25,
    weak_slips=0.6,
)

FAMILIES = (save_value, write_record, copy_field, lookup_row)
