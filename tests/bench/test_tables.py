"""The bench tables: nulls are shown and never become 0, empty suites do not crash, differences are b - a over shared tasks."""

import pytest

from clawgym.bench.models import ablated, calibration_settings, endpoint, names, rollout_settings
from clawgym.bench.schema import KINDS, PAIRED, RESULT, SUMMARY
from clawgym.bench.tables import kinds, paired_differences, pairs, results, summary, text_paired, text_table
from clawgym.config import Settings, load
from clawgym.tables import write_table

MODELS = ["base", "base_fewshot", "sft", "rl"]


def row(model: str, task_id: str, score: float | None, suite: str = "heldout", attempt: int = 0) -> dict:
    return {
        "model": model, "task_id": task_id, "suite": suite, "category": "finance", "kind": "save-value", "attempt": attempt,
        "s_code": score, "s_task": score, "status": "finished", "failure_kind": None if score is not None else "judge", "turns": 2,
    }  # fmt: skip


def bench() -> list[dict]:
    solved = {"base": 0, "base_fewshot": 3, "sft": 8, "rl": 9}
    return [row(model, f"t{i}", float(i < count)) for i in range(10) for model, count in solved.items()]


def find(table: list[dict], **wanted) -> dict:
    (found,) = [r for r in table if all(r[k] == v for k, v in wanted.items())]
    return found


def test_summary_and_paired_of_a_known_bench(tmp_path):
    means = summary(bench(), MODELS, 2000, 17)
    assert find(means, suite="heldout", model="sft")["mean"] == 0.8
    differences = paired_differences(bench(), MODELS, 2000, 17)
    best = find(differences, suite="heldout", model_a="best_base", model_b="sft")
    assert best["measured_a"] == "base_fewshot" and best["diff"] == pytest.approx(0.5) and best["ci_low"] > 0
    assert find(differences, suite="heldout", model_a="sft", model_b="rl")["diff"] == pytest.approx(0.1)
    tables = [(means, SUMMARY), (differences, PAIRED), (kinds(bench(), MODELS), KINDS), (bench(), RESULT)]
    for number, (table, schema) in enumerate(tables):
        write_table(table, schema, tmp_path / f"{number}.parquet", {})
    assert "sft" in text_table(means) and "best_base (base_fewshot) → sft" in text_paired(differences)


def test_nulls_are_left_out_and_bounded():
    rows = [row("sft", "a", 1.0), row("sft", "b", None), row("sft", "c", 0.0), row("sft", "c", None, attempt=1)]
    line = find(summary(rows, ["sft"], 500, 1), suite="heldout")
    assert (line["n"], line["mean"], line["n_null"]) == (2, 0.5, 2)
    assert line["mean_null_as_0"] == pytest.approx(1 / 3) and line["mean_null_as_1"] == pytest.approx((1 + 1 + 0.5) / 3)


def test_attempts_of_a_task_are_one_unit():
    rows = [row("sft", "a", 1.0, attempt=i) for i in range(8)] + [row("sft", "b", 0.0)]
    assert find(summary(rows, ["sft"], 500, 1), suite="heldout")["mean"] == 0.5


def test_an_empty_bench_gives_empty_rows_and_a_clear_line():
    means = summary([], MODELS, 500, 1)
    assert len(means) == 2 * len(MODELS) and all(r["n"] == 0 and r["mean"] is None for r in means)
    assert all(r["n"] == 0 and r["diff"] is None for r in paired_differences([], MODELS, 500, 1))
    assert kinds([], MODELS) == []
    assert text_table(means) == "heldout: no measured items\n\nunseen: no measured items"
    assert text_paired(paired_differences([], MODELS, 500, 1)).startswith("no paired differences")


def test_a_model_that_was_never_measured_does_not_crash_the_pairs():
    rows = [row("base", "a", None), row("base_fewshot", "a", None), row("sft", "a", 1.0), row("rl", "a", 1.0)]
    line = find(paired_differences(rows, MODELS, 500, 1), suite="heldout", model_a="best_base", model_b="sft")
    assert (line["n"], line["diff"], line["measured_a"]) == (0, None, None)


def test_a_missing_rollout_is_a_result_without_score():
    item = {"task_id": "a", "suite": "heldout", "category": "finance", "kind": "k", "kept": True}
    rollouts = [{"task_id": "a", "attempt": 0, "status": "turn_limit", "failure_kind": None, "turns": 5}]
    scores = [{"task_id": "a", "attempt": 0, "s_code": 0.0, "s_task": 0.0, "status": "ok"}]
    rows = results([item, item | {"task_id": "b", "kept": False}], "sft", 2, rollouts, scores)
    assert [(r["status"], r["s_task"], r["failure_kind"]) for r in rows] == [("turn_limit", 0.0, None), ("missing", None, "missing")]


def test_models_of_the_bench_and_of_ablations():
    config = load({"variants": {"baseline": {}, "threshold-0.6": {"trajectories": {"min_reward": 0.6}}}})
    assert names(config) == ["base", "base_fewshot", "sft", "rl", "strong", "weak"]
    assert ablated(config)[-2:] == ["sft.threshold-0.6", "rl.threshold-0.6"]
    assert endpoint(config, "sft").model == "results/training/baseline/sft/checkpoint"
    assert endpoint(config, "rl.threshold-0.6").model == "results/training/threshold-0.6/rl/checkpoint"
    assert endpoint(config, "strong") == config.models["strong"]
    assert ("sft", "sft.threshold-0.6") in pairs(ablated(config))
    settings = Settings(rollout_settings(config, "sft"))
    assert settings["rollouts"].attempts == config.bench.attempts and settings["rollouts"].max_turns == config.bench.serving.max_turns
    assert settings["models.sft"].base_url == "checkpoint"


def test_calibration_is_independent_of_the_bench():
    config = load({})
    bench, calibration = Settings(rollout_settings(config, "strong")), Settings(calibration_settings(config, "strong"))
    assert calibration["seed"] != bench["seed"] and calibration["rollouts"].attempts == config.bench.calibration.rollouts
    assert calibration["models.strong"] == bench["models.strong"]
