"""Every record gets exactly one decision, by the first gate that stops it; what was not measured is never taken for a score."""

import numpy as np
import pytest

from clawgym.config import Gates, Split
from clawgym.quality.decide import decide, first_drops, funnel
from clawgym.quality.gates import Card, Drop, balance, judged, sanity, summarise_cards
from clawgym.quality.novelty import keep_first
from clawgym.quality.split import split_tasks

GATES = Gates()
GOOD = {"status": "ok", "detail": None, "plausibility": 4, "difficulty": "easy", "coverage": 4, "overstrictness": 2, "complementarity": 3}


def card(state, score, status="ok", task_id="t", check_id="c"):
    return {"task_id": task_id, "state": state, "check_id": check_id, "score": score, "status": status}


def task(task_id, kind="save-value", route="persona"):
    return {"task_id": task_id, "seed_id": f"seed-{task_id}", "route": route, "kind": kind, "difficulty": "medium"}


# -- single gates ---------------------------------------------------------------------------------------------------------------


def test_a_card_is_the_mean_of_its_checks_per_state():
    rows = [card("initial", 0.0), card("initial", 1.0, check_id="d"), card("oracle", 1.0)]
    assert summarise_cards(rows)["t"].scores == {"initial": 0.5, "oracle": 1.0}


def test_one_crash_leaves_the_state_unmeasured_and_is_the_reason():
    summary = summarise_cards([card("initial", 1.0), card("initial", None, "grader_crash", check_id="d"), card("empty", 0.0)])["t"]
    assert summary.scores == {"initial": None, "empty": 0.0}
    assert sanity(summary, True, GATES).reason == "grader_crash"


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ({"initial": 0.0, "empty": 0.0, "oracle": 1.0}, None),
        ({"initial": 0.05, "empty": 0.05}, None),
        ({"initial": 0.06, "empty": 0.0}, "effortless_initial"),
        ({"initial": 0.0, "empty": 0.5}, "effortless_empty"),
        ({"initial": 0.0, "empty": 0.0, "oracle": 0.9}, "oracle_below"),
        ({"initial": 0.0, "empty": 0.0, "touch": 0.3, "echo": 0.3, "copy": 0.3, "oracle": 1.0}, None),
        ({"initial": 0.0, "empty": 0.0, "touch": 0.31}, "cheap_touch"),
        ({"initial": 0.0, "empty": 0.0, "echo": 0.5, "oracle": 1.0}, "cheap_echo"),
        ({"initial": 0.0, "empty": 0.0, "copy": 0.5, "oracle": 0.2}, "cheap_copy"),
        ({"initial": 0.0, "empty": 0.0, "stub": 0.8, "oracle": 1.0}, "stub_too_close"),
        ({"initial": 0.0, "empty": 0.0, "mutant-drop_row": 1.0, "tamper": 1.0, "oracle": 1.0}, None),
        ({}, "no_card"),
    ],
)
def test_checks_give_nothing_for_nothing_and_a_solution_satisfies_them(scores, reason):
    drop = sanity(Card(scores), True, GATES)
    assert (drop and drop.reason) == reason


def test_what_a_card_says_of_its_grader():
    made = Card(
        {"initial": 0.0, "echo": 0.4, "copy": None, "oracle": 1.0, "mutant-stale": 0.5, "mutant-drop_row": 1.0, "mutant-reorder": 1.0}
    )
    assert made.floor == 0.4 and made.mutation_score == 0.5
    assert Card({"oracle": 1.0}).mutation_score is None and Card().floor is None and Card({"mutant-stale": 0.0}).mutation_score is None
    assert Card({"initial": 0.0, "echo": 1.0}, {"copy": "grader_crash"}).only("initial") == Card({"initial": 0.0})


def test_a_task_with_code_needs_a_card_and_one_without_does_not():
    assert sanity(None, True, GATES).reason == "no_card"
    assert sanity(None, False, GATES) is None


@pytest.mark.parametrize(
    ("change", "stage"),
    [
        ({}, None),
        ({"plausibility": 2, "coverage": 1}, "plausibility"),
        ({"coverage": 2, "overstrictness": 5}, "coverage"),
        ({"overstrictness": 4}, "overstrictness"),
        ({"complementarity": None}, None),
    ],
)
def test_marks_are_compared_in_a_fixed_order(change, stage):
    drop = judged(GOOD | change, GATES)
    assert (drop and drop.stage) == stage


