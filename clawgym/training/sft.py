"""Supervised fine-tuning on trajectories with TRL (paper: loss on assistant tokens only).

All weights or LoRA (merged when saved), one process or torchrun with or without DeepSpeed. A killed run goes on from its work folder.
"""

import time
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

from clawgym.config import Sft
from clawgym.errors import UserError
from clawgym.tables import fingerprint
from clawgym.training.batches import collate
from clawgym.training.checkpoints import folder_digest, open_work, writing_folder
from clawgym.training.launch import spare_deepspeed_build
from clawgym.training.precision import use_bf16


class Trainer(SFTTrainer):
    """SFTTrainer that computes logits only where a token is trained, and logs tokens and seconds of every step."""

    def compute_loss(self, model: Any, inputs: dict, return_outputs: bool = False, num_items_in_batch: Any = None) -> Any:
        targets = inputs["labels"][:, 1:]
        # Most of a conversation is not trained on, and the vocabulary is a fifth of a small model's work.
        keep = (targets != -100).any(0).nonzero()[:, 0]
        outputs = model(
            **{name: inputs[name] for name in ("input_ids", "position_ids", "attention_mask")}, logits_to_keep=keep, use_cache=False
        )
        logits, targets = outputs.logits.float().flatten(0, 1), targets[:, keep].flatten()
        loss = torch.nn.functional.cross_entropy(logits, targets, ignore_index=-100, reduction="sum")
        loss = loss / ((targets != -100).sum() if num_items_in_batch is None else num_items_in_batch)
        if self.args.average_tokens_across_devices and num_items_in_batch is not None:
            loss = loss * self.accelerator.num_processes  # the count is over all processes, gradients are averaged over them
        return (loss, outputs) if return_outputs else loss

    def training_step(self, model: Any, inputs: dict, num_items_in_batch: Any = None) -> Any:
        self.tokens = getattr(self, "tokens", 0) + inputs["input_ids"].numel()
        self.began = getattr(self, "began", None) or time.monotonic()
        return super().training_step(model, inputs, num_items_in_batch)

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        if "loss" in logs:
            logs |= {"tokens": self.tokens, "seconds": time.monotonic() - self.began}
            self.tokens, self.began = 0, None
        super().log(logs, start_time)


def dataset(rows: list[dict[str, Any]], split: str) -> Dataset:
    """input_ids and labels of the rows of a split that are not truncated."""
    chosen = [row for row in rows if row["split"] == split and not row["truncated"]]
    return Dataset.from_dict(
        {
            "input_ids": [row["input_ids"] for row in chosen],
            "labels": [
                [token if trained else -100 for token, trained in zip(row["input_ids"], row["assistant_masks"], strict=True)]
                for row in chosen
            ],
        }
    )


