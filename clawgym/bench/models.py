"""Which models the bench scores, and the endpoint each one is. Imported by rules/bench.smk: nothing heavy here."""

import hashlib
import json
from pathlib import Path

from clawgym.config import Config, Model, select

BASELINE = "baseline"
FEWSHOT = "results/bench/fewshot.jsonl"


def names(config: Config) -> list[str]:
    """The models of the bench table: students of the baseline variant, then the references."""
    return [*config.bench.students, *config.bench.references]


def ablated(config: Config) -> list[str]:
    """The models of the ablation table: those of the bench table and, per further variant, its trained students (`sft.<variant>`)."""
    stages = [stage for stage in ("sft", "rl") if stage in config.bench.students]
    return [*names(config), *(f"{stage}.{variant}" for variant in config.variants if variant != BASELINE for stage in stages)]


def checkpoint(model: str) -> str | None:
    """The checkpoint folder of a student; None for a model that is an entry under `models:`."""
    stage, _, variant = model.partition(".")
    if model in ("base", "base_fewshot"):
        return "results/training/base/checkpoint"
    return f"results/training/{variant or BASELINE}/{stage}/checkpoint" if stage in ("sft", "rl") else None


def files(model: str) -> dict[str, str]:
    """What must exist before a model can be asked: a student's checkpoint, and the worked examples of base_fewshot."""
    folder = checkpoint(model)
    return ({"checkpoint": folder} if folder else {}) | ({"prefix": FEWSHOT} if model == "base_fewshot" else {})


def tables(name: str, models: list[str]) -> list[str]:
    """The tables `rollouts`, `grades` or `scores` of the models, in their order."""
    return [f"results/bench/{'rollouts' if name == 'rollouts' else 'grades'}/{model}/{name}.parquet" for model in models]


def source(*names: str) -> str:
    """Hash of single modules of the bench, for `params`: an edit to how tables are made must not run the models again."""
    return hashlib.sha256(b"".join((Path(__file__).parent / name).read_bytes() for name in names)).hexdigest()[:12]


def endpoint(config: Config, model: str) -> Model:
    """Who answers for `model`: the served checkpoint of a student, or the entry under `models:` as it is.

    Students have the bench's own limits (a CPU serves them); references have those they were calibrated with.
    """
    serving = config.bench.serving
    if folder := checkpoint(model):
        return Model(
            base_url="checkpoint",
            model=folder,
            temperature=serving.temperature,
            max_tokens=serving.max_tokens,
            concurrency=serving.concurrency,
            timeout_s=serving.wall_s,
        )
    return config.models[model]


def calibration_settings(config: Config, model: str) -> str:
    """What `run_rollouts.py` gets as `--settings` for the calibration.

    Another seed than on the bench, so that no bench score repeats a rollout by which its item was chosen.
    """
    parts = json.loads(select(config, "rollouts", "sandbox", "spend", "seed", f"models.{model}"))
    parts["rollouts"]["attempts"] = config.bench.calibration.rollouts
    parts["seed"] += 1
    return json.dumps(parts, sort_keys=True)


def rollout_settings(config: Config, model: str) -> str:
    """What `run_rollouts.py` gets as `--settings` for this model on the bench: its endpoint, and the limits and attempts of the bench."""
    parts = json.loads(select(config, "rollouts", "sandbox", "spend", "seed"))
    parts["rollouts"]["attempts"] = config.bench.attempts
    if checkpoint(model):
        parts["bench.serving"] = config.bench.serving.model_dump(mode="json")
        parts["rollouts"] |= {"max_turns": config.bench.serving.max_turns, "wall_s": config.bench.serving.wall_s}
    parts[f"models.{model}"] = endpoint(config, model).model_dump(mode="json")
    return json.dumps(parts, sort_keys=True)