def test_a_judge_that_failed_is_a_reason_of_its_own():
    failed = {"status": "invalid_output", "detail": "no JSON"} | dict.fromkeys(["plausibility", "coverage", "overstrictness"])
    assert judged(failed, GATES) == Drop("judge", "invalid_output", "no JSON")
    assert judged(None, GATES).reason == "not_judged"


# -- balance --------------------------------------------------------------------------------------------------------------------


def test_no_difficulty_keeps_more_than_its_share_and_the_latest_leave():
    difficulties = {f"e{i}": "easy" for i in range(90)} | {f"m{i}": "medium" for i in range(6)} | {f"h{i}": "hard" for i in range(4)}
    drops = balance(difficulties, 0.85)
    kept = [task_id for task_id in difficulties if task_id not in drops]
    easy = [task_id for task_id in kept if difficulties[task_id] == "easy"]
    assert len(easy) == 56 and len(easy) / len(kept) <= 0.85 < 57 / 67  # 57 would be too many
    assert easy == [f"e{i}" for i in range(56)] and len(kept) == 66


def test_two_difficulties_can_be_over_a_small_share():
    difficulties = {f"e{i}": "easy" for i in range(50)} | {f"m{i}": "medium" for i in range(40)} | {f"h{i}": "hard" for i in range(10)}
    drops = balance(difficulties, 0.4)
    counts = [sum(d == name for t, d in difficulties.items() if t not in drops) for name in ("easy", "medium", "hard")]
    assert max(counts) <= 0.4 * sum(counts) and counts[2] == 10


@pytest.mark.parametrize("share", [0.0, 0.85, 1.0])
def test_a_single_difficulty_cannot_be_balanced(share):
    assert balance({"a": "easy", "b": "easy"}, share) == {}


# -- decisions ------------------------------------------------------------------------------------------------------------------


def decided(tasks, rejects=(), cards=(), judgements=None, not_new=(), split=None, gates=GATES):
    ids = [row["task_id"] for row in tasks]
    verifiers = {i: {"code": "def grade(): …"} for i in ids if i not in {row["record_id"] for row in rejects}}
    rows = [card(s, v, task_id=i) for i in ids for s, v in (("initial", 0.0), ("empty", 0.0), ("oracle", 1.0))]
    summary = summarise_cards([row for row in rows if row["task_id"] not in {c["task_id"] for c in cards}] + list(cards))
    novelty = {i: {"new": i not in not_new, "nearest_task_id": ids[0], "cosine": 0.97 if i in not_new else 0.2} for i in ids}
    marks = {i: GOOD for i in ids} | (judgements or {})
    drops = first_drops(tasks, list(rejects), verifiers, summary, novelty, marks, gates)
    return decide(tasks, drops, {"seed-lost": "skill"}, summary, novelty, marks, split or Split(heldout_per_group=1))


def reject(stage, record_id, reason="invalid_output"):
    return {"stage": stage, "record_id": record_id, "reason": reason, "detail": "…"}


def test_every_task_and_every_reject_is_decided_once_by_the_first_gate():
    tasks = [task(name) for name in ("ok", "no-file", "no-verifier", "free", "copy", "odd", "unjudged")]
    decisions, kept = decided(
        tasks,
        rejects=[reject("tasks", "seed-lost"), reject("resources", "no-file"), reject("verifiers", "no-verifier")],
        cards=[card("initial", 0.5, task_id="free")],
        not_new=("copy", "free"),  # `free` fails two gates
        judgements={
            "odd": GOOD | {"plausibility": 1, "coverage": 1},
            "unjudged": GOOD | {"status": "model_api", "plausibility": None, "difficulty": None},
        },
    )
    assert [row["task_id"] for row in decisions] == [*(row["task_id"] for row in tasks), "seed-lost"]
    why = {row["task_id"]: (row["stage"], row["reason"]) for row in decisions}
    assert why == {
        "ok": (None, None),
        "no-file": ("resources", "invalid_output"),
        "no-verifier": ("verifiers", "invalid_output"),
        "free": ("sanity", "effortless_initial"),
        "copy": ("novelty", "near_copy"),
        "odd": ("plausibility", "implausible"),
        "unjudged": ("judge", "model_api"),
        "seed-lost": ("tasks", "invalid_output"),
    }
    assert [row["task_id"] for row in kept] == ["ok"] and [row["kept"] for row in decisions].count(True) == 1
    unjudged = next(row for row in decisions if row["task_id"] == "unjudged")
    assert unjudged["plausibility"] is None and unjudged["difficulty"] is None
    assert next(row for row in decisions if row["task_id"] == "seed-lost")["route"] == "skill"


