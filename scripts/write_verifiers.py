"""Ask the author for the verifiers of one shard's tasks and the solver for their reference programs.

`write_verifiers.py --tasks … --shard N --shards N --settings JSON --verifiers V.parquet --rejects R.parquet`
"""

import argparse
import asyncio
from pathlib import Path

from clawgym.cli import run
from clawgym.client import Client, prompt_hash
from clawgym.config import Settings
from clawgym.shards import belongs
from clawgym.tables import fingerprint, read_rows, write_table
from clawgym.tasks.schema import REJECT, TASK
from clawgym.verifiers.schema import VERIFIER
from clawgym.verifiers.write import write_verifiers


async def ask(settings: Settings, tasks: list[dict]) -> tuple[list[dict], list[dict]]:
    section = settings["verifiers"]
    async with Client(settings.models(), settings["spend"], "verifiers") as client:
        return await write_verifiers(client, settings["prompts"], tasks, section.lambda_, section.solver)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=Path, required=True)
    parser.add_argument("--shard", type=int, required=True)
    parser.add_argument("--shards", type=int, required=True)
    parser.add_argument("--settings", required=True)
    parser.add_argument("--verifiers", type=Path, required=True)
    parser.add_argument("--rejects", type=Path, required=True)
    args = parser.parse_args()
    settings = Settings(args.settings)

    tasks = [task for task in read_rows(args.tasks, TASK) if belongs(task["task_id"], args.shard, args.shards)]
    verifiers, rejects = asyncio.run(ask(settings, tasks))
    origin = {
        "config": fingerprint(settings.parts),
        "models": [model.model for model in settings.models().values()],
        "prompts": {name: prompt_hash(settings["prompts"], name) for name in ("write_verifier", "write_solution")},
    }
    write_table(verifiers, VERIFIER, args.verifiers, origin)
    write_table(rejects, REJECT, args.rejects, origin)
    solved = sum(row["solution"] is not None for row in verifiers)
    print(f"{len(verifiers)} verifiers for {len(tasks)} tasks, {solved} with a reference program, {len(rejects)} rejected")


if __name__ == "__main__":
    run(main)
