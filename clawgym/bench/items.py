"""Which tasks are bench items: gates on calibration rollouts, then an even, score-blind choice over the kinds of work.

A candidate passes if the strong model solves it sometimes, the weak one often fails it and strong is better (paper, section on the
benchmark). What passes is not ranked: choosing the widest gaps would make a bench of what these two models happen to differ on.
"""

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from clawgym.bench.schema import SUITES
from clawgym.config import Calibration, Settings


def _order(task_id: str, seed: int) -> str:
    return hashlib.sha256(f"{seed}:{task_id}".encode()).hexdigest()


def spread(tasks: Iterable[dict], limit: int, seed: int) -> list[str]:
    """At most `limit` task ids, taken in turn from each kind; within a kind in an order that depends on id and seed alone."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for task in tasks:
        kinds[task["kind"]].append(task["task_id"])
    queues = [sorted(kinds[kind], key=lambda task_id: _order(task_id, seed)) for kind in sorted(kinds)]
    turns = [queue[turn] for turn in range(max(map(len, queues), default=0)) for queue in queues if turn < len(queue)]
    return turns[:limit]


@dataclass(frozen=True)
class Rules:
    """How items are chosen: the gates of the calibration, the most items of each suite, the seed of the choice."""

    gates: Calibration
    caps: dict[str, int]
    seed: int

    @classmethod
    def of(cls, settings: Settings) -> "Rules":
        caps = {suite: settings[f"bench.{suite}_items"] for suite in SUITES}
        return cls(settings["bench.calibration"], caps, settings["seed"])


def candidates(tasks: list[dict], rules: Rules) -> list[dict]:
    """The tasks of the held-out and unseen splits that are worth calibrating: `calibration.spare` per item wanted, spread over kinds.

    tasks: rows with task_id, kind and split. Order of the result: as in `tasks`.
    """
    chosen = set()
    for suite, cap in rules.caps.items():
        pool = [task for task in tasks if task["split"] == suite]
        chosen.update(spread(pool, math.ceil(cap * rules.gates.spare), rules.seed))
    return [task for task in tasks if task["task_id"] in chosen]


def verdict(strong: list[float], weak: list[float], gates: Calibration) -> str:
    """Why a candidate does or does not pass, from the measured task scores of both models.

    With fewer than half of the rollouts of either model measured there is no verdict: `not_measured`.
    """
    if min(len(strong), len(weak)) * 2 < gates.rollouts:
        return "not_measured"
    mean_strong, mean_weak = mean(strong), mean(weak)
    if mean_strong < gates.min_strong:
        return "strong_too_low"
    if mean_weak > gates.max_weak:
        return "weak_too_high"
    return "passed" if mean_strong > mean_weak else "no_gap"


def mean(values: list[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def item_kind(verifier: dict) -> str:
    """`code`, `rubric` or `hybrid`, by what the verifier of the task has."""
    if verifier["code"] and verifier["rubric"]:
        return "hybrid"
    return "code" if verifier["code"] else "rubric"


def select_items(tasks: list[dict], verifiers: dict[str, dict], scores: list[dict], rules: Rules) -> list[dict]:
    """One row (schema ITEM) per task of both splits, in the order suite, task id.

    tasks: rows with task_id, kind, category, split; verifiers: by task id; scores: rows of the calibration (model, task_id, s_task).
    """
    gates = rules.gates
    asked = {task["task_id"] for task in candidates(tasks, rules)}
    measured: dict[tuple[str, str], list[float]] = defaultdict(list)
    for score in scores:
        if score["s_task"] is not None:
            measured[score["task_id"], score["model"]].append(score["s_task"])
    rows = []
    for task in sorted((t for t in tasks if t["split"] in SUITES), key=lambda t: (SUITES.index(t["split"]), t["task_id"])):
        strong, weak = measured[task["task_id"], gates.strong], measured[task["task_id"], gates.weak]
        rows.append(
            {
                "task_id": task["task_id"],
                "suite": task["split"],
                "category": task["category"],
                "kind": task["kind"],
                "item_kind": item_kind(verifiers[task["task_id"]]),
                "mean_strong": mean(strong),
                "mean_weak": mean(weak),
                "n_strong": len(strong),
                "n_weak": len(weak),
                "kept": False,
                "reason": verdict(strong, weak, gates) if task["task_id"] in asked else "not_calibrated",
            }
        )
    for suite, cap in rules.caps.items():
        passed = [row for row in rows if row["suite"] == suite and row["reason"] == "passed"]
        kept = set(spread(passed, cap, rules.seed))
        for row in passed:
            row["kept"] = row["task_id"] in kept
            row["reason"] = "kept" if row["kept"] else "over_cap"
    return rows


def fewshot(trajectories: list[dict], train_ids: set[str], count: int) -> list[dict]:
    """`count` worked examples for the prompt of base_fewshot: the shortest trajectory of each of the kinds with the shortest ones.

    trajectories: rows with task_id, kind, trajectory_id and messages (list of OpenAI messages). Only tasks in `train_ids` are used, and
    nothing of the bench is looked at. If there are fewer kinds than `count`, the next shortest trajectories follow whatever their kind.
    """

    def size(row: dict) -> tuple[int, str]:
        return len(str(row["messages"])), row["trajectory_id"]

    pool = sorted((row for row in trajectories if row["task_id"] in train_ids), key=size)
    first = {}
    for row in pool:
        first.setdefault(row["kind"], row)
    return [*first.values(), *(row for row in pool if first[row["kind"]] is not row)][:count]


def prefix(examples: list[list[dict]]) -> list[dict]:
    """The examples' messages one after the other, without their system messages: what stands before the user's task.

    Tool-call ids are numbered anew, so that two examples do not share one.
    """
    messages, number = [], 0
    for example in examples:
        renamed: dict[str, str] = {}
        for message in example:
            if message["role"] == "system":
                continue
            message = dict(message)
            if message.get("tool_calls"):
                calls = []
                for call in message["tool_calls"]:
                    number += 1
                    renamed[call["id"]] = f"call_example_{number}"
                    calls.append(call | {"id": renamed[call["id"]]})
                message["tool_calls"] = calls
            if "tool_call_id" in message:
                message["tool_call_id"] = renamed.get(message["tool_call_id"], message["tool_call_id"])
            messages.append(message)
    return messages
