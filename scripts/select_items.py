"""Choose the bench items by their calibration: see --help."""

import argparse
from collections import Counter
from pathlib import Path

import pyarrow as pa

from clawgym.bench.items import Rules, select_items
from clawgym.bench.schema import ITEM, SUITES
from clawgym.cli import run
from clawgym.config import Settings
from clawgym.grades.schema import SCORE
from clawgym.tables import fingerprint, read_rows, read_table, write_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=Path, required=True, help="tasks of the quality stage, with their split")
    parser.add_argument("--verifiers", type=Path, required=True)
    parser.add_argument("--scores", type=Path, nargs="+", required=True, help="calibration scores of the strong and the weak model")
    parser.add_argument("--settings", required=True)
    parser.add_argument("--items", type=Path, required=True, help="out: one row per candidate with its verdict")
    parser.add_argument("--kept-tasks", type=Path, required=True, help="out: the task rows of the items")
    args = parser.parse_args()

    settings = Settings(args.settings)
    tasks = read_table(args.tasks)
    verifiers = {row["task_id"]: row for row in read_table(args.verifiers, columns=["task_id", "code", "rubric"]).to_pylist()}
    scores = [row for path in args.scores for row in read_rows(path, SCORE)]
    slim = tasks.select(["task_id", "kind", "category", "split"]).to_pylist()
    items = select_items(slim, verifiers, scores, Rules.of(settings))

    provenance = {"config": fingerprint(settings.parts), "seed": settings["seed"]}
    kept = {row["task_id"] for row in items if row["kept"]}
    write_table(items, ITEM, args.items, provenance)
    mask = pa.array([row["task_id"] in kept for row in slim], pa.bool_())
    write_table(tasks.filter(mask), tasks.schema, args.kept_tasks, provenance)
    for suite in SUITES:
        reasons = Counter(row["reason"] for row in items if row["suite"] == suite)
        print(f"{suite}: {reasons.pop('kept', 0)} items; left out: {dict(reasons.most_common()) or 'none'}")
        if not any(row["kept"] and row["suite"] == suite for row in items):
            print(f"{suite}: no item; the bench reports this suite as empty (see the reasons in {args.items})")


if __name__ == "__main__":
    run(main)
