"""Families that work on CSV tables: filter, rank, convert, total, join, find outliers, remove duplicates, group."""

import json
import random

from clawgym.offline.families import rubric
from clawgym.offline.families.base import Family, Files, Params, clauses, csv_text, rows_from, spec
from clawgym.offline.families.portable import close, header, number, table, tidy, to_csv, to_json
from clawgym.offline.vocabulary import GROUPS, PEOPLE, Scene, some_path


def draw_table(rng: random.Random, scene: Scene, kind: str = "csv") -> Params:
    """What most of these families start from: a source table with a key, a group and a number column."""
    group = rng.choice([name for name in sorted(GROUPS) if name not in scene.fields and name != scene.key])
    column = rng.choice(scene.numeric())
    word = rng.choice((scene.topic, f"{rng.choice(scene.things)} {scene.key}", f"{scene.key} by {group}"))
    return {
        "source": some_path(rng, word, kind),
        "key": scene.key,
        "group": group,
        "column": column,
        "_high": rng.choice((60, 120, 300, 900)),
    }


def table_spec(rng: random.Random, scene: Scene, p: Params, rows: int, **more: object) -> list[dict[str, str]]:
    """File plan of that table; `more` adds columns."""
    names = rng.sample(scene.things, len(scene.things))
    columns = [p["key"], p["group"], p["column"], *more]
    clauses = {p["key"]: names, p["group"]: GROUPS[p["group"]], p["column"]: f"5..{p['_high']}"} | more
    text = spec("CSV table", header=columns, rows=rows, **clauses, variant=rng.randint(1, 9999))
    return [{"path": p["source"], "type": "csv", "spec": text}]


def plain_content(rng: random.Random, p: Params, path: str, text: str) -> str:
    return csv_text(rows_from(rng, text))


# --- filter-rows ---


def filter_facts(p, files):
    tests = {
        "at least": lambda value: value >= p["bound"],
        "above": lambda value: value > p["bound"],
        "at most": lambda value: value <= p["bound"],
        "below": lambda value: value < p["bound"],
    }
    return {
        "columns": header(files[p["source"]]),
        "kept": [
            row
            for row in table(files[p["source"]])
            if number(row[p["column"]]) is not None and tests[p["relation"]](number(row[p["column"]]))
        ],
        "edge": [row for row in table(files[p["source"]]) if number(row[p["column"]]) == p["bound"]],
    }


def filter_outputs(p, facts):
    return {p["target"]: to_csv(facts["columns"], facts["kept"])}


def filter_checks(p, facts, read, root):
    got = table(read(p["target"]))
    included = p["relation"] in ("at least", "at most")
    return {
        "header": lambda: header(read(p["target"])) == facts["columns"] and got,
        "kept_all": lambda: all(row in got for row in facts["kept"]) and got,
        "no_wrong_rows": lambda: got and all(row in facts["kept"] for row in got),
        "boundary": lambda: any(row in facts["kept"] for row in got) and all((row in got) == included for row in facts["edge"]),
        "order": lambda: got and got == facts["kept"],
    }


