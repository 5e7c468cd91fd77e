"""List the tasks worth calibrating as bench items: `list_candidates.py --tasks T.parquet --settings JSON --candidates C.parquet`."""

import argparse
from pathlib import Path

import pyarrow as pa

from clawgym.bench.items import Rules, candidates
from clawgym.cli import run
from clawgym.config import Settings
from clawgym.tables import fingerprint, read_table, write_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=Path, required=True)
    parser.add_argument("--settings", required=True)
    parser.add_argument("--candidates", type=Path, required=True)
    args = parser.parse_args()

    settings = Settings(args.settings)
    tasks = read_table(args.tasks)
    rows = tasks.select(["task_id", "kind", "split"]).to_pylist()
    chosen = {row["task_id"] for row in candidates(rows, Rules.of(settings))}
    table = tasks.filter(pa.array([row["task_id"] in chosen for row in rows], pa.bool_()))
    write_table(table, tasks.schema, args.candidates, {"config": fingerprint(settings.parts), "seed": settings["seed"]})
    splits = table["split"].to_pylist()
    print(f"{splits.count('heldout')} held-out and {splits.count('unseen')} unseen tasks are candidates")


if __name__ == "__main__":
    run(main)
