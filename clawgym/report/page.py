"""The report of one run: its values from the artefacts of all stages, as one HTML page, as Markdown, and as figures.

The page is self-contained, runs no script and escapes all text, since much of it was written by models.
"""

import base64
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from clawgym.bench.schema import SUITES
from clawgym.config import Bench
from clawgym.report import content

TEMPLATES = Path(__file__).parent / "templates"
FIGURES = ("bench", "funnel", "categories", "kinds", "rewards", "sft", "rl")
SECTIONS = [
    ("bench", "Bench"),
    ("funnel", "Funnel"),
    ("tasks", "Tasks"),
    ("rollouts", "Rollouts and rewards"),
    ("training", "Training"),
    ("trajectories", "Trajectories"),
    ("spend", "Spend and models"),
]
MEANINGS = {
    "heldout": "new tasks of the kinds of work that were trained",
    "unseen": "kinds of work that were never trained on",
}
REASONS = {
    "not_calibrated": "not needed: enough candidates were already taken",
    "not_measured": "too few calibration rollouts could be scored",
    "strong_too_low": "too hard for the strong model",
    "weak_too_high": "too easy for the weak model",
    "no_gap": "strong model not above the weak one",
    "over_cap": "passed, but the suite was full",
}


@dataclass(frozen=True)
class Run:
    """Rows of the artefacts a report is made of, and the settings it names."""

    funnel: list[dict]
    decisions: list[dict]
    tasks: list[dict]
    diversity: list[dict]
    rollouts: list[dict]
    scores: list[dict]
    trajectories: list[dict]
    stats: list[dict]
    sft: list[dict]
    rl: list[dict]
    items: list[dict]
    results: list[dict]
    summary: list[dict]
    paired: list[dict]
    kinds: list[dict]
    spend: list[dict]
    bench: Bench
    models: dict[str, dict]
    student: str
    min_reward: float
    shown: int
    seed: int
    code: str = ""
    settings_hash: str = ""
    measured: datetime | None = None  # when the bench was done; only the page says it


def score(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.2f}".replace("-", "−")


