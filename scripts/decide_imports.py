"""Which imported tasks pass the sanity gate: `decide_imports.py --tasks … --verifiers … --rejects … --cards … --decisions … --kept …`."""

import argparse
from pathlib import Path

from clawgym.cli import run
from clawgym.config import Settings
from clawgym.imports.decide import decide, describe
from clawgym.imports.schema import IMPORTED
from clawgym.tables import fingerprint, read_rows, write_table
from clawgym.tasks.schema import REJECT, TASK
from clawgym.verifiers.schema import CARD, VERIFIER


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("tasks", "verifiers", "rejects", "cards"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--settings", required=True)
    for name in ("decisions", "kept"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    args = parser.parse_args()
    settings = Settings(args.settings)

    tasks = read_rows(args.tasks, TASK)
    rows = decide(
        tasks, read_rows(args.verifiers, VERIFIER), read_rows(args.rejects, REJECT), read_rows(args.cards, CARD), settings["quality.gates"]
    )
    kept = {row["record_id"] for row in rows if row["kept"]}
    origin = {"config": fingerprint(settings.parts)}
    write_table(rows, IMPORTED, args.decisions, origin)
    write_table([task for task in tasks if task["task_id"] in kept], TASK, args.kept, origin)
    print(describe(rows))


if __name__ == "__main__":
    run(main)
