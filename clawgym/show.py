"""Look at one record in the terminal: `python -m clawgym.show task|verifier|rollout|trajectory|seed ID`.

ID may be the beginning of an id. Everything shown was written by models, agents or strangers: control characters are made visible,
and nothing is interpreted as markup.
"""

import argparse
import difflib
import json
import unicodedata
from pathlib import Path

import pyarrow.parquet as pq
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from clawgym.cli import run
from clawgym.errors import UserError
from clawgym.tables import read_jsonl

# Where a record of a kind may be, the richest table first: later stages carry more.
TABLES = {
    "task": ["quality/tasks.parquet", "resources/tasks.parquet", "tasks/tasks.parquet", "imports/tasks.parquet"],
    "verifier": ["verifiers/verifiers.parquet", "imports/verifiers.parquet"],
    "rollout": ["rollouts/*/rollouts.parquet", "imports/rollouts/*/rollouts.parquet", "bench/**/rollouts.parquet"],
    "trajectory": ["trajectories/*/trajectories.parquet"],
    "seed": ["seeds/seeds.parquet"],
}
KEYS = {"task": "task_id", "verifier": "task_id", "rollout": "rollout_id", "trajectory": "trajectory_id", "seed": "seed_id"}
SHORT = 1500
COLOURS = {"system": "magenta", "user": "cyan", "assistant": "green", "tool": "yellow"}
LEXERS = {"md": "markdown", "py": "python", "yml": "yaml", "sh": "bash", "jsonl": "json"}


def visible(value: object) -> str:
    """Text that cannot steer the terminal: control and formatting characters but newline and tab as `\\x1b` escapes."""
    text = str(value)
    return "".join(
        c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") else c.encode("unicode_escape").decode() for c in text
    )


def shorten(text: str, full: bool) -> str:
    if full or len(text) <= SHORT:
        return text
    return f"{text[:SHORT]}\n… {len(text) - SHORT} more characters (--full shows them)"


def plain(value: object, full: bool = True, style: str = "") -> Text:
    return Text(shorten(visible(value), full), style)


# -- finding ----------------------------------------------------------------------------------------------------------------------


def rows_where(results: Path, patterns: list[str], key: str, value: str) -> list[dict]:
    """Rows of all tables that match one of `patterns` whose `key` is `value`, with their table under `_table`."""
    rows = []
    for pattern in patterns:
        for path in sorted(results.glob(pattern)):
            rows += [row | {"_table": path} for row in pq.read_table(path, filters=[(key, "=", value)]).to_pylist()]
    return rows


def find(results: Path, kind: str, record_id: str) -> dict:
    """The record with this id, or the only one whose id starts so.

    Raises UserError if there is none (with similar ids) or if there are several.
    """
    key = KEYS[kind]
    paths = [path for pattern in TABLES[kind] for path in sorted(results.glob(pattern))]
    if not paths:
        raise UserError(f"{results}: no table of {kind} records yet ({TABLES[kind][0]}); run its stage, or name the folder with --results")
    for path in paths:
        ids = pq.read_table(path, columns=[key])[key].to_pylist()
        matches = [record_id] if record_id in ids else [i for i in ids if i.startswith(record_id)]
        if len(matches) > 1:
            raise UserError(f"{path}: {record_id}: {len(matches)} ids start so ({', '.join(matches[:5])} …); give more of it")
        if matches:
            return rows_where(path.parent, [path.name], key, matches[0])[0]
    known = {i for path in paths for i in pq.read_table(path, columns=[key])[key].to_pylist()}
    close = difflib.get_close_matches(record_id, known, n=3, cutoff=0.3) or sorted(known)[:3]
    raise UserError(f"{results}: {record_id}: no {kind} with this id; similar ones: {', '.join(close) or 'none, the tables are empty'}")


# -- pieces -----------------------------------------------------------------------------------------------------------------------


def grid(pairs: dict[str, object]) -> Table:
    """Names and values, without those that are null."""
    table = Table.grid(padding=(0, 2))
    for name, value in pairs.items():
        if value is None or value == []:
            continue
        if isinstance(value, float):
            value = f"{value:.4g}"
        table.add_row(Text(name, "bold"), plain(", ".join(map(str, value)) if isinstance(value, list) else value))
    return table


def listing(title: str, rows: list[dict], columns: list[str]) -> list[RenderableType]:
    """A table with a title, or nothing if it has no rows."""
    if not rows:
        return []
    table = Table(*columns, title=title, title_justify="left", title_style="bold", expand=False)
    for row in rows:
        cells = (row.get(name) for name in columns)
        table.add_row(*(plain("–" if c is None else f"{c:.3g}" if isinstance(c, float) else c) for c in cells))
    return [table]


def source(text: str, lexer: str, full: bool) -> Syntax:
    return Syntax(shorten(visible(text), full), lexer, word_wrap=True, background_color="default")


