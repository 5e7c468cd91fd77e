"""Ask the author for a task per seed of one shard.

`write_tasks.py --seeds … --skills … --shard N --shards N --settings JSON --tasks T.parquet --rejects R.parquet`
"""

import argparse
import asyncio
from pathlib import Path

from clawgym.cli import run
from clawgym.client import Client, prompt_hash
from clawgym.config import Settings
from clawgym.seeds.schema import SEED, SKILL
from clawgym.seeds.taxonomy import load_taxonomy
from clawgym.shards import belongs
from clawgym.tables import fingerprint, read_rows, write_table
from clawgym.tasks.draft import write_tasks
from clawgym.tasks.schema import REJECT, TASK


async def ask(settings: Settings, seeds: list[dict], skills: dict[str, dict]) -> tuple[list[dict], list[dict]]:
    taxonomy = load_taxonomy(Path(settings["seeds.taxonomy"]))
    async with Client(settings.models(), settings["spend"], "tasks") as client:
        return await write_tasks(client, settings["prompts"], seeds, skills, taxonomy, settings["tasks"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=Path, required=True)
    parser.add_argument("--skills", type=Path, required=True)
    parser.add_argument("--shard", type=int, required=True)
    parser.add_argument("--shards", type=int, required=True)
    parser.add_argument("--settings", required=True)
    parser.add_argument("--tasks", type=Path, required=True)
    parser.add_argument("--rejects", type=Path, required=True)
    args = parser.parse_args()
    settings = Settings(args.settings)

    seeds = [seed for seed in read_rows(args.seeds, SEED) if belongs(seed["seed_id"], args.shard, args.shards)]
    skills = {skill["skill_id"]: skill for skill in read_rows(args.skills, SKILL)}
    tasks, rejects = asyncio.run(ask(settings, seeds, skills))
    origin = {
        "config": fingerprint(settings.parts),
        "models": [settings["models.author"].model],
        "prompts": {"write_task": prompt_hash(settings["prompts"], "write_task")},
    }
    write_table(tasks, TASK, args.tasks, origin)
    write_table(rejects, REJECT, args.rejects, origin)
    print(f"{len(tasks)} tasks of {len(seeds)} seeds, {len(rejects)} rejected")


if __name__ == "__main__":
    run(main)
