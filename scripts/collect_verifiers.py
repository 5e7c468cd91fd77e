"""One table each of the verifiers, cards and rejects of all shards.

`collect_verifiers.py --verifier-shards … --card-shards … --reject-shards … --verifiers V.parquet --cards C.parquet --rejects R.parquet`
"""

import argparse
from pathlib import Path

from clawgym.cli import run
from clawgym.tasks.collect import concatenate
from clawgym.tasks.schema import REJECT
from clawgym.verifiers.schema import CARD, VERIFIER


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verifier-shards", type=Path, nargs="+", required=True)
    parser.add_argument("--card-shards", type=Path, nargs="+", required=True)
    parser.add_argument("--reject-shards", type=Path, nargs="+", required=True)
    parser.add_argument("--verifiers", type=Path, required=True)
    parser.add_argument("--cards", type=Path, required=True)
    parser.add_argument("--rejects", type=Path, required=True)
    args = parser.parse_args()

    verifiers = concatenate(args.verifier_shards, VERIFIER, "task_id", args.verifiers)
    concatenate(args.card_shards, CARD, "task_id", args.cards)
    rejects = concatenate(args.reject_shards, REJECT, "record_id", args.rejects)
    print(f"{verifiers} verifiers, {rejects} rejected")


if __name__ == "__main__":
    run(main)
