"""Batches that compute what their conversations have in common once.

All trajectories of a run begin with the same system prompt and tools, often most of a short conversation. A batch becomes one sequence,
the common beginning followed by every conversation's rest, with positions that restart after the beginning and a mask that lets a
rest see the beginning and itself. Losses and gradients are those of separate sequences; the work is less, and nothing is padded.
"""

from typing import Any

import torch

MAX_JOINED = 4096  # tokens; the mask of a joined batch has the square of it, so longer batches are padded instead


def common_prefix(rows: list[list[int]]) -> int:
    """Number of tokens that all rows begin with."""
    shortest = min(len(row) for row in rows)
    return next((i for i in range(shortest) if len({row[i] for row in rows}) > 1), shortest)


def collate(examples: list[dict[str, Any]], pad: int) -> dict[str, torch.Tensor]:
    """`input_ids`, `labels` (-100 where no loss), `position_ids` and `attention_mask` of a batch.

    Joined: one row, attention_mask bool (1, 1, t, t). Padded: one row per example, attention_mask int (b, t).
    """
    rows = [list(example["input_ids"]) for example in examples]
    labels = [list(example["labels"]) for example in examples]
    first = min(next(i for i, label in enumerate(row) if label != -100) for row in labels)
    shared = min(common_prefix(rows), first - 1) if len(rows) > 1 else 0
    total = shared + sum(len(row) - shared for row in rows)
    if len(rows) == 1 or total > MAX_JOINED:
        return _padded(rows, labels, pad)
    ids, targets, positions = rows[0][:shared], [-100] * shared, list(range(shared))
    owner = [-1] * shared
    for index, (row, label) in enumerate(zip(rows, labels, strict=True)):
        ids += row[shared:]
        targets += [-100, *label[shared + 1 :]]  # a rest's first token is not predicted by the end of the rest before it
        positions += range(shared, len(row))
        owner += [index] * (len(row) - shared)
    who = torch.tensor(owner)
    sees = (who[None, :] == -1) | (who[None, :] == who[:, None])
    return {
        "input_ids": torch.tensor([ids]),
        "labels": torch.tensor([targets]),
        "position_ids": torch.tensor([positions]),
        "attention_mask": torch.tril(sees)[None, None],
    }


def _padded(rows: list[list[int]], labels: list[list[int]], pad: int) -> dict[str, torch.Tensor]:
    width = max(len(row) for row in rows)
    return {
        "input_ids": torch.tensor([row + [pad] * (width - len(row)) for row in rows]),
        "labels": torch.tensor([label + [-100] * (width - len(label)) for label in labels]),
        "position_ids": torch.arange(width).repeat(len(rows), 1),
        "attention_mask": torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows]),
    }
