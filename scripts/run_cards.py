"""Run the graders of one shard on the untouched workspace, the empty one and the one the reference program left.

`run_cards.py --tasks … --verifiers … --shard N --shards N --settings JSON --cards C.parquet`; works for imported tasks as well.
Settings: sandbox, grades, and verifiers where reference programs were asked for (without it, tasks have an oracle only if they bring one).
"""

import argparse
import asyncio
from pathlib import Path

from clawgym.cli import run
from clawgym.config import Settings
from clawgym.grades.code import require_sandbox
from clawgym.sandbox import Sandbox
from clawgym.shards import belongs
from clawgym.tables import fingerprint, read_rows, write_table
from clawgym.tasks.schema import TASK
from clawgym.verifiers.cards import run_cards
from clawgym.verifiers.schema import CARD, VERIFIER


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=Path, required=True)
    parser.add_argument("--verifiers", type=Path, required=True)
    parser.add_argument("--shard", type=int, default=0)
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--settings", required=True)
    parser.add_argument("--cards", type=Path, required=True)
    args = parser.parse_args()
    settings = Settings(args.settings)

    tasks = [task for task in read_rows(args.tasks, TASK) if belongs(task["task_id"], args.shard, args.shards)]
    verifiers = {row["task_id"]: row for row in read_rows(args.verifiers, VERIFIER)}
    asked = "verifiers" in settings.parts and settings["verifiers"].solver
    cards = asyncio.run(
        run_cards(
            Sandbox.from_settings(settings["sandbox"]),
            tasks,
            verifiers,
            parallel=settings["sandbox"].parallel,
            wall_s=settings["grades"].wall_s,
            solver_asked=asked,
        )
    )
    require_sandbox((row["status"] for row in cards), str(args.cards))
    write_table(cards, CARD, args.cards, {"config": fingerprint(settings.parts)})
    failed = sum(row["score"] is None for row in cards)
    print(f"{len(cards)} card rows of {len({row['task_id'] for row in cards})} tasks, {failed} without a score")


if __name__ == "__main__":
    run(main)
