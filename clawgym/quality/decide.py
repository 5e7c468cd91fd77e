"""One decision for every record, the funnel that counts them, and the tasks that stay, with their split."""

from collections import Counter

from clawgym.config import Split
from clawgym.quality import gates
from clawgym.quality.gates import Card, Drop
from clawgym.quality.split import split_tasks

SYNTHESIS = ("tasks", "resources", "verifiers")
ROUTES = ("persona", "skill")


def first_drops(
    tasks: list[dict],
    rejects: list[dict],
    verifiers: dict[str, dict],
    cards: dict[str, Card],
    novelty: dict[str, dict],
    judgements: dict[str, dict],
    settings: gates.Gates,
) -> dict[str, Drop]:
    """Record id → why it left first, for tasks and for rejects that never became a task. Who is not in it stays.

    tasks: all of tasks.parquet, in order. rejects: of the stages in SYNTHESIS.
    Raises ValueError if a task has neither a verifier nor a reject that says why.
    """
    drops: dict[str, Drop] = {}
    for row in sorted(rejects, key=lambda row: SYNTHESIS.index(row["stage"])):
        drops.setdefault(row["record_id"], Drop(row["stage"], row["reason"], row["detail"]))
    passed: dict[str, str] = {}
    for task in tasks:
        task_id = task["task_id"]
        if task_id in drops:
            continue
        if task_id not in verifiers:
            raise ValueError(f"task {task_id} is neither in verifiers.parquet nor among the rejects: a stage has lost it")
        drop = (
            gates.sanity(cards.get(task_id), bool(verifiers[task_id]["code"]), settings)
            or gates.novelty(novelty.get(task_id))
            or gates.judged(judgements.get(task_id), settings)
        )
        if drop:
            drops[task_id] = drop
        else:
            passed[task_id] = judgements[task_id]["difficulty"]
    return drops | gates.balance(passed, settings.max_difficulty_share)


def decide(
    tasks: list[dict],
    drops: dict[str, Drop],
    seed_routes: dict[str, str],
    cards: dict[str, Card],
    novelty: dict[str, dict],
    judgements: dict[str, dict],
    settings: Split,
) -> tuple[list[dict], list[dict]]:
    """Rows of decisions.parquet (every task, then every reject that never became one) and of quality/tasks.parquet (who stays).

    tasks: all of tasks.parquet; those that stay need their file contents. seed_routes: seed id → route, for rejects of the tasks stage.
    """
    kept = []
    for task in tasks:
        if task["task_id"] not in drops:
            judged = judgements[task["task_id"]]["difficulty"]
            kept.append(task | {"claimed_difficulty": task["difficulty"], "difficulty": judged})
    splits = split_tasks(kept, settings)
    for task in kept:
        task["split"] = splits[task["task_id"]]
    routes = {task["task_id"]: task["route"] for task in tasks}
    decisions = []
    for record_id in [*routes, *(record_id for record_id in drops if record_id not in routes)]:
        drop = drops.get(record_id)
        near, judgement = novelty.get(record_id, {}), judgements.get(record_id, {})
        card = cards.get(record_id, Card())
        decisions.append(
            {
                "task_id": record_id,
                "route": routes.get(record_id) or seed_routes[record_id],
                "kept": drop is None,
                "stage": drop.stage if drop else None,
                "reason": drop.reason if drop else None,
                "detail": drop.detail if drop else None,
                "split": splits.get(record_id),
                "nearest_task_id": near.get("nearest_task_id"),
                "cosine": near.get("cosine"),
                "plausibility": judgement.get("plausibility"),
                "difficulty": judgement.get("difficulty"),
                "coverage": judgement.get("coverage"),
                "overstrictness": judgement.get("overstrictness"),
                "complementarity": judgement.get("complementarity"),
                "s_initial": card.scores.get("initial"),
                "s_empty": card.scores.get("empty"),
                "s_floor": card.floor,
                "s_stub": card.scores.get("stub"),
                "s_tamper": card.scores.get("tamper"),
                "s_oracle": card.scores.get("oracle"),
                "mutation_score": card.mutation_score,
            }
        )
    return decisions, kept


def funnel(decisions: list[dict], personas: int, skills: list[dict]) -> list[dict]:
    """Rows of funnel.parquet: how many records of each route reached a step and how many left there, and why.

    The first steps count what seeds are made of (personas drawn; skills found, and why some cannot be used), the others seeds and
    the tasks made from them. `kept` is what came through.
    """
    unused = Counter(reason for skill in skills if not skill["synthesizable"] for reason in skill["reasons"][:1] or ["not_synthesizable"])
    rows = [
        {"step": "personas", "route": "persona", "entered": personas, "left": 0, "reason": None},
        {"step": "skills", "route": "skill", "entered": len(skills), "left": sum(unused.values()), "reason": _reasons(unused)},
    ]
    for route in ROUTES:
        of_route = [row for row in decisions if row["route"] == route]
        remaining = len(of_route)
        rows.append({"step": "seeds", "route": route, "entered": remaining, "left": 0, "reason": None})
        for step in (*SYNTHESIS, *gates.GATES):
            reasons = Counter(row["reason"] for row in of_route if row["stage"] == step)
            left = sum(reasons.values())
            rows.append({"step": step, "route": route, "entered": remaining, "left": left, "reason": _reasons(reasons)})
            remaining -= left
        rows.append({"step": "kept", "route": route, "entered": remaining, "left": 0, "reason": None})
    return rows


def _reasons(counts: Counter) -> str | None:
    return ", ".join(f"{reason} {n}" for reason, n in counts.most_common()) or None


def describe(rows: list[dict], tasks: list[dict]) -> str:
    """The funnel and the splits as lines for a terminal."""
    lines = [f"{'step':<15} {'route':<8} {'entered':>8} {'left':>6}  reasons"]
    lines += [f"{row['step']:<15} {row['route']:<8} {row['entered']:>8} {row['left']:>6}  {row['reason'] or ''}".rstrip() for row in rows]
    splits = Counter(task["split"] for task in tasks)
    return "\n".join([*lines, "splits: " + (", ".join(f"{name} {splits[name]}" for name in sorted(splits)) or "no task was kept")])
