"""Print the funnel and the bench table of a finished run in the terminal: `print_report.py [RESULTS]`."""

import argparse
from pathlib import Path

from clawgym.bench import schema as bench
from clawgym.bench.tables import text_paired, text_table
from clawgym.cli import run
from clawgym.quality.schema import FUNNEL
from clawgym.report.content import funnel
from clawgym.report.page import text_funnel
from clawgym.tables import read_rows, read_table
from clawgym.trajectories.schema import STATS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="?", default=Path("results"))
    results = parser.parse_args().results

    steps = funnel(
        read_rows(results / "quality/funnel.parquet", FUNNEL),
        read_table(results / "quality/tasks.parquet", columns=["split"]).to_pylist(),
        read_rows(results / "trajectories/baseline/stats.parquet", STATS),
    )
    print(text_funnel(steps))
    print()
    print(text_table(read_rows(results / "bench/summary.parquet", bench.SUMMARY)))
    print()
    print(text_paired(read_rows(results / "bench/paired.parquet", bench.PAIRED)))
    print()
    print(f"The whole report: {results / 'report/index.html'}")


if __name__ == "__main__":
    run(main)