def arguments(settings: Sft, work: Path, seed: int, has_eval: bool) -> SFTConfig:
    every = max(1, settings.steps // settings.evaluations) if settings.evaluations else 0
    return SFTConfig(
        output_dir=str(work),
        max_steps=settings.steps,
        per_device_train_batch_size=settings.batch_size,
        per_device_eval_batch_size=settings.batch_size,
        gradient_accumulation_steps=settings.gradient_accumulation,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=round(settings.warmup * settings.steps),
        weight_decay=settings.weight_decay,
        max_grad_norm=1.0,
        optim="adamw_torch_fused",
        bf16=use_bf16(settings.precision),
        use_cpu=not torch.cuda.is_available(),
        max_length=None,
        dataset_kwargs={"skip_prepare_dataset": True},
        gradient_checkpointing=settings.gradient_checkpointing,
        deepspeed=settings.deepspeed,
        eval_strategy="steps" if has_eval and every else "no",
        eval_steps=every or None,
        prediction_loss_only=True,
        save_steps=settings.save_steps,
        save_total_limit=1,
        logging_steps=1,
        seed=seed,
        data_seed=seed,
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
        ddp_find_unused_parameters=False,
        dataloader_pin_memory=torch.cuda.is_available(),
    )


def adapters(settings: Sft) -> Any:
    if not settings.lora_rank:
        return None
    from peft import LoraConfig

    return LoraConfig(r=settings.lora_rank, lora_alpha=2 * settings.lora_rank, target_modules="all-linear", task_type="CAUSAL_LM")


def train(rows: list[dict[str, Any]], base: Path, work: Path, out: Path, settings: Sft, seed: int) -> list[dict[str, Any]]:
    """Train the model in `base` on the rows, write the checkpoint folder `out`, return the rows of `SFT_METRICS`.

    work: folder for the state of an unfinished run, outside rule outputs; a run with the same rows, settings and base goes on from there.
    With several processes every one calls this; the first writes.
    """
    tokenizer = AutoTokenizer.from_pretrained(base)
    train_set, eval_set = dataset(rows, "train"), dataset(rows, "eval")
    if settings.deepspeed and not Path(settings.deepspeed).is_file():
        raise UserError(f"training.sft.deepspeed: there is no file {settings.deepspeed}; see config/deepspeed/")
    if settings.deepspeed:
        spare_deepspeed_build()
    args = arguments(settings, work, seed, len(eval_set) > 0)
    mark = fingerprint([rows, settings.model_dump(), seed, folder_digest(base)])
    with args.main_process_first(local=False):
        last = open_work(work, mark)
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    trainer = Trainer(
        model=model,
        args=args,
        train_dataset=train_set,
        eval_dataset=eval_set if len(eval_set) else None,
        processing_class=tokenizer,
        data_collator=lambda examples: collate(examples, tokenizer.pad_token_id),
        peft_config=adapters(settings),
    )
    if last:
        print(f"going on from step {last.name.rpartition('-')[2]}", flush=True)
    trainer.train(resume_from_checkpoint=str(last) if last else None)
    if settings.deepspeed and not trainer.is_deepspeed_enabled:
        raise RuntimeError("accelerate trained without DeepSpeed although training.sft.deepspeed is set")
    if args.process_index == 0:
        print(f"trained by {args.world_size} process(es), {type(trainer.model_wrapped).__name__}, bfloat16 {args.bf16}", flush=True)
    save(trainer, tokenizer, out)
    return curve(trainer.state.log_history)


def save(trainer: Any, tokenizer: Any, out: Path) -> None:
    """The trained model with merged adapters and its tokenizer, as a folder that `transformers serve` answers from.

    Called by every process: the weights of a sharded model are gathered from all of them.
    """
    model = trainer.accelerator.unwrap_model(trainer.model)
    first = trainer.args.process_index == 0
    state = trainer.accelerator.get_state_dict(trainer.model_wrapped) if trainer.is_deepspeed_enabled else None
    if not first:
        return
    if hasattr(model, "merge_and_unload"):
        if state is not None:
            raise UserError("training.sft: LoRA adapters cannot be merged under DeepSpeed here; set lora_rank to 0 or deepspeed to null")
        model = model.merge_and_unload()
    if state is not None:  # gathered weights are copies, so that tied ones would be saved twice
        state = {name: weight for name, weight in state.items() if name not in model.all_tied_weights_keys}
    with writing_folder(out) as folder:
        model.save_pretrained(folder, state_dict=state)
        tokenizer.save_pretrained(folder)


def curve(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of `SFT_METRICS`, one per step, from the trainer's log."""
    names = {
        "loss": "loss",
        "grad_norm": "grad_norm",
        "learning_rate": "lr",
        "tokens": "tokens",
        "seconds": "seconds",
        "eval_loss": "eval_loss",
    }
    steps: dict[int, dict[str, Any]] = {}
    for entry in history:
        row = steps.setdefault(int(entry["step"]), {"step": int(entry["step"])} | dict.fromkeys(names.values()))
        row |= {names[key]: value for key, value in entry.items() if key in names}
    return [row for row in (steps[step] for step in sorted(steps)) if row["loss"] is not None or row["eval_loss"] is not None]