def _filter_draw(rng: random.Random, scene: Scene) -> Params:
    p = draw_table(rng, scene)
    bound = rng.randint(p["_high"] // 3, p["_high"] // 2)
    relation = rng.choice(("at least", "above", "at most", "below"))
    return p | {"bound": bound, "relation": relation, "target": some_path(rng, f"{relation} {bound} {p['column']}", "csv", folder=True)}


def _filter_content(rng: random.Random, p: Params, path: str, text: str) -> str:
    """At least two rows lie exactly on the bound, one well above and one well below."""
    rows = rows_from(rng, text)
    bound = int(p["bound"])
    for row, value in zip(rng.sample(rows, 4), (bound, bound, bound + 7, bound - 6), strict=True):
        row[p["column"]] = str(value)
    return csv_text(rows)


def _filtered(p: Params, files: Files, **changes: object) -> dict[str, str]:
    changed = p | changes
    return filter_outputs(changed, filter_facts(changed, files))


_NEIGHBOUR = {"at least": "above", "above": "at least", "at most": "below", "below": "at most"}
_OPPOSITE = {"at least": "below", "above": "at most", "at most": "above", "below": "at least"}

filter_rows = Family(
    kind="filter-rows",
    operations=("filter_rows",),
    also=("read_file",),
    difficulty="medium",
    phrasings=(
        "From {source:path}, keep only the rows whose {column:word} is {relation:relation} {bound:number}, in their order and with the "
        "same "
        "header, and save them as {target:path}.",
        "Filter {source:path}: only rows with {column:word} {relation:relation} {bound:number} go to {target:path}, header and order "
        "unchanged.",
        "Write {target:path}, a CSV with the header of {source:path} and, in the same order, just those of its rows where {column:word} is "
        "{relation:relation} {bound:number}.",
    ),
    draw=_filter_draw,
    plan=lambda rng, scene, p: table_spec(rng, scene, p, rng.randint(8, 16)),
    content=_filter_content,
    sources=("source",),
    targets=("target",),
    facts=filter_facts,
    outputs=filter_outputs,
    checks=filter_checks,
    described={
        "header": "the header is that of the source table",
        "kept_all": "every row that meets the condition is there",
        "no_wrong_rows": "no row that misses the condition is there",
        "boundary": "rows exactly on the bound are treated as the wording says",
        "order": "exactly the right rows, in their order",
    },
    rubric=(rubric.layout(), rubric.naming()),
    slips=(
        lambda rng, p, files: _filtered(p, files, relation=_NEIGHBOUR[p["relation"]]),
        lambda rng, p, files: _filtered(p, files, relation=_OPPOSITE[p["relation"]]),
        lambda rng, p, files: {p["target"]: "\n".join(filter_outputs(p, filter_facts(p, files))[p["target"]].split("\n")[1:])},
    ),
)


# --- rank-rows ---


def rank_facts(p, files):
    rows = sorted(table(files[p["source"]]), key=lambda row: (-number(row[p["column"]]), row[p["key"]].lower()))
    return [{"rank": i + 1, p["key"]: row[p["key"]], p["column"]: row[p["column"]]} for i, row in enumerate(rows[: p["n"]])]


def rank_outputs(p, facts):
    return {p["target"]: to_csv(["rank", p["key"], p["column"]], facts)}


def rank_checks(p, facts, read, root):
    got = table(read(p["target"]))
    return {
        "columns": lambda: header(read(p["target"])) == ["rank", p["key"], p["column"]] and got,
        "entries": lambda: got and {row[p["key"]] for row in got} == {row[p["key"]] for row in facts},
        "order": lambda: [row[p["key"]] for row in got] == [row[p["key"]] for row in facts],
        "values": lambda: (
            got
            and all(any(row[p["key"]] == want[p["key"]] and close(row[p["column"]], want[p["column"]]) for want in facts) for row in got)
        ),
        "ranks": lambda: [int(row["rank"]) for row in got] == [row["rank"] for row in facts],
    }


def _rank_draw(rng: random.Random, scene: Scene) -> Params:
    p = draw_table(rng, scene)
    n = rng.randint(3, 6)
    return p | {"n": n, "target": some_path(rng, f"top {n} {p['column']}", "csv", folder=True)}


def _rank_content(rng: random.Random, p: Params, path: str, text: str) -> str:
    """Two of the leading rows are tied."""
    rows = rows_from(rng, text)
    best = max(rows, key=lambda row: int(row[p["column"]]))
    rng.choice([row for row in rows if row is not best])[p["column"]] = best[p["column"]]
    return csv_text(rows)


def _rank_ascending(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    rows = sorted(table(files[p["source"]]), key=lambda row: number(row[p["column"]]))[: p["n"]]
    return rank_outputs(p, [row | {"rank": i + 1} for i, row in enumerate(rows)])


def _rank_one_short(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    return rank_outputs(p, rank_facts(p, files)[:-1])


def _rank_as_text(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    rows = sorted(table(files[p["source"]]), key=lambda row: row[p["column"]], reverse=True)[: p["n"]]
    return rank_outputs(p, [row | {"rank": i + 1} for i, row in enumerate(rows)])


rank_rows = Family(
    kind="rank-rows",
    operations=("rank", "sort_rows"),
    also=("read_file",),
    difficulty="medium",
    phrasings=(
        "Rank the rows of {source:path} by {column:word}, highest first, and save the top {n:int} as {target:path}: a CSV with the "
        "columns rank, "
        "{key:word} and {column:word}. Break ties by {key:word} in alphabetical order.",
        "Which {n:int} rows of {source:path} have the highest {column:word}? Write them to {target:path} as CSV with the columns rank "
        "(from 1), "
        "{key:word}, {column:word}; equal values go in alphabetical order of {key:word}.",
    ),
    draw=_rank_draw,
    plan=lambda rng, scene, p: table_spec(rng, scene, p, rng.randint(9, 15)),
    content=_rank_content,
    sources=("source",),
    targets=("target",),
    facts=rank_facts,
    outputs=rank_outputs,
    checks=rank_checks,
    described={
        "columns": "the three columns are there in the given order",
        "entries": "exactly the top entries are listed",
        "order": "entries are in rank order, ties alphabetical",
        "values": "every listed entry has its value from the source",
        "ranks": "ranks count from 1",
    },
    rubric=(rubric.layout(), rubric.adds_up()),
    slips=(_rank_ascending, _rank_one_short, _rank_as_text),
)


# --- convert-table ---


def convert_facts(p, files):
    rows = []
    for row in table(files[p["source"]]):
        day, month, year = row[p["date"]].split("/")
        value = tidy(number(row[p["column"]]))
        rows.append(row | {p["column"]: value, p["date"]: f"{year}-{int(month):02d}-{int(day):02d}"})
    return rows


def convert_outputs(p, rows):
    return {p["target"]: to_json(rows)}


def convert_checks(p, rows, read, root):
    def got():
        value = json.loads(read(p["target"]))
        return value if isinstance(value, list) and value and len(value) == len(rows) else [{}]

    return {
        "one_object_per_row": lambda: len(got()) == len(rows) and all(isinstance(row, dict) for row in got()),
        "keys": lambda: all(set(row) == set(rows[0]) for row in got()),
        "numbers": lambda: all(
            not isinstance(g[p["column"]], str) and close(g[p["column"]], w[p["column"]]) for g, w in zip(got(), rows, strict=True)
        ),
        "dates": lambda: all(g[p["date"]] == w[p["date"]] for g, w in zip(got(), rows, strict=True)),
        "order_and_texts": lambda: all(
            g[name] == w[name] for g, w in zip(got(), rows, strict=True) for name in w if name not in (p["column"], p["date"])
        ),
    }


def _convert_draw(rng: random.Random, scene: Scene) -> Params:
    p = draw_table(rng, scene)
    date = next((name for name, type_ in scene.fields.items() if type_ == "date"), "updated")
    return p | {"date": date, "target": some_path(rng, f"{p['key']} {p['column']} export", "json", folder=True)}


def _convert_content(rng: random.Random, p: Params, path: str, text: str) -> str:
    """Dates as DD/MM/YYYY; days up to 12 are common, so that day and month can be mistaken."""
    rows = rows_from(rng, text)
    for row in rows:
        row[p["date"]] = f"{rng.randint(1, 14):02d}/{rng.randint(1, 12):02d}/{rng.randint(2023, 2026)}"
    return csv_text(rows)


def _convert_swapped(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    rows = convert_facts(p, files)
    swapped = [row | {p["date"]: "-".join((row[p["date"]][:4], row[p["date"]][8:], row[p["date"]][5:7]))} for row in rows]
    return convert_outputs(p, [row | {p["column"]: str(row[p["column"]])} for row in swapped])


convert_table = Family(
    kind="convert-table",
    operations=("convert_format", "normalise_values"),
    also=("read_file",),
    difficulty="medium",
    phrasings=(
        "Convert {source:path} to a JSON array of objects, one per row and in order, and save it as {target:path}. Keys are the column "
        "names; "
        "{column:word} becomes a number and {date:word}, which the table has as DD/MM/YYYY, becomes YYYY-MM-DD.",
        "Write {target:path}: the rows of {source:path} as a JSON list of objects in the same order, keyed by the header, with "
        "{column:word} as a "
        "number and {date:word} rewritten from DD/MM/YYYY to YYYY-MM-DD.",
    ),
    draw=_convert_draw,
    plan=lambda rng, scene, p: table_spec(rng, scene, p, rng.randint(5, 9), **{p["date"]: "date"}),
    content=_convert_content,
    sources=("source",),
    targets=("target",),
    facts=convert_facts,
    outputs=convert_outputs,
    checks=convert_checks,
    described={
        "one_object_per_row": "a JSON array with one object per row",
        "keys": "the keys are the column names",
        "numbers": "the number column holds JSON numbers with the right values",
        "dates": "dates are rewritten as YYYY-MM-DD",
        "order_and_texts": "the other values are unchanged and in order",
    },
    rubric=(rubric.layout(weight=2.0), rubric.naming()),
    slips=(
        _convert_swapped,
        lambda rng, p, files: {p["target"]: to_json(table(files[p["source"]]))},
        lambda rng, p, files: {p["target"]: to_json({row[p["column"]]: row for row in table(files[p["source"]])})},
    ),
    weak_right=0.2,
)


# --- group-totals ---


def totals_facts(p, files):
    sums = {}
    for row in table(files[p["source"]]):
        if row[p["mark"]].lower() != p["skip"].lower():
            sums[row[p["group"]]] = sums.get(row[p["group"]], 0) + number(row[p["column"]])
    return {name: tidy(sums[name]) for name in sorted(sums)} | {"total": tidy(sum(sums.values()))}


def totals_outputs(p, facts):
    return {p["target"]: to_json(facts)}


def totals_checks(p, facts, read, root):
    def got():
        value = json.loads(read(p["target"]))
        return value if isinstance(value, dict) else {}

    groups = [name for name in facts if name != "total"]
    return {
        "groups": lambda: set(groups) <= set(got()) <= set(facts),
        "some_sum": lambda: any(close(got().get(name), facts[name]) for name in groups),
        "all_sums": lambda: all(close(got().get(name), facts[name]) for name in groups),
        "total": lambda: close(got()["total"], facts["total"]),
    }


def _totals_draw(rng: random.Random, scene: Scene) -> Params:
    p = draw_table(rng, scene)
    mark, skip = rng.choice((("state", "cancelled"), ("check", "void"), ("note", "duplicate"), ("stage", "draft")))
    return p | {
        "mark": mark,
        "skip": skip,
        "_values": ["ok", "fine", skip],
        "target": some_path(rng, f"{p['column']} per {p['group']}", "json", folder=True),
    }


def _totals_content(rng: random.Random, p: Params, path: str, text: str) -> str:
    """Every group has a row to skip and a row to count."""
    rows = rows_from(rng, text)
    seen: dict[str, int] = {}
    for row in rows:
        seen[row[p["group"]]] = seen.get(row[p["group"]], 0) + 1
        if seen[row[p["group"]]] == 1:
            row[p["mark"]] = "ok"
        elif seen[row[p["group"]]] == 2:
            row[p["mark"]] = p["skip"]
    return csv_text(rows)


def _totals_unskipped(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    return totals_outputs(p, totals_facts(p | {"skip": "-"}, files))


def _totals_forgotten(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    return totals_outputs(p, {name: value for name, value in totals_facts(p, files).items() if name != "total"})


def _totals_counts(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    rows = table(files[p["source"]])
    groups = sorted({row[p["group"]] for row in rows})
    return totals_outputs(p, {name: sum(row[p["group"]] == name for row in rows) for name in groups} | {"total": len(rows)})


group_totals = Family(
    kind="group-totals",
    operations=("aggregate",),
    also=("read_file", "filter_rows"),
    difficulty="medium",
    phrasings=(
        "Add up {column:word} per {group:word} in {source:path} and write the sums to {target:path} as one JSON object: a key for each "
        "{group:word} "
        'and a key "total" for all of them. Leave out rows whose {mark:word} is {skip:word}.',
        "Ignoring rows where {mark:word} is {skip:word}, what does {column:word} come to for each {group:word} of {source:path}? Save a "
        "JSON object "
        'with one key per {group:word}, and the grand total under "total", as {target:path}.',
    ),
    draw=_totals_draw,
    plan=lambda rng, scene, p: table_spec(rng, scene, p, rng.randint(14, 22), **{p["mark"]: p["_values"]}),
    content=_totals_content,
    sources=("source",),
    targets=("target",),
    facts=totals_facts,
    outputs=totals_outputs,
    checks=totals_checks,
    described={
        "groups": "a JSON object with a key for each group and no others but total",
        "some_sum": "at least one group has its right sum",
        "all_sums": "every group has its right sum, rows to leave out left out",
        "total": "the total over all groups is right",
    },
    rubric=(rubric.layout(), rubric.adds_up(weight=2.0)),
    slips=(_totals_unskipped, _totals_forgotten, _totals_counts),
)


# --- join-tables ---


def join_facts(p, files):
    right = {row[p["key"]]: row[p["b"]] for row in table(files[p["right"]])}
    return [{p["key"]: row[p["key"]], p["a"]: row[p["a"]], p["b"]: right.get(row[p["key"]], "")} for row in table(files[p["left"]])]


def join_outputs(p, facts):
    return {p["target"]: to_csv([p["key"], p["a"], p["b"]], facts)}


def join_checks(p, facts, read, root):
    got = {row.get(p["key"]): row for row in table(read(p["target"]))}
    matched = [row for row in facts if row[p["b"]]]
    unmatched = [row for row in facts if not row[p["b"]]]
    return {
        "columns": lambda: header(read(p["target"])) == [p["key"], p["a"], p["b"]] and got,
        "all_rows": lambda: got and set(got) == {row[p["key"]] for row in facts},
        "matched": lambda: all(got[row[p["key"]]] == row for row in matched) and got,
        "unmatched_empty": lambda: all(got[row[p["key"]]] == row for row in unmatched) and got,
    }


def _join_draw(rng: random.Random, scene: Scene) -> Params:
    a = rng.choice([name for name, type_ in scene.fields.items() if type_ in ("person", "place", "room")] or ["owner"])
    b = rng.choice(scene.numeric())
    first, second = rng.sample(scene.things, 2)
    return {
        "left": some_path(rng, f"{scene.key} {a}", "csv"),
        "right": some_path(rng, f"{scene.key} {b} {second}", "csv"),
        "key": scene.key,
        "a": a,
        "b": b,
        "target": some_path(rng, f"joined {first}", "csv", folder=True),
    }


def _join_plan(rng: random.Random, scene: Scene, p: Params) -> list[dict[str, str]]:
    things = rng.sample(scene.things, 8)
    left = rng.sample(things[:7], 7)
    right = rng.sample(things[2:], 6)
    return [
        {
            "path": p["left"],
            "type": "csv",
            "spec": spec("CSV table", header=[p["key"], p["a"]], rows=7, **{p["key"]: left, p["a"]: scene.fields.get(p["a"], "person")}),
        },
        {
            "path": p["right"],
            "type": "csv",
            "spec": spec("CSV table", header=[p["key"], p["b"]], rows=6, **{p["key"]: right, p["b"]: "5..400"}),
        },
    ]


join_tables = Family(
    kind="join-tables",
    operations=("join_tables",),
    also=("read_file", "handle_missing"),
    difficulty="hard",
    phrasings=(
        "Join {left:path} with {right:path} on {key:word} and save the result as {target:path} with the columns {key:word}, {a:word} and "
        "{b:word}. "
        "Keep every row of the first table; where the second has no match, leave {b:word} empty.",
        "For each row of {left:path}, look up its {key:word} in {right:path}. Write {target:path} as CSV with {key:word}, {a:word}, "
        "{b:word}; rows "
        "without a match stay, with {b:word} empty.",
    ),
    draw=_join_draw,
    plan=_join_plan,
    content=plain_content,
    sources=("left", "right"),
    targets=("target",),
    facts=join_facts,
    outputs=join_outputs,
    checks=join_checks,
    described={
        "columns": "the three columns are there in the given order",
        "all_rows": "every entry of the first table is there, and no other",
        "matched": "matched rows carry both values",
        "unmatched_empty": "rows without a match are kept with an empty cell",
    },
    rubric=(rubric.layout(), rubric.naming()),
    slips=(
        lambda rng, p, files: join_outputs(p, [row for row in join_facts(p, files) if row[p["b"]]]),
        lambda rng, p, files: join_outputs(p, [row | {p["b"]: row[p["b"]] or "0"} for row in join_facts(p, files)]),
        lambda rng, p, files: {p["target"]: files[p["left"]]},
    ),
)


# --- find-outliers ---


def outlier_facts(p, files):
    rows = table(files[p["source"]])
    values = sorted(number(row[p["column"]]) for row in rows)
    half = len(values) // 2
    median = values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2
    far = [row[p["key"]] for row in rows if abs(number(row[p["column"]]) - median) > median * p["percent"] / 100]
    return {"median": tidy(median), "flagged": far}


def outlier_outputs(p, facts):
    return {p["target"]: to_json(facts)}


def outlier_checks(p, facts, read, root):
    def got():
        value = json.loads(read(p["target"]))
        return value if isinstance(value, dict) else {}

    return {
        "median": lambda: close(got()["median"], facts["median"]),
        "all_flagged": lambda: got()["flagged"] and set(facts["flagged"]) <= set(got()["flagged"]),
        "none_wrongly": lambda: got()["flagged"] and set(got()["flagged"]) <= set(facts["flagged"]),
        "order": lambda: got()["flagged"] == facts["flagged"],
    }


def _outlier_draw(rng: random.Random, scene: Scene) -> Params:
    p = draw_table(rng, scene)
    return p | {"percent": rng.choice((30, 40, 50, 60)), "target": some_path(rng, f"unusual {p['column']}", "json", folder=True)}


def _outlier_content(rng: random.Random, p: Params, path: str, text: str) -> str:
    """An odd number of rows near a middle value, two far above it, one far below and one exactly on the limit."""
    rows = rows_from(rng, text)
    rows = rows if len(rows) % 2 else rows[:-1]
    middle, limit = 100, int(p["percent"])
    order = rng.sample(range(len(rows)), len(rows))
    spread = max(4, limit // 4)
    near = [middle] + [middle + side * rng.randint(1, spread) for side in (1, -1) for _ in range(len(rows))]
    high = [middle + limit + 45, middle + limit + 120]
    low = [middle - limit - 15]
    below = (len(rows) - 1) // 2 - len(low)
    above = (len(rows) - 1) // 2 - len(high) - 1
    values = [middle, *high, middle + limit, *low, *near[1 : 1 + above], *near[1 + len(rows) : 1 + len(rows) + below]]
    for i, value in zip(order, values, strict=True):
        rows[i][p["column"]] = str(value)
    return csv_text(rows)


def _outlier_mean(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    rows = table(files[p["source"]])
    mean = sum(number(row[p["column"]]) for row in rows) / len(rows)
    far = [row[p["key"]] for row in rows if number(row[p["column"]]) > mean * (1 + p["percent"] / 100)]
    return outlier_outputs(p, {"median": tidy(mean), "flagged": far})


def _outlier_edge(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    facts = outlier_facts(p, files)
    edge = facts["median"] * (1 + p["percent"] / 100)
    also = [row[p["key"]] for row in table(files[p["source"]]) if number(row[p["column"]]) >= edge]
    return outlier_outputs(p, {"flagged": sorted(also)})


find_outliers = Family(
    kind="find-outliers",
    operations=("detect_anomalies",),
    also=("read_file", "aggregate"),
    difficulty="hard",
    phrasings=(
        "In {source:path}, flag every row whose {column:word} is more than {percent:int} percent away from the median {column:word}, "
        "above or below. "
        'Write {target:path} as JSON with "median" and "flagged", the list of {key:word} values in file order.',
        "Some {column:word} values in {source:path} look wrong. Take the median, list each {key:word} that is off by more than "
        "{percent:int} percent "
        'in either direction (file order), and save both as JSON, {"median": …, "flagged": […]}, to {target:path}.',
    ),
    draw=_outlier_draw,
    plan=lambda rng, scene, p: table_spec(rng, scene, p, rng.choice((9, 11, 13, 15))),
    content=_outlier_content,
    sources=("source",),
    targets=("target",),
    facts=outlier_facts,
    outputs=outlier_outputs,
    checks=outlier_checks,
    described={
        "median": "the median is right",
        "all_flagged": "every value beyond the limit is flagged",
        "none_wrongly": "no value within the limit is flagged",
        "order": "the flagged entries are exact and in file order",
    },
    rubric=(rubric.layout(), rubric.naming()),
    slips=(_outlier_mean, _outlier_edge),
)


# --- remove-duplicates ---


def unique_facts(p, files):
    seen, kept = set(), []
    rows = table(files[p["source"]])
    for row in rows:
        name = " ".join(row[p["key"]].lower().split())
        if name not in seen:
            seen.add(name)
            kept.append(row)
    return {"columns": header(files[p["source"]]), "kept": kept, "removed": len(rows) - len(kept)}


def unique_outputs(p, facts):
    return {p["target"]: to_csv(facts["columns"], facts["kept"]), p["count"]: f"{facts['removed']}\n"}


def unique_checks(p, facts, read, root):
    got = table(read(p["target"]))
    names = [" ".join(row[p["key"]].lower().split()) for row in got]
    return {
        "unique": lambda: names and len(set(names)) == len(names) and len(names) <= len(facts["kept"]),
        "none_lost": lambda: names and set(names) == {" ".join(row[p["key"]].lower().split()) for row in facts["kept"]},
        "first_kept": lambda: got == facts["kept"] and header(read(p["target"])) == facts["columns"],
        "count": lambda: int(read(p["count"]).strip()) == facts["removed"],
    }


def _unique_draw(rng: random.Random, scene: Scene) -> Params:
    p = draw_table(rng, scene)
    return p | {
        "target": some_path(rng, f"unique {p['key']}", "csv", folder=True),
        "count": some_path(rng, f"removed {p['key']}", "txt", folder=True),
    }


def _unique_content(rng: random.Random, p: Params, path: str, text: str) -> str:
    """Three to five rows come again further down, in other letters or with more spaces, and with another number."""
    rows = rows_from(rng, text)
    column = list(rows[0])[-1]
    for row in rng.sample(rows, min(len(rows), rng.randint(3, 5))):
        name = row[p["key"]]
        again = rng.choice((name.upper(), name.title(), name.replace(" ", "  "), name))
        more = str(int(row[column]) + rng.randint(1, 9))
        rows.insert(rng.randint(rows.index(row) + 1, len(rows)), row | {p["key"]: again, column: more})
    return csv_text(rows)


def _unique_case(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    rows = table(files[p["source"]])
    kept = list({row[p["key"]]: row for row in reversed(rows)}.values())[::-1]
    return {p["target"]: to_csv(header(files[p["source"]]), kept), p["count"]: f"{len(rows) - len(kept)}\n"}


def _unique_last(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    facts = unique_facts(p, files)
    last = {" ".join(row[p["key"]].lower().split()): row for row in table(files[p["source"]])}
    return {p["target"]: to_csv(facts["columns"], list(last.values())), p["count"]: f"removed: {facts['removed']}\n"}


remove_duplicates = Family(
    kind="remove-duplicates",
    operations=("deduplicate",),
    also=("read_file", "normalise_values"),
    difficulty="medium",
    phrasings=(
        "{source:path} lists some entries more than once. Keep the first row for each {key:word}, where letter case and extra spaces "
        "make no "
        "difference, and save the table with its header as {target:path}. Write the number of removed rows to {count:path}.",
        "Remove repeated rows from {source:path}: two rows are the same if their {key:word} differs only in letter case or spaces, and "
        "the first one "
        "stays as it is. The result goes to {target:path}, how many rows were dropped (just the number) to {count:path}.",
    ),
    draw=_unique_draw,
    plan=lambda rng, scene, p: table_spec(rng, scene, p, rng.randint(6, 8)),
    content=_unique_content,
    sources=("source",),
    targets=("target", "count"),
    facts=unique_facts,
    outputs=unique_outputs,
    checks=unique_checks,
    described={
        "unique": "no entry appears twice",
        "none_lost": "every entry is still there",
        "first_kept": "the first row of each entry is kept unchanged, in order, under the same header",
        "count": "the number of removed rows is right",
    },
    rubric=(rubric.layout(), rubric.bare("count")),
    slips=(_unique_case, _unique_last),
)


# --- group-items ---


def groups_facts(p, files):
    groups = {}
    for row in table(files[p["source"]]):
        groups.setdefault(row[p["group"]], []).append(row[p["key"]])
    return {name: sorted(groups[name], key=str.lower) for name in sorted(groups)}


def groups_outputs(p, facts):
    return {p["target"]: to_json(facts)}


def groups_checks(p, facts, read, root):
    def got():
        value = json.loads(read(p["target"]))
        return value if isinstance(value, dict) else {}

    return {
        "groups": lambda: set(got()) == set(facts),
        "none_lost": lambda: {x for items in facts.values() for x in items} == {x for items in got().values() for x in items},
        "membership": lambda: all(set(got()[name]) == set(facts[name]) for name in facts),
        "sorted": lambda: all(got()[name] == facts[name] for name in facts),
    }


def _groups_draw(rng: random.Random, scene: Scene) -> Params:
    p = draw_table(rng, scene)
    return p | {"target": some_path(rng, f"{p['key']} grouped", "json", folder=True)}


def _groups_unsorted(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    groups: dict[str, list[str]] = {}
    for row in reversed(table(files[p["source"]])):
        groups.setdefault(row[p["group"]].title(), []).append(row[p["key"]])
    return groups_outputs(p, groups)


def _groups_lost(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    return groups_outputs(p, {name: items[:1] for name, items in groups_facts(p, files).items()})


group_items = Family(
    kind="group-items",
    operations=("group_items",),
    also=("read_file", "sort_rows"),
    difficulty="medium",
    phrasings=(
        "Group the entries of {source:path} by {group:word}: write {target:path}, a JSON object in which each {group:word} has the list "
        "of its "
        "{key:word} values in alphabetical order.",
        "Sort out {source:path} by {group:word}. The result is one JSON object, {target:path}: for every {group:word} an alphabetical "
        "list of its "
        "{key:word} values.",
    ),
    draw=_groups_draw,
    plan=lambda rng, scene, p: table_spec(rng, scene, p, rng.randint(9, 14)),
    content=plain_content,
    sources=("source",),
    targets=("target",),
    facts=groups_facts,
    outputs=groups_outputs,
    checks=groups_checks,
    described={
        "groups": "a JSON object with exactly the groups of the table",
        "none_lost": "every entry is in some group and nothing was added",
        "membership": "every entry is in its group",
        "sorted": "the lists are in alphabetical order",
    },
    rubric=(rubric.layout(), rubric.adds_up()),
    slips=(_groups_unsorted, _groups_lost),
    weak_right=0.32,
)


# --- cross-check ---


def cross_facts(p, files):
    left = {row[p["key"]]: row[p["column"]] for row in table(files[p["left"]])}
    right = {row[p["key"]]: row[p["column"]] for row in table(files[p["right"]])}
    problems = []
    for name in sorted(left.keys() | right.keys()):
        if name not in right:
            problems.append({p["key"]: name, "problem": "missing"})
        elif name not in left:
            problems.append({p["key"]: name, "problem": "extra"})
        elif not close(left[name], right[name]):
            problems.append({p["key"]: name, "problem": "mismatch"})
    return problems


def cross_outputs(p, facts):
    return {p["target"]: to_csv([p["key"], "problem"], facts)}


def cross_checks(p, facts, read, root):
    got = table(read(p["target"]))

    def names(rows, problem):
        return sorted(row[p["key"]] for row in rows if row["problem"].lower() == problem)

    return {
        "missing": lambda: got and names(got, "missing") == names(facts, "missing"),
        "extra": lambda: got and names(got, "extra") == names(facts, "extra"),
        "mismatch": lambda: got and names(got, "mismatch") == names(facts, "mismatch"),
        "sorted_table": lambda: header(read(p["target"])) == [p["key"], "problem"] and got == facts,
    }


def _cross_draw(rng: random.Random, scene: Scene) -> Params:
    column = rng.choice(scene.numeric())
    person = rng.choice(PEOPLE).split()[0]
    return {
        "left": some_path(rng, f"{scene.key} {column} list", "csv"),
        "right": some_path(rng, f"{person} {scene.key} copy", "csv"),
        "key": scene.key,
        "column": column,
        "target": some_path(rng, f"{scene.key} {column} differences", "csv", folder=True),
    }


def _cross_plan(rng: random.Random, scene: Scene, p: Params) -> list[dict[str, str]]:
    things = rng.sample(scene.things, 8)
    values = dict(zip(things, (rng.randint(20, 400) for _ in things), strict=True))
    other = dict(values)
    del values[things[0]], other[things[1]], other[things[2]]
    for name in things[3:5]:
        other[name] += rng.choice((-9, -3, 1, 4, 12))
    return [
        {
            "path": p[side],
            "type": "csv",
            "spec": spec(f"CSV table of {p['key']} and {p['column']}", **dict(rng.sample(sorted(pairs.items()), len(pairs)))),
        }
        for side, pairs in (("left", values), ("right", other))
    ]


def _cross_content(rng: random.Random, p: Params, path: str, text: str) -> str:
    return csv_text([{p["key"]: name, p["column"]: value} for name, value in clauses(text).items()])


def _cross_one_way(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    return cross_outputs(p, [row for row in cross_facts(p, files) if row["problem"] != "extra"])


def _cross_keys_only(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    swap = {"missing": "extra", "extra": "missing", "mismatch": "mismatch"}
    return cross_outputs(p, [row | {"problem": swap[row["problem"]]} for row in reversed(cross_facts(p, files))])


cross_check = Family(
    kind="cross-check",
    operations=("cross_check",),
    also=("read_file", "compare"),
    difficulty="hard",
    phrasings=(
        "Cross-check {left:path} against {right:path} by {key:word}. Write {target:path} as CSV with the columns {key:word} and problem, "
        "sorted by "
        "{key:word}: missing if the second file lacks the entry, extra if only the second has it, mismatch if {column:word} differs. "
        "Entries that "
        "agree are not listed.",
        "Do {left:path} and {right:path} agree? List every {key:word} that does not in {target:path} (CSV: {key:word}, problem; sorted by "
        "{key:word}), where problem is missing (not in the second file), extra (not in the first) or mismatch (another {column:word}).",
    ),
    draw=_cross_draw,
    plan=_cross_plan,
    content=_cross_content,
    sources=("left", "right"),
    targets=("target",),
    facts=cross_facts,
    outputs=cross_outputs,
    checks=cross_checks,
    described={
        "missing": "exactly the entries that the second file lacks are called missing",
        "extra": "exactly the entries that only the second file has are called extra",
        "mismatch": "exactly the entries with different values are called mismatch",
        "sorted_table": "the table has the two columns and is sorted",
    },
    rubric=(rubric.layout(), rubric.adds_up()),
    slips=(_cross_one_way, _cross_keys_only),
)

FAMILIES = (
    filter_rows,
    rank_rows,
    convert_table,
    group_totals,
    join_tables,
    find_outliers,
    remove_duplicates,
    group_items,
    cross_check,
)
