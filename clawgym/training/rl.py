"""GRPO with tools in the sandbox and the code checks as reward (paper: lr 1e-6, 8 x 8 rollouts, temperature 0.7, clip 0.2/0.28, KL 0)."""

import copy
import hashlib
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import add_response_schema

from clawgym.config import Rl
from clawgym.errors import UserError
from clawgym.tables import fingerprint
from clawgym.training.checkpoints import folder_digest, open_work
from clawgym.training.episodes import Episode, identity, reward_function
from clawgym.training.launch import spare_deepspeed_build
from clawgym.training.precision import use_bf16
from clawgym.training.sft import save


def choose(tasks: list[dict[str, Any]], count: int, seed: int) -> list[dict[str, Any]]:
    """`count` training tasks that have a grader, drawn by hash: the same tasks whatever the order. Raises UserError if there is none."""
    usable = [task for task in tasks if task["split"] == "train" and task["code"]]
    if not usable:
        raise UserError("results/quality/tasks.parquet: no training task has code checks; RL needs some, see the funnel")
    return sorted(usable, key=lambda task: hashlib.sha256(f"{seed}:{task['task_id']}".encode()).digest())[:count]


def prompts(tasks: list[dict[str, Any]], system: str) -> list[dict[str, Any]]:
    """Dataset rows: the messages that the `lite` runtime begins with, and the task for the episode."""
    return [
        {
            "prompt": [{"role": "system", "content": system}, {"role": "user", "content": task["instruction"]}],
            "task_id": task["task_id"],
        }
        for task in tasks
    ]


def prompt_rows(rows: list[dict[str, Any]], tokenizer: Any, schemas: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The prompts as rows of `ROW`: what the model sees first, nothing of it in the loss."""
    made = []
    for row in rows:
        ids = tokenizer.apply_chat_template(row["prompt"], tools=schemas, add_generation_prompt=True, tokenize=True, return_dict=True)[
            "input_ids"
        ]
        made.append(
            {
                "trajectory_id": row["task_id"],
                "input_ids": list(ids),
                "assistant_masks": [0] * len(ids),
                "n_loss_tokens": 0,
                "truncated": False,
                "split": "train",
            }
        )
    return made


class Trainer(GRPOTrainer):
    """GRPOTrainer that shows the model the given tool schemas instead of those made from the methods' docstrings."""

    def __init__(self, *args: Any, schemas: list[dict[str, Any]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._env_tools = dict.fromkeys(self._env_tools, schemas)


def arguments(settings: Rl, work: Path, seed: int, processes: int) -> GRPOConfig:
    if settings.rollouts_per_prompt % processes:
        raise UserError(f"training.rl.rollouts_per_prompt: {settings.rollouts_per_prompt} does not divide among {processes} processes")
    return GRPOConfig(
        output_dir=str(work),
        max_steps=settings.steps,
        per_device_train_batch_size=settings.rollouts_per_prompt // processes,
        gradient_accumulation_steps=settings.prompts_per_step,
        num_generations=settings.rollouts_per_prompt,
        max_completion_length=settings.max_completion_tokens,
        max_tool_calling_iterations=settings.max_turns,
        temperature=settings.temperature,
        epsilon=settings.clip_low,
        epsilon_high=settings.clip_high,
        beta=settings.kl,
        loss_type="grpo",
        learning_rate=settings.learning_rate,
        lr_scheduler_type="constant",
        bf16=use_bf16(settings.precision),
        use_cpu=not torch.cuda.is_available(),
        gradient_checkpointing=settings.gradient_checkpointing,
        deepspeed=settings.deepspeed,
        save_steps=settings.save_steps,
        save_total_limit=1,
        logging_steps=1,
        seed=seed,
        data_seed=seed,
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=torch.cuda.is_available(),
    )


def train(
    rows: list[dict[str, Any]],
    environment: type[Episode],
    schemas: list[dict[str, Any]],
    start: Path,
    work: Path,
    out: Path,
    settings: Rl,
    seed: int,
    parallel: int = 1,
) -> list[dict[str, Any]]:
    """Train the model in `start` on the prompts, write the checkpoint folder `out`, return the rows of `RL_METRICS`.

    rows: of `prompts`. schemas: the tools as the runtime offers them. work: as in `sft.train`.
    parallel: graders at work at the same time.
    """
    if settings.deepspeed and not Path(settings.deepspeed).is_file():
        raise UserError(f"training.rl.deepspeed: there is no file {settings.deepspeed}; see config/deepspeed/")
    if settings.deepspeed:
        spare_deepspeed_build()
    saved = AutoTokenizer.from_pretrained(start)
    tokenizer = add_response_schema(copy.deepcopy(saved))  # the trainer calls tools with parsed arguments; the server passes them as text
    tokenizer.padding_side = "left"
    args = arguments(settings, work, seed, settings.processes)
    mark = fingerprint([rows, schemas, settings.model_dump(), seed, folder_digest(start), identity(environment)])
    with args.main_process_first(local=False):
        last = open_work(work, mark)
    trainer = Trainer(
        model=AutoModelForCausalLM.from_pretrained(start, dtype=torch.float32),
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        reward_funcs=reward_function(parallel),
        environment_factory=environment,
        schemas=schemas,
    )
    if last:
        print(f"going on from step {last.name.rpartition('-')[2]}", flush=True)
    try:
        trainer.train(resume_from_checkpoint=str(last) if last else None)
    finally:
        for episodes in trainer._environment_pool.values():
            for episode in episodes:
                episode._close()
    save(trainer, saved, out)
    return curve(trainer.state.log_history)


def curve(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of `RL_METRICS` from the trainer's log. A number that was not measured is null."""

    def value(entry: dict[str, Any], key: str) -> float | None:
        found = entry.get(key)
        return None if found is None or found != found else float(found)

    return [
        {
            "step": int(entry["step"]),
            "loss": float(entry["loss"]),
            "grad_norm": value(entry, "grad_norm"),
            "lr": float(entry["learning_rate"]),
            "reward_mean": value(entry, "reward"),
            "reward_std": value(entry, "reward_std"),
            "zero_variance": value(entry, "frac_reward_zero_std"),
            "unscored": round(value(entry, "unscored") or 0),
            "completion_tokens": float(entry["completions/mean_length"]),
            "tool_calls": value(entry, "tools/call_frequency"),
            "clip_ratio": value(entry, "clip_ratio/region_mean"),
            "seconds": float(entry["step_time"]),
        }
        for entry in history
        if "reward" in entry
    ]
