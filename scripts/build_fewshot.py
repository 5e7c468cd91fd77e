"""Write the worked examples that base_fewshot has in its prompt: see --help."""

import argparse
import json
from pathlib import Path

from clawgym.bench.items import fewshot, prefix
from clawgym.cli import run
from clawgym.config import Settings
from clawgym.errors import UserError
from clawgym.tables import fingerprint, read_table, write_jsonl


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=Path, required=True)
    parser.add_argument("--trajectories", type=Path, required=True)
    parser.add_argument("--settings", required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()

    settings = Settings(args.settings)
    tasks = read_table(args.tasks, columns=["task_id", "split"]).to_pylist()
    train = {row["task_id"] for row in tasks if row["split"] == "train"}
    rows = read_table(args.trajectories, columns=["trajectory_id", "task_id", "kind", "messages"]).to_pylist()
    rows = [row | {"messages": json.loads(row["messages"])} for row in rows]
    chosen = fewshot(rows, train, settings["bench.fewshot"])
    if not chosen:
        raise UserError(f"{args.trajectories}: no trajectory of a training task; take base_fewshot out of bench.students or keep more")
    ids = [row["trajectory_id"] for row in chosen]
    messages = prefix([row["messages"] for row in chosen])
    write_jsonl(messages, args.out, {"config": fingerprint(settings.parts), "trajectories": ids})
    print(f"{len(chosen)} worked examples, {len(messages)} messages: {', '.join(ids)}")


if __name__ == "__main__":
    run(main)