def cell(value: Any) -> str:
    """A value of a table whose columns another stage chose."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.2f}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        parts = [", ".join(map(str, part.values())) if isinstance(part, dict) else str(part) for part in value]
        return "; ".join(parts)
    return str(value)


def money(usd: float) -> str:
    """US dollars: cheap models cost fractions of a cent."""
    return f"{usd:.2f}" if usd == 0 or usd >= 100 else f"{usd:.4f}"


def markdown_cell(value: str) -> str:
    """Text for a Markdown table: no cell break, no HTML, no link or emphasis that the text did not have as text."""
    text = " ".join(str(value).split()).replace("\\", "\\\\")
    for character in "|`*_[]":
        text = text.replace(character, "\\" + character)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _environment(html: bool) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=html, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters |= {"score": score, "signed": signed, "cell": cell, "md": markdown_cell, "money": money}
    environment.filters["thousands"] = lambda value: f"{value:,}"
    return environment


def _cards(run: Run, funnel: list[content.Step]) -> list[dict]:
    cards = []
    if gain := content.headline(run.paired):
        interval = f", 95 % {signed(gain['ci_low'])} – {signed(gain['ci_high'])}" if gain["ci_low"] is not None else ""
        label = f"gain of SFT over the better base run ({gain['measured_a']}) on heldout{interval}"
        cards.append({"value": signed(gain["diff"]), "label": label, "main": True, "first": True})
    for model in ("sft", "rl"):
        for row in run.summary:
            if row["suite"] == "heldout" and row["model"] == model and row["n"]:
                same = ", unchanged by RL" if model == "rl" and content.signal(run.rl).unchanged else ""
                label = f"{model} on heldout, mean task score{same}"
                cards.append({"value": score(row["mean"]), "label": label, "main": True, "first": False})
    entered = max((step.entered for step in funnel if step.name == "seeds"), default=0)
    cards.append({"value": f"{len(run.tasks):,}", "label": f"tasks kept, of {entered:,} seeds", "main": False, "first": False})
    cards.append({"value": f"{len(run.trajectories):,}", "label": "trajectories kept for training", "main": False, "first": False})
    spent = money(sum(row["usd"] for row in run.spend))
    cards.append({"value": f"{spent} $", "label": "spent on model calls", "main": False, "first": False})
    return cards


def _stand_in_text(roles: list[dict]) -> str:
    names = ", ".join(row["role"] for row in roles if row["stand_in"])
    return (
        f"The models behind {names} are the embedded stand-in: a deterministic, rule-based program that speaks the same protocol and "
        "is no language model. What it wrote, judged and solved shows that every stage works, not how good a language model is. "
        "Its scores and tokens cost nothing. The student is a real pretrained model, and its scores are measured like any other's."
    )


def _bench_text(bench: Bench) -> str:
    calibration, serving = bench.calibration, bench.serving
    text = (
        f"Items are tasks never used for training that {calibration.strong} solves (mean ≥ {calibration.min_strong:g}) and "
        f"{calibration.weak} often fails (mean ≤ {calibration.max_weak:g}, below {calibration.strong}), by {calibration.rollouts} "
        "calibration rollouts of each, which are not used as scores. "
        f"Students answer at temperature {serving.temperature:g} with at most {serving.max_tokens} tokens per call and {serving.max_turns} "
        "calls per task; the references have the limits of the rollouts stage. "
    )
    if "base_fewshot" in bench.students:
        text += (
            f"base_fewshot is the base model with {bench.fewshot} worked examples of the training tasks in its prompt. "
            "best_base is the better of both base runs on the suite."
        )
    return text.strip()


def _items(items: list[dict]) -> list[dict]:
    table = []
    for suite in SUITES:
        reasons = Counter(row["reason"] for row in items if row["suite"] == suite)
        others = "; ".join(f"{number} {REASONS.get(reason, reason)}" for reason, number in reasons.most_common() if reason != "kept")
        table.append({"suite": suite, "tasks": reasons.total(), "kept": reasons["kept"], "reasons": others or "–"})
    return table


def _ends_text(statuses: list[str], bench: Bench) -> list[tuple[str, str]]:
    """What the ends that occur mean."""
    serving = bench.serving
    meanings = {
        "finished": "the model gave a last answer without a tool call",
        "token_limit": f"the last answer was cut off, before it held a tool call, at the tokens a call may have ({serving.max_tokens} for "
        "students on the bench), or the tokens of the rollout or of the model's context were used up",
        "turn_limit": f"the model wanted more calls than a rollout may have ({serving.max_turns} for students on the bench)",
        "time_limit": "the rollout took longer than it may",
        "malformed": "the last answer held tool calls, but none that could be carried out",
        "killed": "the agent used too much of the sandbox, or its own command killed it",
        "failed": "a failure outside the agent; no score",
        "missing": "there is no such rollout; no score",
    }
    return [(status, meanings[status]) for status in meanings if status in statuses]


def _sft_text(sft: list[dict]) -> str:
    points = [(row["step"], row["loss"]) for row in sft if row["loss"] is not None]
    if not points:
        return "SFT: no loss was recorded."
    (first, start), (last, end) = points[0], points[-1]
    return f"SFT: loss {start:.3f} at step {first}, {end:.3f} at step {last}."


def _rewards_text(rl: list[dict]) -> str:
    rewards = [row["reward_mean"] for row in rl if row["reward_mean"] is not None]
    if not rewards:
        return "GRPO: no reward was recorded."
    if len(rewards) == 1:
        return f"GRPO: one step with a reward, mean {rewards[0]:.3f}."
    return (
        f"GRPO: {len(rewards)} steps, mean reward of a step between {min(rewards):.3f} and {max(rewards):.3f}. Steps draw different tasks, "
        "so a difference between two steps says nothing about learning."
    )


def _signal_text(rl: list[dict]) -> str:
    """How many steps had nothing to learn from, and what that means for the model; empty if there were no steps."""
    signal = content.signal(rl)
    if not signal.steps:
        return ""
    alike = "all rollouts of every prompt got the same reward (zero_variance is 1)"
    which = f"In all {signal.steps} steps" if signal.without == signal.steps else f"In {signal.without} of {signal.steps} steps"
    if not signal.without:
        text = f"In none of {signal.steps} steps {alike}."
    elif signal.still == signal.without:
        text = f"{which} {alike}: such a step has no gradient and by itself changes no weight."
    else:
        text = f"{which} {alike}: such a step learns nothing from rewards."
    if signal.unmeasured:
        text += f" For {signal.unmeasured} steps this was not measured."
    if signal.unchanged:
        text += " As no step changed a weight, the RL model equals the SFT model."
    return text


def values(run: Run) -> dict[str, Any]:
    """Everything the templates show."""
    roles = content.roles(run.models)
    funnel = content.funnel(run.funnel, run.tasks, run.stats)
    statuses, ends = content.ends(run.rollouts, run.results)
    suites = []
    for suite in SUITES:
        rows = [row for row in run.summary if row["suite"] == suite]
        models, kinds = content.kind_table(run.kinds, suite)
        suites.append(
            {
                "name": suite,
                "meaning": MEANINGS[suite],
                "rows": rows if any(row["n"] or row["n_null"] for row in rows) else [],
                "nulls": any(row["n_null"] for row in rows),
                "paired": [row for row in run.paired if row["suite"] == suite and row["n"]],
                "models": models,
                "kinds": kinds,
            }
        )
    shown = content.pick(run.trajectories, run.shown)
    return {
        "sections": SECTIONS,
        "cards": _cards(run, funnel),
        "stand_ins": any(row["stand_in"] for row in roles),
        "stand_in_text": _stand_in_text(roles),
        "bench_text": _bench_text(run.bench),
        "suites": suites,
        "item_table": _items(run.items),
        "funnel": funnel,
        "routes": content.by_route(run.funnel),
        "categories": content.mix(run.tasks, "category"),
        "kinds": content.mix(run.tasks, "kind"),
        "difficulty": content.count(run.tasks, "difficulty"),
        "diversity": run.diversity,
        "graders": content.graders(run.decisions),
        "statuses": statuses,
        "ends": ends,
        "ends_text": _ends_text(statuses, run.bench),
        "stats": content.statistics(run.stats),
        "tools_used": content.tools_used(run.stats),
        "failures": content.failures(run.decisions, run.rollouts, run.scores, run.results),
        "sft_text": _sft_text(run.sft),
        "rewards_text": _rewards_text(run.rl),
        "signal_text": _signal_text(run.rl),
        "trajectories": [row | {"turns": content.turns(content.messages(row))} for row in shown],
        "n_trajectories": len(run.trajectories),
        "n_kinds": len({row["kind"] for row in shown}),
        "spend": run.spend,
        "roles": roles,
        "student": run.student,
        "code": run.code,
        "settings_hash": run.settings_hash,
        "seed": run.seed,
    }


def draw(run: Run) -> dict[str, Any]:
    """The figures by name (FIGURES), as matplotlib figures."""
    from clawgym.report import figures  # matplotlib takes a second to load; the text output does without

    teachers = {model: [row["s_task"] for row in run.scores if row["model"] == model and row["s_task"] is not None] for model in
                dict.fromkeys(row["model"] for row in run.scores)}  # fmt: skip

    def series(rows: list[dict], column: str) -> tuple[list[float], list[float]]:
        points = [(row["step"], row[column]) for row in rows if row.get(column) is not None]
        return [step for step, _ in points], [value for _, value in points]

    return {
        "bench": figures.bench(run.summary),
        "funnel": figures.funnel(content.funnel(run.funnel, run.tasks, run.stats)),
        "categories": figures.mix(content.mix(run.tasks, "category"), "Tasks per category"),
        "kinds": figures.mix(content.mix(run.tasks, "kind"), "Tasks per kind of work"),
        "rewards": figures.rewards(teachers, run.min_reward),
        "sft": figures.curve(
            {"training": series(run.sft, "loss"), "evaluation": series(run.sft, "eval_loss")}, "loss", "No loss recorded."
        ),
        "rl": figures.rl(series(run.rl, "reward_mean"), series(run.rl, "zero_variance")),
    }


def html(run: Run, images: dict[str, Path]) -> str:
    """The page; images: SVG file per name of FIGURES, embedded as data."""
    data = {name: "data:image/svg+xml;base64," + base64.b64encode(path.read_bytes()).decode() for name, path in images.items()}
    when = run.measured and run.measured.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return _environment(html=True).get_template("index.html.j2").render(values(run), images=data, when=when)


def markdown(run: Run) -> str:
    """The same tables as text."""
    return _environment(html=False).get_template("REPORT.md.j2").render(values(run))


def text_funnel(steps: list[content.Step]) -> str:
    """The funnel as aligned text, for logs and terminals."""
    width = max((len(step.name) for step in steps), default=0)
    lines = [f"{'step':{width}}  entered   left  went on"]
    for step in steps:
        why = f"   {step.reason}" if step.reason else ""
        lines.append(f"{step.name:{width}}  {step.entered:7,} {step.left:6,} {step.kept:8,}{why}")
    return "\n".join(lines)
