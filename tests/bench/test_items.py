"""Which tasks become items: the gates of the paper, a row for every candidate, a choice that is even over kinds and blind to scores."""

from collections import Counter

import pytest

from clawgym.bench.items import Rules, candidates, fewshot, prefix, select_items
from clawgym.config import Calibration

RULES = Rules(Calibration(), {"heldout": 6, "unseen": 4}, seed=17)


def task(number: int, split: str = "heldout", kind: str = "save-value") -> dict:
    return {"task_id": f"t{number:03}", "kind": kind, "category": "finance", "split": split}


def scores(task_id: str, strong: list, weak: list) -> list[dict]:
    return [{"task_id": task_id, "model": name, "s_task": s} for name, values in (("strong", strong), ("weak", weak)) for s in values]


def verifiers(tasks: list[dict]) -> dict:
    return {t["task_id"]: {"code": "def grade(): ...", "rubric": []} for t in tasks}


@pytest.mark.parametrize(
    ("strong", "weak", "reason"),
    [
        ([1, 1, 1, 1], [0, 0, 0, 0], "kept"),
        ([1, 0, 0, 0], [0, 0, 0, 0], "kept"),  # 0.25 is enough
        ([0.2, 0.2, 0.2, 0.2], [0, 0, 0, 0], "kept"),  # the limits themselves pass
        ([1, 1, 1, 1], [0.6, 0.6, 0.6, 0.6], "kept"),
        ([0.1, 0.1, 0.1, 0.1], [0, 0, 0, 0], "strong_too_low"),
        ([1, 1, 1, 1], [1, 1, 1, 0], "weak_too_high"),
        ([0.5, 0.5, 0.5, 0.5], [0.5, 0.5, 0.5, 0.5], "no_gap"),
        ([1, None, None, None], [0, 0, 0, 0], "not_measured"),  # a failure of infrastructure is not a score of 0
        ([1, 1, None, None], [0, None, 0, 0], "kept"),
        ([], [], "not_measured"),
    ],
)
def test_gates(strong, weak, reason):
    tasks = [task(1)]
    (row,) = select_items(tasks, verifiers(tasks), scores("t001", strong, weak), RULES)
    assert (row["reason"], row["kept"]) == (reason, reason == "kept")


def test_every_task_of_both_splits_gets_a_row_and_training_tasks_none():
    tasks = [task(i) for i in range(20)] + [task(100 + i, "unseen", f"kind-{i % 3}") for i in range(9)] + [task(200, "train")]
    every = [row for t in tasks for row in scores(t["task_id"], [1] * 4, [0] * 4)]
    rows = select_items(tasks, verifiers(tasks), every, RULES)
    assert {row["task_id"] for row in rows} == {t["task_id"] for t in tasks} - {"t200"}
    reasons = Counter((row["suite"], row["reason"]) for row in rows)
    assert reasons == {
        ("heldout", "kept"): 6, ("heldout", "over_cap"): 3, ("heldout", "not_calibrated"): 11,
        ("unseen", "kept"): 4, ("unseen", "over_cap"): 2, ("unseen", "not_calibrated"): 3,
    }  # fmt: skip
    kinds = Counter(row["kind"] for row in rows if row["kept"] and row["suite"] == "unseen")
    assert sorted(kinds.values()) == [1, 1, 2]


def test_the_choice_does_not_follow_the_scores():
    tasks = [task(i) for i in range(9)]
    low = [row for t in tasks for row in scores(t["task_id"], [0.5] * 4, [0.4] * 4)]
    mixed = [row for i, t in enumerate(tasks) for row in scores(t["task_id"], [0.5 + 0.05 * i] * 4, [0.0] * 4)]
    kept = [{r["task_id"] for r in select_items(tasks, verifiers(tasks), s, RULES) if r["kept"]} for s in (low, mixed)]
    assert kept[0] == kept[1] and len(kept[0]) == 6


def test_a_new_task_moves_at_most_one_candidate():
    tasks = [task(i) for i in range(30)]
    before = {t["task_id"] for t in candidates(tasks, RULES)}
    after = {t["task_id"] for t in candidates([*tasks, task(99)], RULES)}
    assert len(before) == len(after) == 9 and len(after - before) <= 1


def test_an_empty_split_is_an_empty_suite():
    assert candidates([task(1, "train")], RULES) == []
    assert select_items([task(1, "train")], {}, [], RULES) == []


def test_item_kind_names_what_grades_it():
    tasks = [task(1), task(2), task(3)]
    have = {"t001": {"code": "x", "rubric": []}, "t002": {"code": "x", "rubric": [{}]}, "t003": {"code": None, "rubric": [{}]}}
    assert [row["item_kind"] for row in select_items(tasks, have, [], RULES)] == ["code", "hybrid", "rubric"]


def trajectory(name: str, kind: str, length: int) -> dict:
    messages = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "x" * length},
        {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "write", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "ok"},
        {"role": "assistant", "content": "Done."},
    ]
    return {"trajectory_id": name, "task_id": name, "kind": kind, "messages": messages}


def test_worked_examples_are_short_ones_of_different_kinds_from_training_tasks():
    rows = [trajectory("a", "k1", 30), trajectory("b", "k1", 10), trajectory("c", "k2", 20), trajectory("bench", "k3", 1)]
    assert [row["trajectory_id"] for row in fewshot(rows, {"a", "b", "c"}, 2)] == ["b", "c"]
    assert [row["trajectory_id"] for row in fewshot(rows, {"a", "b", "c"}, 3)] == ["b", "c", "a"]
    assert fewshot(rows, set(), 2) == []


def test_the_prefix_is_a_conversation_with_distinct_call_ids():
    messages = prefix([trajectory("a", "k1", 1)["messages"], trajectory("b", "k2", 1)["messages"]])
    assert [m["role"] for m in messages] == ["user", "assistant", "tool", "assistant"] * 2
    calls = [m["tool_calls"][0]["id"] for m in messages if m.get("tool_calls")]
    assert len(set(calls)) == 2 and calls == [m["tool_call_id"] for m in messages if m["role"] == "tool"]
