"""One table of the tasks with contents of all shards.

`collect_files.py --task-shards … --reject-shards … --tasks T.parquet --rejects R.parquet`
"""

import argparse
from pathlib import Path

from clawgym.cli import run
from clawgym.tasks.collect import concatenate
from clawgym.tasks.schema import REJECT, TASK


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task-shards", type=Path, nargs="+", required=True)
    parser.add_argument("--reject-shards", type=Path, nargs="+", required=True)
    parser.add_argument("--tasks", type=Path, required=True)
    parser.add_argument("--rejects", type=Path, required=True)
    args = parser.parse_args()

    tasks = concatenate(args.task_shards, TASK, "task_id", args.tasks)
    rejects = concatenate(args.reject_shards, REJECT, "record_id", args.rejects)
    print(f"{tasks} tasks, {rejects} rejected")


if __name__ == "__main__":
    run(main)