def file_panel(file: dict, full: bool) -> Panel:
    title = Text(f"{visible(file['path'])} ({visible(file['type'])})")
    if file["content"] is None:
        return Panel(plain(file["spec"], full, "italic"), title=title, title_align="left")
    if file["type"].startswith("base64:"):
        return Panel(
            Text(f"binary, {len(file['content']) * 3 // 4} bytes, sha256 {file['sha256']}", "italic"), title=title, title_align="left"
        )
    return Panel(source(file["content"], LEXERS.get(file["type"], file["type"]), full), title=title, title_align="left")


def conversation(messages: list[dict], full: bool) -> list[RenderableType]:
    """A panel per message; tool calls with their arguments, one per line."""
    panels: list[RenderableType] = []
    for number, message in enumerate(messages):
        body: list[RenderableType] = []
        for name in ("reasoning_content", "reasoning"):
            if message.get(name):
                body.append(plain(message[name], full, "italic dim"))
        content = message.get("content")
        if isinstance(content, list):
            content = "\n".join(str(part.get("text", f"[{part.get('type')}]")) for part in content)
        if content:
            body.append(plain(content, full))
        for call in message.get("tool_calls") or []:
            body.append(Text.assemble(("→ ", "bold"), (visible(call["function"]["name"]), "bold")))
            body.append(arguments(call["function"].get("arguments"), full))
        role = str(message.get("role"))
        panels.append(
            Panel(
                Group(*body) if body else Text("(empty)", "dim"),
                title=f"{number} {visible(role)}",
                title_align="left",
                border_style=COLOURS.get(role, ""),
            )
        )
    return panels


def arguments(value: object, full: bool) -> RenderableType:
    """Tool-call arguments: one line per argument, or the text as it is when it is not a JSON object."""
    try:
        parsed = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        return plain(value, full, "red")
    table = Table.grid(padding=(0, 2))
    for name, argument in parsed.items():
        table.add_row(Text(f"  {visible(name)}", "bold"), plain(argument if isinstance(argument, str) else json.dumps(argument), full))
    return table


# -- records ----------------------------------------------------------------------------------------------------------------------


def task_view(results: Path, task: dict, full: bool) -> list[RenderableType]:
    """Instruction, files, outputs, verifier with its card, decision, rollouts."""
    task_id = task["task_id"]
    names = ("route", "seed_id", "category", "subcategory", "kind", "operations", "difficulty", "claimed_difficulty", "split")
    outputs = {"expected outputs": task["expected_outputs"], "may modify": task["may_modify"]}
    more = {name: task.get(name) for name in (*names, "model", "source", "licence")}
    parts: list[RenderableType] = [
        Panel(plain(task["instruction"]), title=f"task {visible(task_id)}", title_align="left"),
        grid(more | outputs),
    ]
    parts += [file_panel(file, full) for file in task["files"]]
    for verifier in rows_where(results, TABLES["verifier"], "task_id", task_id)[:1]:
        parts += verifier_view(results, verifier, full, code=False)
    for decision in rows_where(results, ["quality/decisions.parquet"], "task_id", task_id):
        parts += [Rule("decision", align="left"), decision_view(decision)]
    for decision in rows_where(results, ["imports/decisions.parquet"], "record_id", task_id):
        parts += [Rule("decision", align="left"), decision_view(decision)]
    rollouts = rows_where(results, TABLES["rollout"], "task_id", task_id)
    return parts + listing("rollouts", rollouts, ["rollout_id", "status", "turns", "tool_calls"])


def decision_view(decision: dict) -> RenderableType:
    verdict = Text("kept", "bold green") if decision["kept"] else Text("left", "bold red")
    hidden = {"_table", "task_id", "record_id", "route", "kept"}
    return Group(verdict, grid({name: value for name, value in decision.items() if name not in hidden}))


def verifier_view(results: Path, verifier: dict, full: bool, code: bool = True) -> list[RenderableType]:
    """Checks with their scores per state, rubric with its anchors, and the sources."""
    task_id = verifier["task_id"]
    cards = rows_where(results, ["verifiers/cards.parquet", "imports/cards.parquet"], "task_id", task_id)
    states = list(dict.fromkeys(card["state"] for card in cards))
    told = {check["check_id"]: check for check in verifier["checks"]}
    checks = []
    for check_id in dict.fromkeys([*told, *(card["check_id"] for card in cards)]):
        row = {"check": check_id, **{key: told.get(check_id, {}).get(key) for key in ("description", "artifact")}}
        for card in cards:
            if card["check_id"] == check_id:
                row[card["state"]] = card["score"] if card["status"] == "ok" else card["status"]
        checks.append(row)
    rules = [rule | {"0 … 1": "\n".join(rule["anchors"])} for rule in verifier["rubric"]]
    parts: list[RenderableType] = [Rule(f"verifier of {visible(task_id)}", align="left")]
    parts.append(grid({"lambda": verifier["lambda"], "written by": verifier["model"]}))
    parts += listing("checks", checks, ["check", "description", "artifact", *states])
    parts += listing("rubric", rules, ["rule_id", "text", "artifact", "weight", "0 … 1"])
    if code:
        for title, text in (("grade", verifier["code"]), ("reference program", verifier["solution"])):
            if text:
                parts.append(Panel(source(text, "python", full), title=title, title_align="left"))
    else:
        parts.append(Text(f"source: python -m clawgym.show verifier {visible(task_id)}", "dim"))
    return parts


