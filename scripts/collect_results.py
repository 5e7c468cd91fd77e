"""Put the bench rollouts and scores of all models into one table: see --help."""

import argparse
from collections import Counter
from pathlib import Path

from clawgym.bench.schema import ITEM, RESULT
from clawgym.bench.tables import results
from clawgym.cli import run
from clawgym.config import Settings
from clawgym.errors import UserError
from clawgym.grades.schema import SCORE
from clawgym.rollouts.schema import ROLLOUT
from clawgym.tables import fingerprint, read_rows, write_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=Path, required=True)
    parser.add_argument("--models", nargs="+", required=True, help="in the order of the table")
    parser.add_argument("--rollouts", type=Path, nargs="+", required=True, help="one table per model, same order")
    parser.add_argument("--scores", type=Path, nargs="+", required=True, help="one table per model, same order")
    parser.add_argument("--settings", required=True)
    parser.add_argument("--results", type=Path, required=True)
    args = parser.parse_args()
    if not len(args.models) == len(args.rollouts) == len(args.scores):
        raise UserError("collect_results.py: expected one --rollouts and one --scores table per model; give the same number of each")

    settings = Settings(args.settings)
    items = read_rows(args.items, ITEM)
    rows = []
    for model, rollouts, scores in zip(args.models, args.rollouts, args.scores, strict=True):
        mine = results(items, model, settings["bench.attempts"], read_rows(rollouts, ROLLOUT), read_rows(scores, SCORE))
        ends = Counter(row["status"] for row in mine)
        print(f"{model}: {len(mine)} results, {sum(row['s_task'] is None for row in mine)} without a score; {dict(ends.most_common())}")
        rows += mine
    write_table(rows, RESULT, args.results, {"config": fingerprint(settings.parts), "models": args.models})


if __name__ == "__main__":
    run(main)
