"""Write what model calls have cost so far, from the ledger beside the response cache: see --help."""

import argparse
from pathlib import Path

from clawgym.cli import run
from clawgym.client.store import Store
from clawgym.config import Settings
from clawgym.report.schema import SPEND
from clawgym.tables import fingerprint, write_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", required=True)
    parser.add_argument("--spend", type=Path, required=True)
    args = parser.parse_args()

    settings = Settings(args.settings)
    path = Path(settings["spend"].cache)
    rows = Store(path).ledger() if path.exists() else []
    write_table(rows, SPEND, args.spend, {"config": fingerprint(settings.parts), "ledger": str(path)})
    total = sum(row["usd"] for row in rows)
    print(f"{sum(row['calls'] for row in rows):,} calls, {sum(row['cache_hits'] for row in rows):,} from the cache, {total:.4f} US dollars")


if __name__ == "__main__":
    run(main)
