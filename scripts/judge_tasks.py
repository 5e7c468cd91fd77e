"""Ask the judge about the tasks of one shard that pass sanity and novelty; the others need no paid answer.

`judge_tasks.py --tasks … --verifiers … --cards … --novelty … --shard N --shards N --settings JSON --out J.parquet`
"""

import argparse
import asyncio
from pathlib import Path

from clawgym.cli import run
from clawgym.client import Client, prompt_hash
from clawgym.config import Settings
from clawgym.quality import gates
from clawgym.quality.judge import judge_tasks
from clawgym.quality.schema import JUDGEMENT
from clawgym.shards import belongs
from clawgym.tables import fingerprint, read_rows, write_table


async def judge(settings: Settings, tasks: list[dict], verifiers: dict[str, dict]) -> list[dict]:
    async with Client(settings.models(), settings["spend"], "quality") as client:
        return await judge_tasks(client, settings["prompts"], tasks, verifiers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=Path, required=True)
    parser.add_argument("--verifiers", type=Path, required=True)
    parser.add_argument("--cards", type=Path, required=True)
    parser.add_argument("--novelty", type=Path, required=True)
    parser.add_argument("--shard", type=int, required=True)
    parser.add_argument("--shards", type=int, required=True)
    parser.add_argument("--settings", required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    settings = Settings(args.settings)

    verifiers = {row["task_id"]: row for row in read_rows(args.verifiers)}
    cards = gates.summarise_cards(read_rows(args.cards))
    novelty = {row["task_id"]: row for row in read_rows(args.novelty)}
    mine = [
        task
        for task in read_rows(args.tasks)
        if belongs(task["task_id"], args.shard, args.shards)
        and (verifier := verifiers.get(task["task_id"]))
        and not gates.sanity(cards.get(task["task_id"]), bool(verifier["code"]), settings["quality.gates"])
        and not gates.novelty(novelty.get(task["task_id"]))
    ]
    rows = asyncio.run(judge(settings, mine, verifiers)) if mine else []
    origin = {
        "config": fingerprint(settings.parts),
        "models": [settings["models.judge"].model],
        "prompts": {"judge_task": prompt_hash(settings["prompts"], "judge_task")},
    }
    write_table(rows, JUDGEMENT, args.out, origin)
    print(f"{len(rows)} tasks judged, {sum(row['status'] != 'ok' for row in rows)} without an answer")


if __name__ == "__main__":
    run(main)
