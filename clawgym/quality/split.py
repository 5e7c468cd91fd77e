"""Who trains and who is measured: whole groups are `unseen`, some tasks of every training group are `heldout`, the rest is `train`.

A held-out task is never a near copy of a training task: novelty compares every task with every earlier one, whatever its route or
group, so any two kept tasks have a cosine below `quality.novelty.threshold`. The split is drawn from those and needs no rule of its own.
"""

import hashlib
from collections import defaultdict

from clawgym.config import Split


def split_tasks(tasks: list[dict], settings: Split) -> dict[str, str]:
    """Task id → train, heldout or unseen.

    A group in neither list is unseen if training groups are named, else it trains. Within a training group the
    `heldout_per_group` tasks whose ids have the smallest hashes are held out: a task that comes or goes moves at most one other.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for task in tasks:
        groups[task[settings.group]].append(task["task_id"])
    splits = {}
    for group, ids in groups.items():
        trains = group in settings.train_groups if settings.train_groups else group not in settings.unseen_groups
        by_hash = sorted(ids, key=lambda task_id: hashlib.sha256(task_id.encode()).digest())
        for place, task_id in enumerate(by_hash):
            splits[task_id] = ("heldout" if place < settings.heldout_per_group else "train") if trains else "unseen"
    return splits
