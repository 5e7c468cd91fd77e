"""Families that check and automate: validate records, settings with an optional file, a script that outlives its data, a state file."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

from clawgym.offline.families import rubric
from clawgym.offline.families.base import Family, Files, Params, clauses, csv_text, rows_from, spec
from clawgym.offline.families.portable import close, header, number, table, tidy, to_json
from clawgym.offline.families.tables import draw_table, table_spec
from clawgym.offline.vocabulary import VALUES, Scene, slug, some_path

# --- validate-records ---


def validate_facts(p, files):
    rows = table(files[p["source"]])
    if not rows:
        raise ValueError("no rows")
    bad = []
    for i, row in enumerate(rows, 1):
        value = number(row[p["column"]])
        dated = re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", row[p["date"]])
        if not row[p["text"]] or value is None or value < p["low"] or not dated:
            bad.append(i)
    return {"valid": len(rows) - len(bad), "invalid_rows": bad}


def validate_outputs(p, facts):
    return {p["target"]: to_json(facts)}


def validate_checks(p, facts, read, root):
    def got():
        value = json.loads(read(p["target"]))
        return value if isinstance(value, dict) else {}

    return {
        "valid_count": lambda: got()["valid"] == facts["valid"],
        "all_found": lambda: got()["invalid_rows"] and set(facts["invalid_rows"]) <= set(got()["invalid_rows"]),
        "none_wrongly": lambda: got()["invalid_rows"] and set(got()["invalid_rows"]) <= set(facts["invalid_rows"]),
        "exact": lambda: got()["invalid_rows"] == facts["invalid_rows"],
    }


def _validate_draw(rng: random.Random, scene: Scene) -> Params:
    p = draw_table(rng, scene)
    date = next((name for name, type_ in scene.fields.items() if type_ == "date"), "updated")
    return p | {
        "text": p["group"],
        "low": rng.randint(10, 25),
        "date": date,
        "target": some_path(rng, f"{p['key']} check", "json", folder=True),
    }


def _validate_content(rng: random.Random, p: Params, path: str, text: str) -> str:
    """One row per kind of defect, and one row exactly on the lower bound."""
    rows = rows_from(rng, text)
    low = int(p["low"])
    for row in rows:
        row[p["column"]] = str(max(int(row[p["column"]]), low + 1))
    picked = rng.sample(rows, 6)
    picked[0][p["text"]] = ""
    picked[1][p["column"]] = str(low - rng.randint(1, 5))
    picked[2][p["column"]] = rng.choice(("n/a", "many", "?"))
    picked[3][p["date"]] = rng.choice(("12.03.2025", "2025/03/12", "2025-13-02", "soon"))
    picked[4][p["column"]] = str(low)
    return csv_text(rows)


def _validate_edge(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    return validate_outputs(p, validate_facts(p | {"low": p["low"] + 1}, files))


def _validate_from_zero(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    facts = validate_facts(p, files)
    return validate_outputs(p, facts | {"invalid_rows": [i + 1 for i in facts["invalid_rows"]]})


def _validate_partial(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    bad = [i for i, row in enumerate(table(files[p["source"]]), 1) if not row[p["text"]]]
    return validate_outputs(p, {"valid": len(table(files[p["source"]])) - len(bad), "invalid_rows": bad})


validate_records = Family(
    kind="validate-records",
    operations=("validate_schema",),
    also=("read_file", "detect_anomalies"),
    difficulty="hard",
    phrasings=(
        "Validate {source:path}. In a valid row {text:word} is not empty, {column:word} is a number of at least {low:int}, and "
        "{date:word} is a date as "
        'YYYY-MM-DD. Write {target:path} as JSON: "valid" is the number of valid rows, "invalid_rows" the list of the other row numbers '
        "(the first "
        "data row is 1).",
        "Which rows of {source:path} break the rules? The rules are: {text:word} not empty; {column:word} a number, {low:int} or more; "
        "{date:word} written "
        'YYYY-MM-DD. Save {target:path}, JSON with "valid" (count of good rows) and "invalid_rows" (numbers of the bad ones, counting '
        "data rows from 1).",
    ),
    draw=_validate_draw,
    plan=lambda rng, scene, p: table_spec(rng, scene, p, rng.randint(9, 14), **{p["date"]: "date"}),
    content=_validate_content,
    sources=("source",),
    targets=("target",),
    facts=validate_facts,
    outputs=validate_outputs,
    checks=validate_checks,
    described={
        "valid_count": "the number of valid rows is right",
        "all_found": "every invalid row is listed",
        "none_wrongly": "no valid row is listed as invalid",
        "exact": "the list of invalid rows is exact and in order",
    },
    rubric=(rubric.naming(), rubric.adds_up()),
    slips=(_validate_edge, _validate_from_zero, _validate_partial),
)


# --- merge-settings ---


def settings_facts(p, files):
    merged = json.loads(files[p["base"]])
    override = files[p["override"]]
    merged.update(json.loads(override) if override is not None else {})
    merged[p["name"]] = p["value"]
    merged["override_applied"] = override is not None
    return merged


def settings_outputs(p, facts):
    return {p["target"]: to_json(facts)}


def settings_checks(p, facts, read, root):
    def got():
        value = json.loads(read(p["target"]))
        return value if isinstance(value, dict) else {}

    own = [name for name in facts if name not in (p["name"], "override_applied")]
    return {
        "all_settings": lambda: own and set(own) <= set(got()),
        "values": lambda: own and all(got()[name] == facts[name] for name in own),
        "changed_setting": lambda: got()[p["name"]] == p["value"],
        "says_if_overridden": lambda: got()["override_applied"] is facts["override_applied"],
    }


def _settings_draw(rng: random.Random, scene: Scene) -> Params:
    word = rng.choice(scene.things)
    name = slug(f"{rng.choice(scene.things)} {rng.choice(scene.numeric())}", "_")
    return {
        "base": some_path(rng, f"{word} defaults", "json"),
        "override": some_path(rng, f"{word} local", "json"),
        "name": name,
        "value": rng.randint(2, 900),
        "target": some_path(rng, f"{word} settings", "json", folder=True),
        "_present": rng.random() < 0.35,
    }


def _settings_plan(rng: random.Random, scene: Scene, p: Params) -> list[dict[str, str]]:
    names = [slug(f"{rng.choice(scene.things)} {field}", "_") for field in scene.fields] + [p["name"]]
    base = {name: str(rng.randint(2, 900)) if rng.random() < 0.5 else VALUES["code"](rng) for name in dict.fromkeys(names)}
    plans = [{"path": p["base"], "type": "json", "spec": spec("JSON object", **base)}]
    if p["_present"]:
        over = {name: str(rng.randint(2, 900)) for name in rng.sample(sorted(base), 2)}
        plans.append({"path": p["override"], "type": "json", "spec": spec("JSON object", **over)})
    return plans


def _settings_content(rng: random.Random, p: Params, path: str, text: str) -> str:
    return json.dumps({name: int(value) if value.isdigit() else value for name, value in clauses(text).items()}, indent=2) + "\n"


def _settings_no_flag(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    facts = settings_facts(p, files)
    return settings_outputs(p, {name: value for name, value in facts.items() if name != "override_applied"} | {p["name"]: str(p["value"])})


def _settings_assumed(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    return settings_outputs(p, {p["name"]: p["value"], "override_applied": True})


merge_settings = Family(
    kind="merge-settings",
    operations=("handle_missing",),
    also=("read_file", "update_state", "validate_schema"),
    difficulty="hard",
    phrasings=(
        "Build {target:path} (JSON) from the settings in {base:path}. If {override:path} exists, its values replace those of the same "
        "name; it is optional, "
        'so do not stop when it is missing. Then set {name:word} to {value:int} and add "override_applied": true or false, whether the '
        "optional file "
        "was there.",
        "Start from {base:path}, lay the optional file {override:path} over it if there is one, set {name:word} to {value:int}, and save "
        "all settings as "
        'JSON in {target:path}. The key "override_applied" must say (true or false) whether the optional file existed; its absence is no '
        "error.",
    ),
    draw=_settings_draw,
    plan=_settings_plan,
    content=_settings_content,
    sources=("base", "override"),
    optional=("override",),
    targets=("target",),
    facts=settings_facts,
    outputs=settings_outputs,
    checks=settings_checks,
    described={
        "all_settings": "every setting is there",
        "values": "the settings have their values, those of the optional file first",
        "changed_setting": "the named setting has the new value",
        "says_if_overridden": "override_applied says whether the optional file existed",
    },
    rubric=(rubric.kept(weight=2.0), rubric.layout()),
    slips=(_settings_no_flag, _settings_assumed),
)


# --- write-script ---


def script_facts(p, files):
    return tidy(sum(number(row[p["column"]]) for row in table(files[p["source"]]) if number(row[p["column"]]) is not None))


def script_outputs(p, total):
    program = (
        "# Prints the sum of one column; the table may grow.\nimport csv\n\ntotal = 0.0\n"
        f"with open({p['source']!r}, newline='') as source:\n    for row in csv.DictReader(source):\n"
        f"        try:\n            total += float(row[{p['column']!r}])\n        except ValueError:\n            continue  # not a "
        f"number\n"
        "print(round(total, 2))\n"
    )
    return {p["script"]: program, p["target"]: f"{float(total)}\n"}


def script_checks(p, total, read, root):
    def printed(extra):
        """What the script prints in a copy of the workspace whose table has further rows."""
        with tempfile.TemporaryDirectory() as folder:
            for path in (p["script"], p["source"]):
                os.makedirs(os.path.dirname(os.path.join(folder, path)) or folder, exist_ok=True)
                shutil.copyfile(os.path.join(root, path), os.path.join(folder, path))
            columns = header(read(p["source"]))
            with open(os.path.join(folder, p["source"]), "a", encoding="utf-8") as sink:
                for value in extra:
                    sink.write(",".join(value if name == p["column"] else "x" for name in columns) + "\n")
            try:
                done = subprocess.run([sys.executable, p["script"]], cwd=folder, capture_output=True, text=True, timeout=10)
            except subprocess.TimeoutExpired:
                return ""
            return done.stdout.strip() if done.returncode == 0 else ""

    def follows():
        return close(printed(["17", "25"]), total + 42)

    return {
        "script_reads_table": lambda: p["source"].rsplit("/", 1)[-1] in read(p["script"]) and compile(read(p["script"]), "script", "exec"),
        "prints_sum": lambda: close(printed([]), total),
        "follows_new_rows": follows,
        "saved_result": lambda: close(read(p["target"]).strip(), total),
    }


def _script_draw(rng: random.Random, scene: Scene) -> Params:
    p = draw_table(rng, scene)
    word = f"{p['column']} {rng.choice(scene.things)}"
    return p | {
        "script": f"{rng.choice(('tools', 'scripts', 'bin'))}/{slug('sum ' + word, '_')}.py",
        "target": some_path(rng, f"{word} sum", "txt", folder=True),
    }


def _script_content(rng: random.Random, p: Params, path: str, text: str) -> str:
    rows = rows_from(rng, text)
    rng.choice(rows)[p["column"]] = rng.choice(("n/a", "-", ""))
    return csv_text(rows)


def _script_fixed(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    total = script_facts(p, files)
    return {p["script"]: f"# sum of {p['column']} in {p['source']}\nprint({total})\n"}


def _script_crashes(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    outputs = script_outputs(p, script_facts(p, files))
    program = outputs[p["script"]].replace("continue  # not a number", "raise")
    return {p["script"]: program, p["target"]: "see the script\n"}


write_script = Family(
    kind="write-script",
    operations=("write_script",),
    also=("read_file", "aggregate"),
    difficulty="hard",
    phrasings=(
        "Write a Python script {script:path} (standard library only) that reads {source:path}, relative to the working directory, and "
        "prints the sum of "
        "its {column:word} column, rounded to two decimals; cells that are no numbers are skipped. Save what it prints to {target:path}. "
        "The table will "
        "grow, so the script must compute the sum.",
        "I need {script:path}, a standard-library Python script run from the workspace folder: it sums the {column:word} column of "
        "{source:path}, skipping "
        "cells that are not numbers, and prints the sum with at most two decimals, also when rows are added later. Put today's result in "
        "{target:path}.",
    ),
    draw=_script_draw,
    plan=lambda rng, scene, p: table_spec(rng, scene, p, rng.randint(6, 10)),
    content=_script_content,
    sources=("source",),
    targets=("script", "target"),
    facts=script_facts,
    outputs=script_outputs,
    checks=script_checks,
    described={
        "script_reads_table": "the script is valid Python and reads the table",
        "prints_sum": "it prints the sum",
        "follows_new_rows": "it prints the new sum when rows are added",
        "saved_result": "the saved result is the sum",
    },
    rubric=(rubric.readable("script", weight=2.0), rubric.bare()),
    slips=(_script_fixed, _script_crashes),
    modules=("shutil", "subprocess", "sys", "tempfile"),
)


# --- update-state ---


def state_facts(p, files):
    state = json.loads(files[p["state"]])
    done = list(dict.fromkeys(state["processed"]))
    new = [row[p["key"]] for row in table(files[p["source"]])]
    if not new:
        raise ValueError("no entries")
    processed = list(dict.fromkeys(done + new))
    return {"old": done, "state": state | {"processed": processed, "count": len(processed)}}


def state_outputs(p, facts):
    return {p["state"]: to_json(facts["state"])}


def state_checks(p, facts, read, root):
    want = facts["state"]["processed"]
    fresh = set(want) - set(facts["old"])

    def got():
        value = json.loads(read(p["state"]))
        return value if isinstance(value, dict) else {}

    return {
        "new_added": lambda: fresh <= set(got()["processed"]),
        "old_kept": lambda: fresh & set(got()["processed"]) and got()["processed"][: len(facts["old"])] == facts["old"],
        "no_entry_twice": lambda: fresh & set(got()["processed"]) and len(set(got()["processed"])) == len(got()["processed"]),
        "count": lambda: got()["count"] == len(want),
        "exact": lambda: got() == facts["state"],
    }


def _state_draw(rng: random.Random, scene: Scene) -> Params:
    word = rng.choice(scene.things)
    return {"state": some_path(rng, f"{word} state", "json"), "source": some_path(rng, f"{word} new {scene.key}", "csv"), "key": scene.key}


def _state_plan(rng: random.Random, scene: Scene, p: Params) -> list[dict[str, str]]:
    things = rng.sample(scene.things, 8)
    field = rng.choice(scene.numeric())
    known = things[: rng.randint(2, 4)]
    fresh = things[1:8:1] if rng.random() < 0.3 else things[1:7]
    return [
        {"path": p["state"], "type": "json", "spec": spec("JSON state", processed=known, owner=VALUES["person"](rng))},
        {
            "path": p["source"],
            "type": "csv",
            "spec": spec("CSV table", header=[p["key"], field], rows=len(fresh) + 1, **{p["key"]: fresh, field: "2..300"}),
        },
    ]


def _state_content(rng: random.Random, p: Params, path: str, text: str) -> str:
    """The table names one entry twice and some that the state knows; the state is in one line and its count lags behind its list."""
    if path == p["state"]:
        parts = clauses(text)
        known = [name.strip() for name in parts["processed"].split(",")]
        return json.dumps({"owner": parts["owner"], "processed": known, "count": len(known) - 1}) + "\n"
    rows = rows_from(rng, text)
    rows[-1][p["key"]] = rows[-3][p["key"]]
    return csv_text(rows)


def _state_twice(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    state = json.loads(files[p["state"]])
    processed = state["processed"] + [row[p["key"]] for row in table(files[p["source"]])]
    return {p["state"]: to_json(state | {"processed": processed, "count": len(processed)})}


def _state_replaced(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    fresh = list(dict.fromkeys(row[p["key"]] for row in table(files[p["source"]])))
    return {p["state"]: to_json({"processed": fresh, "count": len(fresh)})}


update_state = Family(
    kind="update-state",
    operations=("update_state",),
    also=("read_file", "deduplicate"),
    difficulty="medium",
    phrasings=(
        'Update the state file {state:path}: append to its "processed" list each {key:word} of {source:path} that is not in it yet, in '
        "file order, and set "
        '"count" to the length of the list. Other keys stay. Doing it a second time must not change anything.',
        '{source:path} brings new entries. Add every {key:word} that the "processed" list of {state:path} does not know (file order, '
        "none twice), correct "
        '"count" to the list\'s length and leave the other keys alone; the update has to be idempotent.',
    ),
    draw=_state_draw,
    plan=_state_plan,
    content=_state_content,
    sources=("state", "source"),
    targets=("state",),
    modifies=("state",),
    facts=state_facts,
    outputs=state_outputs,
    checks=state_checks,
    described={
        "new_added": "every new entry is in the list",
        "old_kept": "the entries from before are still first, in their order",
        "no_entry_twice": "no entry is in the list twice",
        "count": "count is the length the list should have",
        "exact": "the list, the count and all other keys are exact",
    },
    rubric=(rubric.kept("state"), rubric.adds_up("state")),
    slips=(_state_twice, _state_replaced),
    weak_right=0.3,
)

FAMILIES = (validate_records, merge_settings, write_script, update_state)
