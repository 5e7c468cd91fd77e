"""One table of the judgements of all shards: `collect_judgements.py --shards A.parquet B.parquet --out J.parquet`."""

import argparse
from pathlib import Path

from clawgym.cli import run
from clawgym.quality.schema import JUDGEMENT
from clawgym.tables import provenance, read_rows, write_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shards", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()

    rows = [row for shard in args.shards for row in read_rows(shard, JUDGEMENT)]
    write_table(sorted(rows, key=lambda row: row["task_id"]), JUDGEMENT, args.out, provenance(args.shards[0]))


if __name__ == "__main__":
    run(main)
