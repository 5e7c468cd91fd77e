"""Embed the instruction of every task: `embed_tasks.py --tasks T.parquet --settings JSON --out E.parquet`."""

import argparse
from pathlib import Path

from clawgym.cli import run
from clawgym.config import Settings
from clawgym.embedding import embed
from clawgym.quality.schema import EMBEDDING
from clawgym.tables import read_table, write_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=Path, required=True)
    parser.add_argument("--settings", required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    embedder = Settings(args.settings)["embedder"]

    tasks = read_table(args.tasks, columns=["task_id", "instruction"])
    vectors = embed(tasks["instruction"].to_pylist(), embedder)
    rows = [
        {"task_id": task_id, "embedding": vector.tolist()} for task_id, vector in zip(tasks["task_id"].to_pylist(), vectors, strict=True)
    ]
    write_table(rows, EMBEDDING, args.out, {"models": [embedder]})
    print(f"{len(rows)} instructions embedded by {embedder}")


if __name__ == "__main__":
    run(main)
