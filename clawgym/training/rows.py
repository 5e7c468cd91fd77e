"""Trajectories as token rows with a mask: loss on what the model said (reasoning, content, tool calls, end of turn) and on nothing else."""

import json
from collections.abc import Iterable
from typing import Any

from clawgym.errors import UserError
from clawgym.shards import belongs

EVAL_BUCKETS = 1000


def training_template(tokenizer: Any) -> str:
    """The chat template with generation markers: the same text, and it is known which tokens are the model's."""
    from trl.chat_template_utils import get_training_chat_template, has_generation_markers

    if has_generation_markers(tokenizer.chat_template):
        return tokenizer.chat_template
    return get_training_chat_template(tokenizer)


def trim(mask: list[int], input_ids: list[int], eos: int) -> list[int]:
    """The mask without what a template writes after an end of turn (ChatML: a newline), which the model never has to write."""
    trimmed, ended = [], False
    for token, trained in zip(input_ids, mask, strict=True):
        ended = ended and bool(trained)
        trimmed.append(0 if ended else trained)
        ended = ended or bool(trained and token == eos)
    return trimmed


def tokenise(trajectory: dict[str, Any], tokenizer: Any, template: str, max_length: int) -> dict[str, Any]:
    """One row (`ROW` without `split`) of a trajectory.

    Arguments and tools are JSON strings in the trajectory: the arguments go to the template as the text the model wrote.
    Raises ValueError if the template marks no token, since such a row would silently train nothing.
    """
    encoded = tokenizer.apply_chat_template(
        json.loads(trajectory["messages"]),
        tools=json.loads(trajectory["tools"]) or None,
        chat_template=template,
        tokenize=True,
        return_dict=True,
        return_assistant_tokens_mask=True,
    )
    input_ids = list(encoded["input_ids"])
    mask = trim(list(encoded["assistant_masks"]), input_ids, tokenizer.eos_token_id)
    if not any(mask):
        raise ValueError(f"trajectory {trajectory['trajectory_id']}: the chat template marks no token as the model's")
    mask = mask[:max_length]
    return {
        "trajectory_id": trajectory["trajectory_id"],
        "input_ids": input_ids[:max_length],
        "assistant_masks": mask,
        "n_loss_tokens": sum(mask),
        "truncated": len(input_ids) > max_length,
    }


def is_eval(task_id: str, fraction: float) -> bool:
    """Is the task kept for the evaluation loss? All trajectories of a task are on the same side, whatever else there is."""
    return any(belongs(f"eval:{task_id}", bucket, EVAL_BUCKETS) for bucket in range(round(fraction * EVAL_BUCKETS)))


def build_rows(trajectories: Iterable[dict[str, Any]], tokenizer: Any, max_length: int, eval_fraction: float) -> list[dict[str, Any]]:
    """All rows, in the order of the trajectories. Raises UserError if none is short enough to train on."""
    template = training_template(tokenizer)
    rows = [
        tokenise(trajectory, tokenizer, template, max_length)
        | {"split": "eval" if is_eval(trajectory["task_id"], eval_fraction) else "train"}
        for trajectory in trajectories
    ]
    if not any(row["split"] == "train" and not row["truncated"] for row in rows):
        raise UserError(
            f"training.sft.max_length: none of {len(rows)} trajectories fits into {max_length} tokens; raise it, or see their table"
        )
    return rows
