"""One table and one folder of captures and snapshots from the shards of a model.

`collect_rollouts.py --shards S0/rollouts.parquet … --out D/rollouts.parquet --captures D/captures --snapshots D/snapshots`
"""

import argparse
from pathlib import Path

from clawgym.cli import run
from clawgym.rollouts.run import link
from clawgym.rollouts.schema import ROLLOUT
from clawgym.tables import provenance, read_rows, write_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shards", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--captures", type=Path, required=True)
    parser.add_argument("--snapshots", type=Path, required=True)
    args = parser.parse_args()

    args.captures.mkdir(parents=True, exist_ok=True)
    args.snapshots.mkdir(parents=True, exist_ok=True)
    rows = []
    for shard in args.shards:
        for row in read_rows(shard, ROLLOUT):
            for column, folder in (("capture", args.captures), ("snapshot", args.snapshots)):
                if row[column] is not None:
                    link(shard.parent / row[column], folder / Path(row[column]).name)
                    row[column] = f"{folder.name}/{Path(row[column]).name}"
            rows.append(row)
    rows.sort(key=lambda row: row["rollout_id"])
    origins = [provenance(shard) for shard in args.shards]
    write_table(rows, ROLLOUT, args.out, origins[0] | {"shards": len(origins)})
    print(f"{len(rows)} rollouts from {len(args.shards)} shards")


if __name__ == "__main__":
    run(main)
