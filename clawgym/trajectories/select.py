"""Which rollouts become trajectories (paper: those with a task score of at least 0.5), and a table of what was left out."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from statistics import fmean
from typing import Any

from clawgym.config import Trajectories
from clawgym.trajectories.rebuild import Conversation, Unusable

Row = dict[str, Any]
LEFT_OUT = ("unscored", "low_reward", "surplus", "unusable")


def verdicts(scores: Iterable[Row], settings: Trajectories) -> dict[str, str]:
    """rollout_id → `candidate` or the reason for leaving it out. A null score was not measured: it is never selected."""
    result: dict[str, str] = {}
    for row in scores:
        score = row["s_task"]
        result[row["rollout_id"]] = "unscored" if score is None else "low_reward" if score < settings.min_reward else "candidate"
    return result


def select(
    tasks: dict[str, Row], rollouts: list[Row], scores: list[Row], settings: Trajectories, load: Callable[[Row], Conversation]
) -> tuple[list[Row], list[Row]]:
    """Rows of `TRAJECTORY`, best reward first within a task, and of `STATS`.

    tasks: task_id → task with its split; only `train` is looked at, whatever else was rolled out.
    load: conversation of a rollout; raises Unusable. Only candidates are loaded, the best of a task first, until it has enough.
    """
    rollouts = [row for row in rollouts if tasks.get(row["task_id"], {}).get("split") == "train"]
    verdict = {row["rollout_id"]: "unscored" for row in rollouts} | verdicts(scores, settings)
    reward = {row["rollout_id"]: row["s_task"] for row in scores}
    per_task: dict[str, list[Row]] = defaultdict(list)
    for row in rollouts:
        if verdict[row["rollout_id"]] == "candidate":
            per_task[row["task_id"]].append(row)
    kept: list[Row] = []
    for candidates in per_task.values():
        found = 0
        for row in sorted(candidates, key=lambda row: (-reward[row["rollout_id"]], row["rollout_id"])):
            if found == settings.max_per_task:
                verdict[row["rollout_id"]] = "surplus"
                continue
            try:
                conversation = load(row)
            except Unusable:
                verdict[row["rollout_id"]] = "unusable"
                continue
            verdict[row["rollout_id"]], found = "kept", found + 1
            kept.append(_trajectory(row, tasks[row["task_id"]], conversation, reward[row["rollout_id"]]))
    return kept, statistics(tasks, rollouts, verdict, kept)


def _trajectory(rollout: Row, task: Row, conversation: Conversation, reward: float) -> Row:
    calls = conversation.calls
    return {
        "trajectory_id": rollout["rollout_id"],
        "rollout_id": rollout["rollout_id"],
        "teacher": rollout["model"],
        "messages": json.dumps(conversation.messages, ensure_ascii=False),
        "tools": json.dumps(conversation.tools, ensure_ascii=False),
        "reward": reward,
        "turns": len(conversation.answers),
        "tool_calls": len(calls),
        "tool_types": sorted({call["function"]["name"] for call in calls}),
        "tokens_out": conversation.tokens_out,
    } | {name: task[name] for name in ("task_id", "route", "kind", "category", "source", "licence", "redistributable")}


def statistics(tasks: dict[str, Row], rollouts: list[Row], verdict: dict[str, str], kept: list[Row]) -> list[Row]:
    """One row per (route, teacher) with rollouts on training tasks, and one for all."""
    pairs = sorted({(tasks[row["task_id"]]["route"], row["model"]) for row in rollouts})
    rows = []
    for route, teacher in [*pairs, ("all", "all")]:

        def mine(row_route: str, row_teacher: str, route: str = route, teacher: str = teacher) -> bool:
            return route == "all" or (row_route, row_teacher) == (route, teacher)

        here = [row for row in rollouts if mine(tasks[row["task_id"]]["route"], row["model"])]
        reasons = Counter(verdict[row["rollout_id"]] for row in here)
        own = [row for row in kept if mine(row["route"], row["teacher"])]
        types = Counter(name for row in own for name in row["tool_types"])
        rows.append(
            {"route": route, "teacher": teacher, "rollouts": len(here), "kept": len(own)}
            | {reason: reasons[reason] for reason in LEFT_OUT}
            | {f"{name}_mean": fmean(row[name] for row in own) if own else None for name in ("reward", "turns", "tool_calls", "tokens_out")}
            | {"turns_max": max((row["turns"] for row in own), default=None), "tool_types": json.dumps(dict(sorted(types.items())))}
        )
    return rows
