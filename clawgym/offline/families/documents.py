"""Families that work on documents: meeting actions with a message, log summaries, version comparison, filing by rule."""

import json
import random
import re

from clawgym.offline.families import rubric
from clawgym.offline.families.base import Family, Files, Params, Rule, clauses, rows_from, spec
from clawgym.offline.families.portable import header, key_values, table, to_csv, to_json, within
from clawgym.offline.vocabulary import PEOPLE, VALUES, Scene, slug, some_path

# --- meeting-actions ---


def actions_facts(p, files):
    found = re.findall(r"^ACTION: (.+?) \| (.+?) \| due (\d{4}-\d{2}-\d{2})\s*$", files[p["source"]], re.M)
    rows = sorted(({"owner": owner, "task": task, "due": due} for owner, task, due in found), key=lambda row: (row["due"], row["owner"]))
    return {"rows": rows, "first": rows[0]["due"], "title": files[p["source"]].splitlines()[0].lstrip("# ").strip()}


def actions_outputs(p, facts):
    lines = [f"- {row['owner']}: {row['task']} by {row['due']}" for row in facts["rows"]]
    first = facts["rows"][0]
    message = (
        f"Hello team,\n\nthank you for the talk about {facts['title'].lower()}. These are the actions we agreed on:\n\n"
        + "\n".join(lines)
        + f"\n\nThe next date is {first['due']}, so {first['owner']} goes first. "
        "Please tell me today if a date cannot be kept.\n\nKind regards\n"
    )
    listed = "Hello team,\n\nthank you, please note:\n\n" + "\n".join(lines) + "\n\nKind regards\n"
    owners = ", ".join(row["owner"] for row in facts["rows"])
    brief = f"Hello team, please see the table, thank you: {owners}. The first date is {first['due']}. Kind regards\n"
    return {p["target"]: to_csv(["owner", "task", "due"], facts["rows"]), p["message"]: within(p["limit"], message, listed, brief)}


def actions_checks(p, facts, read, root):
    got = table(read(p["target"]))
    owners = {row["owner"] for row in facts["rows"]}
    return {
        "columns": lambda: header(read(p["target"])) == ["owner", "task", "due"] and got,
        "all_actions": lambda: sorted(map(str, got)) == sorted(map(str, facts["rows"])),
        "sorted": lambda: (
            got
            and {row["due"] for row in got} == {row["due"] for row in facts["rows"]}
            and [row["due"] for row in got] == sorted(row["due"] for row in got)
        ),
        "message_names_owners": lambda: all(name.split()[0].lower() in read(p["message"]).lower() for name in owners),
        "message_first_date": lambda: facts["first"] in read(p["message"]),
        "message_length": lambda: len(read(p["message"]).strip().split()) <= p["limit"] and len(read(p["message"]).split()) >= 12,
    }


def _actions_draw(rng: random.Random, scene: Scene) -> Params:
    thing = rng.choice(scene.things)
    return {
        "source": some_path(rng, f"{thing} minutes", "md"),
        "target": some_path(rng, f"{thing} actions", "csv", folder=True),
        "message": some_path(rng, f"{thing} message", "md", folder=True),
        "limit": rng.choice((110, 120, 130, 140)),
        "_thing": thing,
    }


_DUTIES = (
    "send the {thing} figures",
    "book a room for the {thing}",
    "check the {thing} costs",
    "ask {place} about the {thing}",
    "print the {thing} list",
    "update the {thing} plan",
    "call the {thing} supplier",
    "draft the {thing} budget",
)


def _actions_plan(rng: random.Random, scene: Scene, p: Params) -> list[dict[str, str]]:
    n = rng.randint(3, 5)
    owners = rng.sample(PEOPLE, n)
    duties = [duty.format(thing=p["_thing"], place=VALUES["place"](rng)) for duty in rng.sample(_DUTIES, n)]
    text = spec(
        "Minutes in Markdown",
        title=f"{p['_thing'].capitalize()} meeting",
        talk=scene.topic,
        owners=owners,
        tasks=duties,
        year=rng.randint(2024, 2026),
    )
    return [{"path": p["source"], "type": "markdown", "spec": text}]


