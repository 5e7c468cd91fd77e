"""The gates a task passes in a fixed order; the first that stops it is the reason it left.

Pure functions over the tables of the stages before: execution (cards), novelty, the judge's marks, then the balance of difficulties.
"""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from clawgym.config import Gates

GATES = ("sanity", "novelty", "judge", "plausibility", "coverage", "overstrictness", "balance")
EFFORTLESS = ("initial", "empty")
CHEAP = ("touch", "echo", "copy")
ACCEPTABLE = "mutant-reorder"  # where order does not matter, a grader is right to accept it


@dataclass(frozen=True)
class Drop:
    """Why a record left: the stage or gate, a typed reason, and the figure or message behind it."""

    stage: str
    reason: str
    detail: str | None = None


@dataclass(frozen=True)
class Card:
    """How a task's checks scored per workspace state: the mean, or null with the failure that kept it from being measured."""

    scores: dict[str, float | None] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def floor(self) -> float | None:
        """The best score without work; null if no such state was measured."""
        return max((score for state in (*EFFORTLESS, *CHEAP) if (score := self.scores.get(state)) is not None), default=None)

    @property
    def mutation_score(self) -> float | None:
        """Share of the oracle's mutants that score below it; null without any."""
        mutants = [
            score for state, score in self.scores.items() if state.startswith("mutant-") and state != ACCEPTABLE and score is not None
        ]
        oracle = self.scores.get("oracle")
        return sum(score < oracle for score in mutants) / len(mutants) if mutants and oracle is not None else None

    def only(self, *states: str) -> "Card":
        """The card with these states alone."""
        return Card(*({state: value for state, value in part.items() if state in states} for part in (self.scores, self.failures)))


def summarise_cards(rows: list[dict]) -> dict[str, Card]:
    """Card rows (one per state and check) → per task the code score of each state. One failed check leaves its state unmeasured."""
    by_task: dict[str, dict[str, list[dict]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        by_task[row["task_id"]][row["state"]].append(row)
    cards = {}
    for task_id, states in by_task.items():
        scores, failures = {}, {}
        for state, checks in states.items():
            failed = [check for check in checks if check["status"] != "ok" or check["score"] is None]
            if failed:
                scores[state], failures[state] = None, failed[0]["status"] if failed[0]["status"] != "ok" else "not_measured"
            else:
                scores[state] = sum(check["score"] for check in checks) / len(checks)
        cards[task_id] = Card(scores, failures)
    return cards


def sanity(card: Card | None, has_code: bool, gates: Gates) -> Drop | None:
    """Do the checks run in every state, give nothing for nothing and little for little, and does a reference solution satisfy them?

    A rubric-only task has no card. A task without a reference solution has no `oracle` state and is not held to it.
    """
    if not has_code:
        return None
    if card is None or not card.scores:
        return Drop("sanity", "no_card", "expected a card for a task with code checks")
    for state, failure in sorted(card.failures.items()):
        return Drop("sanity", failure, f"state {state}")
    for state in EFFORTLESS:
        score = card.scores.get(state)
        if score is not None and score > gates.max_effortless:
            return Drop("sanity", f"effortless_{state}", f"scores {score:.3f}, at most {gates.max_effortless:g} allowed")
    for state in CHEAP:
        score = card.scores.get(state)
        if score is not None and score > gates.max_cheap:
            return Drop("sanity", f"cheap_{state}", f"scores {score:.3f}, at most {gates.max_cheap:g} allowed")
    oracle = card.scores.get("oracle")
    if oracle is None:
        return None
    if oracle < gates.min_oracle:
        return Drop("sanity", "oracle_below", f"scores {oracle:.3f}, at least {gates.min_oracle:g} needed")
    stub = card.scores.get("stub")
    if stub is not None and oracle - stub < gates.min_separation:
        return Drop("sanity", "stub_too_close", f"scores {stub:.3f}, at least {gates.min_separation:g} below {oracle:.3f} needed")
    return None


def novelty(row: dict | None) -> Drop | None:
    if row is None:
        return Drop("novelty", "not_embedded", "expected a row in novelty.parquet")
    if not row["new"]:
        return Drop("novelty", "near_copy", f"cosine {row['cosine']:.3f} to {row['nearest_task_id']}")
    return None


def judged(row: dict | None, gates: Gates) -> Drop | None:
    """The judge's marks against their bounds. A judge that failed is a reason of its own and never a mark."""
    if row is None:
        return Drop("judge", "not_judged", "expected a row in judgements.parquet")
    if row["status"] != "ok":
        return Drop("judge", row["status"], row["detail"])
    if row["plausibility"] < gates.min_plausibility:
        return Drop("plausibility", "implausible", f"{row['plausibility']}, at least {gates.min_plausibility} needed")
    if row["coverage"] < gates.min_coverage:
        return Drop("coverage", "instruction_not_covered", f"{row['coverage']}, at least {gates.min_coverage} needed")
    if row["overstrictness"] > gates.max_overstrictness:
        return Drop("overstrictness", "checks_too_strict", f"{row['overstrictness']}, at most {gates.max_overstrictness} allowed")
    return None


def balance(difficulties: dict[str, str], max_share: float) -> dict[str, Drop]:
    """Which tasks leave so that no difficulty keeps more than `max_share` of the tasks that stay.

    difficulties: task id → difficulty in order of precedence; the latest leave. Tasks of a single difficulty cannot be balanced
    by leaving any out, and all stay.
    """
    counts = Counter(difficulties.values())
    if max_share >= 1 or len(counts) < 2:
        return {}
    kept = dict(counts)
    while True:
        # The limit follows from the *other* difficulties: k ≤ share · (k + others). It shrinks only, so this ends.
        limits = {d: max(1, math.floor(max_share / (1 - max_share) * (sum(kept.values()) - n) + 1e-9)) for d, n in kept.items()}
        over = max(kept, key=lambda d: kept[d] - limits[d])
        if kept[over] <= limits[over]:
            break
        kept[over] = limits[over]
    seen: Counter = Counter()
    drops = {}
    for task_id, difficulty in difficulties.items():
        seen[difficulty] += 1
        if seen[difficulty] > kept[difficulty]:
            drops[task_id] = Drop(
                "balance", "too_many_of_a_difficulty", f"{counts[difficulty]} {difficulty} tasks, room for {kept[difficulty]}"
            )
    return drops