def test_kept_tasks_carry_the_difficulty_of_the_judge_and_the_claim():
    _, kept = decided([task("a")])
    assert (kept[0]["difficulty"], kept[0]["claimed_difficulty"]) == ("easy", "medium")


def test_a_task_that_a_stage_lost_is_an_error():
    with pytest.raises(ValueError, match="lost"):
        first_drops([task("a")], [], {}, {}, {}, {}, GATES)


def test_the_funnel_adds_up():
    tasks = [task("a"), task("b"), task("c", route="skill")]
    decisions, _ = decided(tasks, rejects=[reject("tasks", "seed-lost"), reject("resources", "b", "too_large")])
    skills = [{"synthesizable": True, "reasons": []}, {"synthesizable": False, "reasons": ["needs_key", "risk"]}]
    rows = funnel(decisions, personas=160, skills=skills)
    for route, seeds, kept in (("persona", 2, 1), ("skill", 2, 1)):
        road = [row for row in rows if row["route"] == route and row["step"] not in ("personas", "skills")]
        assert road[0]["step"] == "seeds" and road[0]["entered"] == seeds
        assert road[-1] == {"step": "kept", "route": route, "entered": kept, "left": 0, "reason": None}
        assert all(before["entered"] - before["left"] == after["entered"] for before, after in zip(road, road[1:], strict=False))
    assert {"step": "resources", "route": "persona", "entered": 2, "left": 1, "reason": "too_large 1"} in rows
    assert {"step": "skills", "route": "skill", "entered": 2, "left": 1, "reason": "needs_key 1"} in rows


# -- split ----------------------------------------------------------------------------------------------------------------------


def test_groups_are_unseen_or_trained_and_each_trained_group_gives_its_heldout_tasks():
    tasks = [task(f"s{i}", "save-value") for i in range(20)] + [task(f"u{i}", "rank-items") for i in range(3)] + [task("l", "lookup-row")]
    splits = split_tasks(tasks, Split(heldout_per_group=5))
    values = [splits[f"s{i}"] for i in range(20)]
    assert values.count("heldout") == 5 and values.count("train") == 15
    assert {splits[f"u{i}"] for i in range(3)} == {"unseen"} and splits["l"] == "heldout"


def test_naming_only_unseen_groups_trains_on_the_rest():
    tasks = [task("a", "x"), task("b", "y")]
    assert split_tasks(tasks, Split(train_groups=[], unseen_groups=["y"], heldout_per_group=0)) == {"a": "train", "b": "unseen"}
    assert set(split_tasks(tasks, Split(train_groups=[], heldout_per_group=0)).values()) == {"train"}


def test_the_split_is_stable_when_tasks_come_and_go():
    tasks = [task(f"s{i}") for i in range(40)]
    before = split_tasks(tasks, Split(heldout_per_group=10))
    after = split_tasks(list(reversed(tasks[1:])), Split(heldout_per_group=10))
    assert sum(before[i] != after[i] for i in after) <= 1


def test_no_heldout_task_is_a_near_copy_of_a_training_task():
    """The rule: novelty compares all tasks, so a copy leaves before the split, whatever the ids would have made of it."""
    rng = np.random.default_rng(8)
    base = rng.normal(size=(60, 16))
    vectors = np.concatenate([base, base + rng.normal(scale=0.08, size=base.shape)]).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    new = keep_first(vectors, 0.95).new
    tasks = [task(f"t{i}") for i in range(len(vectors))]
    decisions, _ = decided(tasks, not_new={f"t{i}" for i in np.flatnonzero(~new)}, split=Split(heldout_per_group=20))
    of = {name: vectors[[row["split"] == name for row in decisions]] for name in ("train", "heldout")}
    assert len(of["heldout"]) == 20 and len(of["train"]) >= 20
    assert (of["heldout"] @ of["train"].T).max() < 0.95
