"""From rollouts and scores to the tables of the bench: results, summaries, paired differences, means per kind."""

from collections import defaultdict

import numpy as np

from clawgym.bench.schema import SUITES
from clawgym.bench.stats import Estimate, estimate, paired


def results(items: list[dict], model: str, attempts: int, rollouts: list[dict], scores: list[dict]) -> list[dict]:
    """One row (schema RESULT) per kept item and attempt of `model`. A rollout that is not there is `missing`, never left out."""
    ended = {(row["task_id"], row["attempt"]): row for row in rollouts}
    scored = {(row["task_id"], row["attempt"]): row for row in scores}
    rows = []
    for item in items:
        if not item["kept"]:
            continue
        for attempt in range(attempts):
            rollout, score = ended.get((item["task_id"], attempt)), scored.get((item["task_id"], attempt))
            s_task = score["s_task"] if score else None
            rows.append(
                {
                    "model": model,
                    **{name: item[name] for name in ("task_id", "suite", "category", "kind")},
                    "attempt": attempt,
                    "s_code": score["s_code"] if score else None,
                    "s_task": s_task,
                    "status": rollout["status"] if rollout else "missing",
                    "failure_kind": None if s_task is not None else _failure(rollout, score),
                    "turns": rollout["turns"] if rollout else None,
                }
            )
    return rows


def _failure(rollout: dict | None, score: dict | None) -> str:
    if rollout is None:
        return "missing"
    if rollout["failure_kind"]:
        return rollout["failure_kind"]
    return score["status"] if score else "not_graded"


def _task_scores(rows: list[dict], fill: float = np.nan) -> dict[str, float]:
    """Per task the mean of its attempts; a null attempt is left out (NaN if none is left) or counted as `fill`."""
    attempts: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        attempts[row["task_id"]].append(fill if row["s_task"] is None else row["s_task"])
    means = {}
    for task_id in sorted(attempts):
        values = [value for value in attempts[task_id] if not np.isnan(value)]
        means[task_id] = float(np.mean(values)) if values else np.nan
    return means


def _of(rows: list[dict], **wanted: str) -> list[dict]:
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def _mean(values: dict[str, float]) -> float | None:
    known = [value for value in values.values() if not np.isnan(value)]
    return float(np.mean(known)) if known else None


def summary(rows: list[dict], models: list[str], resamples: int, seed: int) -> list[dict]:
    """One row (schema SUMMARY) per suite and model, also for a suite without items (n = 0, no mean)."""
    table = []
    for suite in SUITES:
        for model in models:
            mine = _of(rows, suite=suite, model=model)
            result = estimate(np.array(list(_task_scores(mine).values())), resamples, seed)
            table.append(
                {
                    "suite": suite,
                    "model": model,
                    "n": result.n,
                    "mean": result.mean,
                    "ci_low": result.low,
                    "ci_high": result.high,
                    "n_null": sum(row["s_task"] is None for row in mine),
                    "mean_null_as_0": _mean(_task_scores(mine, 0.0)),
                    "mean_null_as_1": _mean(_task_scores(mine, 1.0)),
                }
            )
    return table


PAIRS = [("base", "sft"), ("base_fewshot", "sft"), ("best_base", "sft"), ("sft", "rl"), ("base", "rl"), ("best_base", "rl")]


def pairs(models: list[str]) -> list[tuple[str, str]]:
    """The comparisons of the bench among `models`, and per ablation the baseline's student against the variant's."""
    there = {*models} | ({"best_base"} if {"base", "base_fewshot"} & {*models} else set())
    variants = [(model.split(".")[0], model) for model in models if model.startswith(("sft.", "rl."))]
    return [pair for pair in PAIRS + variants if there.issuperset(pair)]


def paired_differences(rows: list[dict], models: list[str], resamples: int, seed: int) -> list[dict]:
    """One row (schema PAIRED) per suite and pair. `best_base` is chosen on the suite it is reported for, which favours the base."""
    table = []
    for suite in SUITES:
        scores = {model: _task_scores(_of(rows, suite=suite, model=model)) for model in models}
        means = {model: _mean(scores[model]) for model in ("base", "base_fewshot") if model in models}
        best = max(means, key=lambda model: -1.0 if means[model] is None else means[model], default=None)
        for a, b in pairs(models):
            measured = best if a == "best_base" else a
            tasks = sorted(scores[measured].keys() & scores[b].keys())
            result = Estimate(0, None, None, None)
            if tasks:
                result = paired([scores[measured][t] for t in tasks], [scores[b][t] for t in tasks], resamples, seed)
            table.append(
                {
                    "suite": suite,
                    "model_a": a,
                    "model_b": b,
                    "measured_a": measured if result.n else None,
                    "n": result.n,
                    "diff": result.mean,
                    "ci_low": result.low,
                    "ci_high": result.high,
                }
            )
    return table


def kinds(rows: list[dict], models: list[str]) -> list[dict]:
    """One row (schema KINDS) per suite, kind of work and model."""
    table = []
    for suite in SUITES:
        for kind in sorted({row["kind"] for row in rows if row["suite"] == suite}):
            for model in models:
                mine = _of(rows, suite=suite, kind=kind, model=model)
                scores = _task_scores(mine)
                n = sum(not np.isnan(value) for value in scores.values())
                nulls = sum(row["s_task"] is None for row in mine)
                table.append({"suite": suite, "kind": kind, "model": model, "n": n, "mean": _mean(scores), "n_null": nulls})
    return table


def text_table(table: list[dict]) -> str:
    """The summary as aligned text, for logs and terminals."""
    lines = []
    for suite in SUITES:
        mine = [row for row in table if row["suite"] == suite]
        if not any(row["n"] for row in mine):
            lines += [f"{suite}: no measured items", ""]
            continue
        width = max(len(row["model"]) for row in mine)
        lines.append(f"{suite}: {'model':{width}}    n   mean   95 % interval   nulls as 0 / 1")
        for row in mine:
            spread = "" if row["ci_low"] is None else f"{row['ci_low']:.2f} – {row['ci_high']:.2f}"
            nulls = f"{row['mean_null_as_0']:.2f} / {row['mean_null_as_1']:.2f} ({row['n_null']})" if row["n_null"] else ""
            mean = "   –" if row["mean"] is None else f"{row['mean']:.2f}"
            lines.append(f"{'':{len(suite)}}  {row['model']:{width}} {row['n']:4}   {mean}   {spread:13}   {nulls}".rstrip())
        lines.append("")
    return "\n".join(lines).rstrip()


def text_paired(table: list[dict]) -> str:
    """The paired differences as aligned text."""
    lines = []
    for row in table:
        if row["n"]:
            a = row["model_a"] if row["model_a"] == row["measured_a"] else f"{row['model_a']} ({row['measured_a']})"
            interval = "" if row["ci_low"] is None else f"   {row['ci_low']:+.2f} – {row['ci_high']:+.2f}"
            lines.append(f"{row['suite']:8} {a + ' → ' + row['model_b']:34} {row['diff']:+.2f}{interval}   n={row['n']}")
    return "\n".join(lines) or "no paired differences: no item has a score of two models"
