"""What the report says, as plain values: every function takes rows of the stages' tables and returns what a template or a figure shows."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from clawgym.tables import encodable

CLIP = 2400  # characters of one message or file shown on the page


@dataclass(frozen=True)
class Step:
    """One step of the funnel: what entered, what went on, why the rest left."""

    name: str
    entered: int
    left: int
    reason: str | None

    @property
    def kept(self) -> int:
        return self.entered - self.left


def funnel(rows: list[dict], tasks: list[dict], stats: list[dict]) -> list[Step]:
    """The funnel of the quality stage, both routes summed, continued to the trajectories that training reads.

    rows: schema FUNNEL; tasks: what the quality stage kept, with the split; stats: of the trajectories, the last row being the whole.
    """
    steps: dict[str, list[dict]] = defaultdict(list)
    for row in rows:
        steps[row["step"]].append(row)
    road = []
    for name, mine in steps.items():
        reasons = "; ".join(dict.fromkeys(row["reason"] for row in mine if row["reason"])) or None
        road.append(Step(name.replace("_", " "), sum(row["entered"] for row in mine), sum(row["left"] for row in mine), reasons))
    splits = Counter(task["split"] for task in tasks)
    reserved = {split: number for split, number in splits.items() if split != "train"}
    reason = "for the bench: " + ", ".join(f"{split} {number}" for split, number in sorted(reserved.items())) if reserved else None
    road.append(Step("training split", len(tasks), sum(reserved.values()), reason))
    if stats:
        whole = stats[-1]
        measured = whole["rollouts"] - whole["unscored"]
        road.append(Step("rollouts", whole["rollouts"], whole["unscored"], f"unscored {whole['unscored']}" if whole["unscored"] else None))
        lost = {name: whole[name] for name in ("low_reward", "surplus", "unusable") if whole[name]}
        reasons = ", ".join(f"{name} {number}" for name, number in lost.items()) or None
        road.append(Step("trajectories", measured, sum(lost.values()), reasons))
    return road


def by_route(rows: list[dict]) -> list[dict]:
    """The funnel rows as they are, for the table under the figure."""
    return [row | {"kept": row["entered"] - row["left"]} for row in rows]


def count(rows: Iterable[dict], name: str) -> dict[str, int]:
    """How often each value of a column occurs, most frequent first."""
    return dict(Counter(row[name] or "–" for row in rows).most_common())


def mix(tasks: list[dict], column: str) -> dict[str, dict[str, int]]:
    """Per value of `column` the number of tasks in each split, most tasks first."""
    table: dict[str, Counter] = defaultdict(Counter)
    for task in tasks:
        table[task[column] or "–"][task["split"]] += 1
    return {key: dict(table[key]) for key in sorted(table, key=lambda key: (-table[key].total(), key))}


GRADED = {
    "s_floor": "without work: the best of untouched, empty, empty files, the instruction, a copied input",
    "s_stub": "the right form with wrong values",
    "s_tamper": "the right result for other inputs",
    "s_oracle": "what the reference program leaves",
    "mutation_score": "share of the reference's mutants that score below it",
}


def graders(decisions: list[dict]) -> list[dict]:
    """What the graders of all tasks gave for states of known worth: how many tasks, their mean, lowest and highest."""
    rows = []
    for name, meaning in GRADED.items():
        values = [row[name] for row in decisions if row[name] is not None]
        if values:
            rows.append({"state": meaning, "n": len(values), "mean": sum(values) / len(values), "low": min(values), "high": max(values)})
    return rows


def failures(decisions: list[dict], rollouts: list[dict], scores: list[dict], results: list[dict]) -> list[dict]:
    """Every kind of loss with its count: where (stage), what (kind), how many. Ends that the agent caused are not failures."""
    lost: Counter = Counter()
    for row in decisions:
        if not row["kept"]:
            lost[row["stage"] or "–", row["reason"] or "–"] += 1
    for row in rollouts:
        if row["status"] == "failed":
            lost[f"rollouts of {row['model']}", row["failure_kind"] or "failed"] += 1
    failed = {row["rollout_id"] for row in rollouts if row["status"] == "failed"}
    for row in scores:
        if row["s_task"] is None and row["rollout_id"] not in failed:  # a rollout that failed is counted once, where it did
            lost[f"grades of {row['model']}", row["status"]] += 1
    for row in results:
        if row["s_task"] is None:
            lost[f"bench of {row['model']}", row["failure_kind"] or "not measured"] += 1
    return [{"where": where, "kind": kind, "count": number} for (where, kind), number in lost.most_common()]


def ends(rollouts: list[dict], results: list[dict]) -> tuple[list[str], list[dict]]:
    """How rollouts ended: the statuses that occur, and per model (teachers, then the bench) how many of each."""
    table: dict[str, Counter] = defaultdict(Counter)
    for prefix, rows in (("teacher", rollouts), ("bench", results)):
        for row in rows:
            table[f"{prefix} {row['model']}"][row["status"]] += 1
    statuses = [status for status, _ in sum(table.values(), Counter()).most_common()]
    return statuses, [{"model": model, "counts": [table[model][status] for status in statuses]} for model in table]


STATISTICS = {
    "route": "route", "teacher": "teacher", "rollouts": "rollouts", "kept": "kept", "reward_mean": "reward", "turns_mean": "turns",
    "turns_max": "most turns", "tool_calls_mean": "tool calls", "tokens_out_mean": "tokens out",
}  # fmt: skip


def statistics(stats: list[dict]) -> list[dict]:
    """The trajectory statistics by short headings, without the counts the funnel shows and without the tools."""
    return [{heading: row[name] for name, heading in STATISTICS.items()} for row in stats]


def tools_used(stats: list[dict]) -> str | None:
    """How many of all kept trajectories use each tool, `read 12, write 30`; None without any."""
    return ", ".join(f"{tool} {n:,}" for tool, n in json.loads(stats[-1]["tool_types"]).items()) or None if stats else None


def kind_table(kinds: list[dict], suite: str) -> tuple[list[str], list[dict]]:
    """Models, and per kind of work of a suite its number of tasks and the mean of each model (None: not measured)."""
    mine = [row for row in kinds if row["suite"] == suite]
    models = list(dict.fromkeys(row["model"] for row in mine))
    table = []
    for kind in sorted({row["kind"] for row in mine}):
        means = {row["model"]: row["mean"] for row in mine if row["kind"] == kind}
        n = max(row["n"] for row in mine if row["kind"] == kind)
        table.append({"kind": kind, "n": n, "means": [means.get(model) for model in models]})
    return models, table


def headline(paired: list[dict], suite: str = "heldout") -> dict | None:
    """The comparison the training stands or falls with: the better base run against SFT. None if it was not measured."""
    return next((r for r in paired if (r["suite"], r["model_a"], r["model_b"]) == (suite, "best_base", "sft") and r["n"]), None)


@dataclass(frozen=True)
class Signal:
    """What the steps of RL had to learn from.

    without: steps whose rollouts scored alike within every prompt. still: those of them whose measured gradient is 0 as well, which a
    KL term may keep from it.
    """

    steps: int
    without: int
    still: int
    unmeasured: int

    @property
    def unchanged(self) -> bool:
        """Had no step a gradient, so that the model is the one RL began with?"""
        return 0 < self.steps == self.still


def signal(rl: list[dict]) -> Signal:
    """rl: rows of schema RL_METRICS."""
    without = [row for row in rl if row["zero_variance"] is not None and row["zero_variance"] >= 1]
    still = [row for row in without if row["grad_norm"] == 0]
    return Signal(len(rl), len(without), len(still), sum(row["zero_variance"] is None for row in rl))


@dataclass(frozen=True)
class Turn:
    """One message as the page shows it; `calls` are (tool, [(argument, value)])."""

    role: str
    text: str
    calls: list[tuple[str, list[tuple[str, str]]]] = field(default_factory=list)


def clip(text: str, limit: int = CLIP) -> str:
    return text if len(text) <= limit else f"{text[:limit]}\n… {len(text) - limit:,} more characters"


def _text(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    parts = (
        [part.get("text", "") if isinstance(part, dict) else str(part) for part in content] if isinstance(content, list) else [str(content)]
    )
    return "\n".join(parts)


def _arguments(raw: Any) -> list[tuple[str, str]]:
    """Arguments of a call as named texts. What is not a JSON object, as a model may write it, is shown as it is."""
    try:
        values = encodable(json.loads(raw) if isinstance(raw, str) else raw)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        return [("", clip(str(raw)))]
    return [(str(name), clip(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))) for name, value in values.items()]


def messages(trajectory: dict) -> list[dict]:
    """The conversation of a trajectory, which its table holds as JSON."""
    return json.loads(trajectory["messages"])


def turns(messages: list[dict]) -> list[Turn]:
    """A conversation of OpenAI messages, turn by turn. The texts are raw: the template escapes them."""
    shown = []
    for message in messages:
        calls = [(str(call["function"]["name"]), _arguments(call["function"].get("arguments"))) for call in message.get("tool_calls") or []]
        shown.append(Turn(str(message["role"]), clip(_text(message.get("content")).strip()), calls))
    return shown


def pick(trajectories: list[dict], limit: int) -> list[dict]:
    """Trajectories to show: in turn from each kind of work, within a kind those with most tool calls first; both routes if there are."""
    kinds: dict[str, list[dict]] = defaultdict(list)
    for row in trajectories:
        kinds[row["kind"]].append(row)
    for queue in kinds.values():
        queue.sort(key=lambda row: (-row["tool_calls"], row["trajectory_id"]))
    rounds = max(map(len, kinds.values()), default=0)
    chosen = [kinds[kind][i] for i in range(rounds) for kind in sorted(kinds) if i < len(kinds[kind])][:limit]
    routes = {row["route"] for row in chosen}
    if missing := next((row for row in trajectories if row["route"] not in routes), None):
        chosen = [*chosen[:-1], missing] if chosen else chosen
    return chosen


def roles(models: dict[str, dict]) -> list[dict]:
    """Who answered under which name, and whether it is the embedded stand-in."""
    return [
        {"role": role, "model": model["model"], "endpoint": model["base_url"], "stand_in": model["base_url"] == "offline"}
        for role, model in sorted(models.items())
    ]
