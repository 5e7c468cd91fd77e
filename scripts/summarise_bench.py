"""Means with 95 % intervals, paired differences and means per kind of work: see --help."""

import argparse
from pathlib import Path

from clawgym.bench.schema import KINDS, PAIRED, RESULT, SUMMARY
from clawgym.bench.tables import kinds, paired_differences, summary, text_paired, text_table
from clawgym.cli import run
from clawgym.config import Settings
from clawgym.tables import fingerprint, read_rows, write_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--models", nargs="+", required=True, help="in the order of the table")
    parser.add_argument("--settings", required=True)
    parser.add_argument("--summary", type=Path, required=True)
    parser.add_argument("--paired", type=Path, required=True)
    parser.add_argument("--kinds", type=Path, required=True)
    args = parser.parse_args()

    settings = Settings(args.settings)
    resamples, seed = settings["bench.resamples"], settings["seed"]
    rows = read_rows(args.results, RESULT)
    provenance = {"config": fingerprint(settings.parts), "models": args.models, "seed": seed}
    means = summary(rows, args.models, resamples, seed)
    differences = paired_differences(rows, args.models, resamples, seed)
    write_table(means, SUMMARY, args.summary, provenance)
    write_table(differences, PAIRED, args.paired, provenance)
    write_table(kinds(rows, args.models), KINDS, args.kinds, provenance)
    print(text_table(means), text_paired(differences), sep="\n\n")


if __name__ == "__main__":
    run(main)
