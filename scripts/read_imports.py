"""Read tasks of other projects into task and verifier records: see --help."""

import argparse
from pathlib import Path

from clawgym.cli import run
from clawgym.config import Settings
from clawgym.imports.read import read_imports
from clawgym.imports.records import Limits
from clawgym.tables import fingerprint, write_table
from clawgym.tasks.schema import REJECT, TASK
from clawgym.verifiers.schema import VERIFIER


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", required=True)
    for name in ("tasks", "verifiers", "rejects"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    args = parser.parse_args()
    settings = Settings(args.settings)

    tasks, verifiers, rejects = read_imports(settings["imports"], Limits(settings["resources"].max_file_bytes))
    origin = {"config": fingerprint(settings.parts)}
    write_table(tasks, TASK, args.tasks, origin)
    write_table(verifiers, VERIFIER, args.verifiers, origin)
    write_table(rejects, REJECT, args.rejects, origin)
    for row in rejects:
        print(f"{row['record_id']}: {row['reason']}: {row['detail']}")
    print(f"{len(tasks)} tasks imported, {len(rejects)} records rejected")


if __name__ == "__main__":
    run(main)
