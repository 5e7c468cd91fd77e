"""Ask the author for the content of every input file of one shard's tasks.

`write_files.py --tasks … --shard N --shards N --settings JSON --filled-tasks T.parquet --rejects R.parquet`
"""

import argparse
import asyncio
from pathlib import Path

from clawgym.cli import run
from clawgym.client import Client, prompt_hash
from clawgym.config import Settings
from clawgym.resources.files import write_files
from clawgym.shards import belongs
from clawgym.tables import fingerprint, read_rows, write_table
from clawgym.tasks.schema import REJECT, TASK


async def ask(settings: Settings, tasks: list[dict]) -> tuple[list[dict], list[dict]]:
    async with Client(settings.models(), settings["spend"], "resources") as client:
        return await write_files(client, settings["prompts"], tasks, settings["resources"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=Path, required=True)
    parser.add_argument("--shard", type=int, required=True)
    parser.add_argument("--shards", type=int, required=True)
    parser.add_argument("--settings", required=True)
    parser.add_argument("--filled-tasks", type=Path, required=True)
    parser.add_argument("--rejects", type=Path, required=True)
    args = parser.parse_args()
    settings = Settings(args.settings)

    tasks = [task for task in read_rows(args.tasks, TASK) if belongs(task["task_id"], args.shard, args.shards)]
    filled, rejects = asyncio.run(ask(settings, tasks))
    origin = {
        "config": fingerprint(settings.parts),
        "models": [settings["models.author"].model],
        "prompts": {"write_file": prompt_hash(settings["prompts"], "write_file")},
    }
    write_table(filled, TASK, args.filled_tasks, origin)
    write_table(rejects, REJECT, args.rejects, origin)
    print(f"{sum(len(task['files']) for task in filled)} files for {len(filled)} of {len(tasks)} tasks, {len(rejects)} rejected")


if __name__ == "__main__":
    run(main)