def _actions_content(rng: random.Random, p: Params, path: str, text: str) -> str:
    parts = clauses(text)
    owners, tasks = ([x.strip() for x in parts[name].split(",")] for name in ("owners", "tasks"))
    days = rng.sample(range(1, 28), len(owners))
    actions = [
        f"ACTION: {who} | {what} | due {parts['year']}-{rng.randint(3, 5):02d}-{day:02d}"
        for who, what, day in zip(owners, tasks, days, strict=True)
    ]
    talk = [f"{who.split()[0]} reported on {parts['talk']} and answered questions." for who in owners]
    body = [line for pair in zip(talk, actions, strict=True) for line in (pair if rng.random() < 0.6 else pair[::-1])]
    return f"# {parts['title']}\n\nPresent: {', '.join(owners)}\n\n" + "\n".join(body) + "\n\nThe idea of a summer party was put off.\n"


def _actions_no_message(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    facts = actions_facts(p, files)
    return {p["target"]: actions_outputs(p, facts | {"rows": facts["rows"][::-1]})[p["target"]]}


def _actions_loose(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    facts = actions_facts(p, files)
    table_text = to_csv(["owner", "task", "due"], facts["rows"][1:])
    message = "Hello all, everyone has something to do, see the table. " + "More details will follow soon. " * 30
    return {p["target"]: table_text, p["message"]: message}


meeting_actions = Family(
    kind="meeting-actions",
    operations=("draft_message",),
    also=("read_file", "extract_field", "sort_rows"),
    difficulty="hard",
    phrasings=(
        "Read the minutes in {source:path}. Write every line marked ACTION to {target:path} as CSV with owner, task and due, earliest "
        "due date first. "
        "Then draft {message:path}, a friendly message to the team of at most {limit:int} words that names each owner and the first due "
        "date.",
        "The minutes {source:path} hold ACTION lines. Collect them in {target:path} (CSV: owner, task, due; sorted by due) and write a "
        "message to the "
        "team in {message:path}: polite, no more than {limit:int} words, with each owner and the earliest due date in it.",
    ),
    draw=_actions_draw,
    plan=_actions_plan,
    content=_actions_content,
    sources=("source",),
    targets=("target", "message"),
    facts=actions_facts,
    outputs=actions_outputs,
    checks=actions_checks,
    described={
        "columns": "the table has owner, task and due",
        "all_actions": "every action of the minutes is in the table, unchanged",
        "sorted": "the table is sorted by due date",
        "message_names_owners": "the message names each owner",
        "message_first_date": "the message gives the earliest due date",
        "message_length": "the message keeps to the word limit and is not empty",
    },
    slips=(_actions_no_message, _actions_loose),
    rubric=(
        Rule("tone", "The message has a polite tone: it greets the team, thanks or asks, and closes.", "message", 1.0,
             ("no message", "blunt, no greeting and no closing", "either a greeting or a closing", "greeting and closing, little courtesy",
              "greeting, thanks or a request, and a closing")),
        Rule("structure", "The actions in the message have a clear structure: one line or bullet each.", "message", 1.0,
             ("no message", "one block of text", "some line breaks, actions run together", "a list with some entries unclear",
              "one line or bullet for each action")),
        Rule("specific", "The message is specific: it names people, tasks and dates instead of general remarks.", "message", 2.0,
             ("no message", "general remarks only", "names or dates, not both", "names and dates for some actions",
              "names and dates for every action")),
    ),
)  # fmt: skip


# --- summarise-log ---


def log_facts(p, files):
    lines = re.findall(r"^\S+ (INFO|WARN|ERROR) ([\w-]+): (.*)$", files[p["source"]], re.M)
    errors = {}
    for level, part, _ in lines:
        if level == "ERROR":
            errors[part] = errors.get(part, 0) + 1
    worst = min(errors, key=lambda part: (-errors[part], part))
    return {
        "errors": sum(errors.values()),
        "warnings": sum(level == "WARN" for level, _, _ in lines),
        "worst": worst,
        "of_worst": errors[worst],
    }


def log_outputs(p, facts):
    text = (
        f"# Log summary\n\n- Errors: {facts['errors']}\n- Warnings: {facts['warnings']}\n"
        f"- Most errors: {facts['worst']} ({facts['of_worst']})\n\n## Recommendation\n\n"
        f"Please look at {facts['worst']} first, because it causes {facts['of_worst']} of the {facts['errors']} errors. "
        "Restart it and read its latest messages. INFO lines are left out here; the log does not show causes.\n"
    )
    brief = (
        f"# Log summary\n\n- Errors: {facts['errors']}\n- Warnings: {facts['warnings']}\n"
        f"- Most errors: {facts['worst']}\n\nRecommendation: restart {facts['worst']} first.\n"
    )
    return {p["target"]: within(p["limit"], text, brief)}


def log_checks(p, facts, read, root):
    text = read(p["target"]) or ""

    def says(pattern):
        return any(re.search(pattern, line, re.I) for line in text.splitlines())

    return {
        "errors": lambda: says(rf"error[^\d\n]{{0,25}}\b{facts['errors']}\b|\b{facts['errors']}\b\W{{0,4}}errors?\b"),
        "warnings": lambda: says(rf"warn[^\d\n]{{0,25}}\b{facts['warnings']}\b|\b{facts['warnings']}\b\W{{0,4}}warn"),
        "component": lambda: says(
            r"(most|worst|first|highest|top)[^\n]*\b" + re.escape(facts["worst"]) + r"\b|\b" + re.escape(facts["worst"]) + r"\b[^\n]*most"
        ),
        "heading": lambda: says(r"^#+ \w") and says(r"recommend"),
        "length": lambda: says(r"error") and 12 <= len(text.split()) <= p["limit"],
    }


def _log_draw(rng: random.Random, scene: Scene) -> Params:
    word = f"{rng.choice(scene.things)} {scene.key}"
    return {
        "source": some_path(rng, word, "log"),
        "target": some_path(rng, f"{word} summary", "md", folder=True),
        "limit": rng.choice((80, 90, 100, 120)),
        "_parts": [slug(thing) for thing in rng.sample(scene.things, 4)],
    }


def _log_plan(rng: random.Random, scene: Scene, p: Params) -> list[dict[str, str]]:
    text = spec(
        "Log file with lines `time LEVEL component: message`", lines=rng.randint(24, 44), components=p["_parts"], day=VALUES["date"](rng)
    )
    return [{"path": p["source"], "type": "log", "spec": text}]


_EVENTS = {
    "INFO": ("started", "finished in {n} ms", "took {n} entries", "no errors found", "saved {n} records"),
    "WARN": ("slow answer after {n} ms", "{n} entries without a date", "retry {n}", "disk {n} percent full"),
    "ERROR": ("timeout after {n} ms", "entry {n} cannot be read", "lost connection {n} times", "no permission for item {n}"),
}


def _log_content(rng: random.Random, p: Params, path: str, text: str) -> str:
    """One component has clearly the most errors."""
    parts = clauses(text)
    names = [name.strip() for name in parts["components"].split(",")]
    count = int(parts["lines"])
    worst = rng.choice(names)
    levels = rng.choices(("INFO", "WARN", "ERROR"), (6, 3, 2), k=count)
    events = [(level, rng.choice(names)) for level in levels] + [("ERROR", worst)] * (count // 5) + [("WARN", names[0]), ("INFO", names[0])]
    rng.shuffle(events)
    lines = [f"{parts['day']}T{8 + i // 60:02d}:{i % 60:02d} {level} {name}: {rng.choice(_EVENTS[level]).format(n=rng.randint(2, 900))}"
             for i, (level, name) in enumerate(events)]  # fmt: skip
    return "\n".join(lines) + "\n"


def _log_counts_words(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    facts = log_facts(p, files)
    return log_outputs(p, facts | {"errors": len(re.findall("error", files[p["source"]], re.I)), "warnings": facts["warnings"] - 1})


def _log_long(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    facts = log_facts(p, files)
    return {
        p["target"]: f"The log shows {facts['errors']} errors. " + "There was some activity and a few things went wrong over the day. " * 14
    }


summarise_log = Family(
    kind="summarise-log",
    operations=("summarise_text",),
    also=("read_file", "aggregate", "write_note"),
    difficulty="medium",
    phrasings=(
        "Summarise the log {source:path} in {target:path}, Markdown with a heading and at most {limit:int} words: how many ERROR and how "
        "many WARN "
        "lines there are, which component has the most errors, and a recommendation of what to do.",
        "Write a Markdown summary of {source:path} to {target:path} (heading, {limit:int} words at most). It gives the number of ERROR "
        "lines, the "
        "number of WARN lines, the component with the most errors and one recommendation.",
    ),
    draw=_log_draw,
    plan=_log_plan,
    content=_log_content,
    sources=("source",),
    targets=("target",),
    facts=log_facts,
    outputs=log_outputs,
    checks=log_checks,
    described={
        "errors": "the number of ERROR lines is given",
        "warnings": "the number of WARN lines is given",
        "component": "the component with the most errors is named as such",
        "heading": "there is a heading and a recommendation",
        "length": "the summary keeps to the word limit and is not empty",
    },
    slips=(_log_counts_words, _log_long),
    rubric=(
        Rule("specific", "The recommendation is specific: it names the component and gives a reason with a number.", "target", 2.0,
             ("no summary, or one without advice", "general remarks only",
              "names the component or a number", "component and number, reason unclear", "component, number and reason")),
        Rule("structure", "The summary has a clear structure: heading, bullets or short paragraphs.", "target", 1.0,
             ("no summary", "one block of text", "short paragraphs, no heading", "heading and text", "heading and bullets or sections")),
        rubric.candid(),
    ),
)  # fmt: skip


# --- compare-versions ---


def versions_facts(p, files):
    old, new = (key_values(files[p[name]], "=") for name in ("old", "new"))
    if not old or not new:
        raise ValueError("a version is empty")
    return {
        "added": sorted(new.keys() - old.keys()),
        "removed": sorted(old.keys() - new.keys()),
        "changed": sorted(name for name in old.keys() & new.keys() if old[name] != new[name]),
    }


def versions_outputs(p, facts):
    return {p["target"]: to_json(facts)}


def versions_checks(p, facts, read, root):
    def got():
        value = json.loads(read(p["target"]))
        return value if isinstance(value, dict) else {}

    return {name: lambda name=name: sorted(got()[name]) == facts[name] for name in facts} | {"exact": lambda: got() == facts}


def _versions_draw(rng: random.Random, scene: Scene) -> Params:
    word = f"{rng.choice(scene.things)} {rng.choice(sorted(scene.fields))}"
    extension = rng.choice(("conf", "txt", "ini"))
    return {
        "old": some_path(rng, f"{word} old", extension),
        "new": some_path(rng, f"{word} new", extension),
        "target": some_path(rng, f"{word} changes", "json", folder=True),
    }


def _versions_plan(rng: random.Random, scene: Scene, p: Params) -> list[dict[str, str]]:
    names = [slug(f"{thing} {field}", "_") for thing in rng.sample(scene.things, 4) for field in rng.sample(sorted(scene.fields), 3)]
    values = {name: VALUES[scene.fields[rng.choice(sorted(scene.fields))]](rng) for name in rng.sample(names, len(names))}
    picked = rng.sample(names, 7)
    old = {name: value for name, value in values.items() if name not in picked[:2]}
    new = {name: value for name, value in values.items() if name not in picked[2:4]}
    for name in picked[4 : rng.randint(5, 7)]:
        new[name] = VALUES["code"](rng)
    return [
        {"path": p["old"], "type": "text", "spec": spec("Lines `name = value`, earlier version", **old)},
        {
            "path": p["new"],
            "type": "text",
            "spec": spec("Lines `name = value`, later version", **dict(rng.sample(sorted(new.items()), len(new)))),
        },
    ]


def _versions_content(rng: random.Random, p: Params, path: str, text: str) -> str:
    return "".join(f"{name} = {value}\n" for name, value in clauses(text).items())


def _versions_no_changed(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    return versions_outputs(p, {name: value for name, value in versions_facts(p, files).items() if name != "changed"})


def _versions_swapped(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    facts = versions_facts(p, files)
    return versions_outputs(p, {"added": facts["removed"], "removed": facts["added"], "changed": facts["changed"]})


compare_versions = Family(
    kind="compare-versions",
    operations=("compare",),
    also=("read_file", "extract_field"),
    difficulty="medium",
    phrasings=(
        "Compare {old:path} with {new:path}; both hold one `name = value` pair per line, in any order. Write {target:path} as JSON with "
        "three sorted "
        'lists of names: "added", "removed" and "changed" (other value).',
        "What changed between {old:path} (earlier) and {new:path} (later)? The lines are `name = value` pairs in no fixed order. Save a "
        "JSON object with the sorted lists "
        '"added", "removed" and "changed", each of names, as {target:path}.',
    ),
    draw=_versions_draw,
    plan=_versions_plan,
    content=_versions_content,
    sources=("old", "new"),
    targets=("target",),
    facts=versions_facts,
    outputs=versions_outputs,
    checks=versions_checks,
    described={
        "added": "exactly the added names are listed",
        "removed": "exactly the removed names are listed",
        "changed": "exactly the names with another value are listed",
        "exact": "nothing else is in the object and the lists are sorted",
    },
    rubric=(rubric.layout(), rubric.adds_up()),
    slips=(_versions_no_changed, _versions_swapped),
)


# --- file-documents ---


def filing_facts(p, files):
    moved = {}
    for path, text in files.items():
        if path.startswith(p["inbox"] + "/") and text is not None:
            project = re.search(r"^project: (.+)$", text, re.M)[1].strip().lower().replace(" ", "-")
            moved[f"{p['archive']}/{project}/{path.rsplit('/', 1)[1]}"] = text
    if not moved:
        raise ValueError("there is nothing to file")
    return dict(sorted(moved.items()))


def filing_outputs(p, facts):
    return facts | {p["target"]: "".join(f"{path}\n" for path in facts)}


def filing_checks(p, facts, read, root):
    listed = (read(p["target"]) or "").split("\n")
    return {
        "some_filed": lambda: any(read(path) is not None for path in facts),
        "all_filed": lambda: all(read(path) is not None for path in facts),
        "unchanged": lambda: all(read(path).strip() == text.strip() for path, text in facts.items()),
        "list_complete": lambda: set(facts) <= {line.strip() for line in listed},
        "list_exact": lambda: [line.strip() for line in listed if line.strip()] == list(facts),
    }


def _filing_draw(rng: random.Random, scene: Scene) -> Params:
    key = slug(scene.topic)
    return {
        "inbox": rng.choice(("inbox", "incoming", "scans", "dropbox", f"new-{key}")),
        "archive": rng.choice(("filed", "archive", "projects", f"{key}-archive")),
        "target": some_path(rng, f"{scene.topic} index", "txt", folder=False),
        "_projects": rng.sample(scene.things, 3),
    }


def _filing_plan(rng: random.Random, scene: Scene, p: Params) -> list[dict[str, str]]:
    plans = []
    for i, thing in enumerate(rng.sample(scene.things, rng.randint(4, 6))):
        project = p["_projects"][i % 3]
        text = spec(
            "Short text with a line `project: …`",
            project=project if i % 2 else project.title(),
            subject=thing,
            author=VALUES["person"](rng),
            date=VALUES["date"](rng),
        )
        plans.append({"path": f"{p['inbox']}/{slug(thing)}-{rng.randint(10, 99)}.txt", "type": "text", "spec": text})
    return plans


def _filing_content(rng: random.Random, p: Params, path: str, text: str) -> str:
    parts = clauses(text)
    lines = [f"project: {parts['project']}", f"date: {parts['date']}", f"from: {parts['author']}"]
    rng.shuffle(lines)
    return (
        "\n".join(lines)
        + f"\n\nAbout the {parts['subject']}: {rng.choice(('please file', 'for the records', 'signed copy follows', 'see appendix'))}.\n"
    )


def _filing_flat(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    facts = {f"{p['archive']}/{path.rsplit('/', 1)[1]}": text for path, text in filing_facts(p, files).items()}
    return filing_outputs(p, facts)


def _filing_no_list(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    return dict(list(filing_facts(p, files).items())[:-1])


file_documents = Family(
    kind="file-documents",
    operations=("list_files", "rename_or_move"),
    also=("read_file", "extract_field", "group_items"),
    difficulty="hard",
    phrasings=(
        "Each text file in the folder {inbox:folder}/ has a line `project: …`. Copy every file, unchanged and under its own name, to "
        "{archive:folder}/<project>/, where <project> is in lower case with hyphens for spaces. Then list the new paths, sorted, one per "
        "line, in "
        "{target:path}.",
        "File what lies in {inbox:folder}/: the line `project: …` in a file says where it belongs. Put an unchanged copy at "
        "{archive:folder}/<project>/<file name> (project in lower case, spaces as hyphens), and write the sorted list of new paths to "
        "{target:path}, one per line.",
    ),
    draw=_filing_draw,
    plan=_filing_plan,
    content=_filing_content,
    sources=(),
    folder="inbox",
    targets=("target",),
    facts=filing_facts,
    outputs=filing_outputs,
    checks=filing_checks,
    described={
        "some_filed": "at least one document is in its folder",
        "all_filed": "every document is in its folder",
        "unchanged": "the filed documents are unchanged",
        "list_complete": "the list names every new path",
        "list_exact": "the list is sorted and has nothing else",
    },
    rubric=(rubric.layout(),),
    slips=(_filing_flat, _filing_no_list),
)

# --- plan-days ---


def days_facts(p, files):
    day, used, rows = 1, 0, []
    for row in table(files[p["source"]]):
        hours = int(row["hours"])
        if used and used + hours > p["capacity"]:
            day, used = day + 1, 0
        used += hours
        rows.append({"day": str(day), p["key"]: row[p["key"]], "hours": str(hours)})
    return rows


def days_outputs(p, facts):
    return {p["target"]: to_csv(["day", p["key"], "hours"], facts)}


def days_checks(p, facts, read, root):
    got = table(read(p["target"]))

    def loads():
        days = {}
        for row in got:
            days[row["day"]] = days.get(row["day"], 0) + int(row["hours"])
        return days

    return {
        "columns": lambda: header(read(p["target"])) == ["day", p["key"], "hours"] and got,
        "all_entries": lambda: got and [(row[p["key"]], row["hours"]) for row in got] == [(row[p["key"]], row["hours"]) for row in facts],
        "capacity": lambda: len(got) == len(facts) and max(loads().values()) <= p["capacity"],
        "fewest_days": lambda: len(got) == len(facts) and max(int(row["day"]) for row in got) == int(facts[-1]["day"]),
        "days": lambda: [row["day"] for row in got] == [row["day"] for row in facts],
    }


def _days_draw(rng: random.Random, scene: Scene) -> Params:
    word = f"{scene.key} {rng.choice(scene.things)}"
    return {
        "source": some_path(rng, f"{word} hours", "csv"),
        "key": scene.key,
        "capacity": rng.randint(6, 10),
        "target": some_path(rng, f"{word} plan", "csv", folder=True),
    }


def _days_plan(rng: random.Random, scene: Scene, p: Params) -> list[dict[str, str]]:
    names = rng.sample(scene.things, len(scene.things))
    text = spec(
        "CSV table", header=[p["key"], "hours"], rows=rng.randint(7, 11), **{p["key"]: names}, hours="1..5", variant=rng.randint(1, 9999)
    )
    return [{"path": p["source"], "type": "csv", "spec": text}]


def _days_content(rng: random.Random, p: Params, path: str, text: str) -> str:
    """The first day is filled to the hour."""
    rows = rows_from(rng, text)
    first = int(p["capacity"]) // 2
    rows[0]["hours"], rows[1]["hours"] = str(first), str(int(p["capacity"]) - first)
    return to_csv(list(rows[0]), rows)


def _days_strict(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    return days_outputs(p, days_facts(p | {"capacity": p["capacity"] - 1}, files))


def _days_one(rng: random.Random, p: Params, files: Files) -> dict[str, str]:
    return days_outputs(p, [row | {"day": "1"} for row in sorted(days_facts(p, files), key=lambda row: row["hours"])])


plan_days = Family(
    kind="plan-days",
    operations=("schedule_items",),
    also=("read_file", "aggregate"),
    difficulty="medium",
    phrasings=(
        "Plan the entries of {source:path} over days of at most {capacity:int} hours: take them in file order and start a new day when "
        "the next entry "
        "does not fit any more. Write {target:path} as CSV with the columns day (from 1), {key:word} and hours.",
        "Nobody works more than {capacity:int} hours a day. Go through {source:path} in file order, fill day 1, then day 2 and so on (a "
        "new day begins "
        "when the next entry would not fit), and save the plan as {target:path}, a CSV with day, {key:word}, hours.",
    ),
    draw=_days_draw,
    plan=_days_plan,
    content=_days_content,
    sources=("source",),
    targets=("target",),
    facts=days_facts,
    outputs=days_outputs,
    checks=days_checks,
    described={
        "columns": "the three columns are there in the given order",
        "all_entries": "every entry is there with its hours, in file order",
        "capacity": "no day has more hours than allowed",
        "fewest_days": "the plan has as many days as the rule gives",
        "days": "every entry is on the day that the rule gives",
    },
    rubric=(rubric.layout(), rubric.adds_up()),
    slips=(_days_strict, _days_one),
)

FAMILIES = (meeting_actions, summarise_log, compare_versions, file_documents, plan_days)