def rollout_view(results: Path, rollout: dict, full: bool) -> list[RenderableType]:
    """What it cost, how it ended, its grades, and what was said, from the capture."""
    rollout_id, folder = rollout["rollout_id"], rollout["_table"].parent
    figures = {name: value for name, value in rollout.items() if name not in ("_table", "rollout_id", "final_text")}
    parts: list[RenderableType] = [Rule(f"rollout {visible(rollout_id)}", align="left"), grid(figures)]
    for score in rows_where(results, ["**/scores.parquet"], "rollout_id", rollout_id):
        parts.append(grid({name: score[name] for name in ("s_code", "s_rubric", "s_task")} | {"grading": score["status"]}))
    grades = [
        grade | {"check or rule": grade["check_id"] or grade["rule_id"]}
        for grade in rows_where(results, ["**/grades.parquet"], "rollout_id", rollout_id)
    ]
    parts += listing("grades", grades, ["check or rule", "score", "grader", "status", "detail"])
    capture = folder / rollout["capture"] if rollout["capture"] else None
    if capture is None or not capture.exists():
        return [*parts, Text("no capture was kept", "dim")]
    calls = [record for record in read_jsonl(capture) if record.get("kind") == "call"]
    return [*parts, Rule(f"capture: {len(calls)} model calls", align="left"), *conversation(captured(calls), full)]


def captured(calls: list[dict]) -> list[dict]:
    """The conversation of a capture: the last request and its answer. Requests of the lite agent grow, so the last holds them all."""
    if not calls:
        return []
    last = calls[-1]
    answers = [choice["message"] for choice in (last.get("response") or {}).get("choices") or []]
    return [*last["request"].get("messages", []), *answers]


def trajectory_view(results: Path, trajectory: dict, full: bool) -> list[RenderableType]:
    """Statistics, tools and every turn."""
    hidden = ("_table", "messages", "tools", "trajectory_id")
    figures = {name: value for name, value in trajectory.items() if name not in hidden}
    tools = json.loads(trajectory["tools"]) if trajectory["tools"] else []
    figures["tools"] = [tool.get("function", tool).get("name") for tool in tools]
    title = Rule(f"trajectory {visible(trajectory['trajectory_id'])}", align="left")
    return [title, grid(figures), *conversation(json.loads(trajectory["messages"]), full)]


def seed_view(results: Path, seed: dict, full: bool) -> list[RenderableType]:
    """What it is made of, its skills, and the task that came of it."""
    figures = {name: value for name, value in seed.items() if name not in ("_table", "seed_id", "persona")}
    parts: list[RenderableType] = [Rule(f"seed {visible(seed['seed_id'])}", align="left")]
    if seed["persona"]:
        parts.append(Panel(plain(seed["persona"]), title="persona", title_align="left"))
    parts.append(grid(figures))
    for skill_id in [seed["main_skill"], *(seed["support_skills"] or [])]:
        for skill in rows_where(results, ["seeds/skills.parquet"], "skill_id", skill_id) if skill_id else []:
            title = Text(f"skill {visible(skill['name'])}: {visible(skill['description'])}")
            parts.append(Panel(plain(skill["body"], full), title=title, title_align="left"))
    tasks = rows_where(results, ["tasks/tasks.parquet"], "seed_id", seed["seed_id"])
    rejects = rows_where(results, ["tasks/rejects.parquet"], "record_id", seed["seed_id"])
    parts += listing("tasks", tasks, ["task_id", "kind", "difficulty", "instruction"])
    return parts + listing("rejected", rejects, ["stage", "reason", "detail"])


VIEWS = {"task": task_view, "rollout": rollout_view, "trajectory": trajectory_view, "seed": seed_view, "verifier": verifier_view}


def show(results: Path, kind: str, record_id: str, console: Console, full: bool = False) -> None:
    """Print one record. Raises UserError if it is not there."""
    record = find(results, kind, record_id)
    for part in VIEWS[kind](results, record, full):
        console.print(part)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="clawgym show", description="Look at one record in the terminal.")
    parser.add_argument("kind", choices=sorted(VIEWS))
    parser.add_argument("id", help="the id of the record, or the beginning of it")
    parser.add_argument("--results", type=Path, default=Path("results"), help="results folder (default: results)")
    parser.add_argument("--full", action="store_true", help="show long texts whole")
    args = parser.parse_args(argv)
    show(args.results, args.kind, args.id, Console(), args.full)


if __name__ == "__main__":
    run(main)
