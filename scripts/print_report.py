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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="?", default=Path("results"))
    results = parser.parse_args().results

    def all_of(pattern: str, columns: list[str]) -> list[dict]:
        return [row for path in sorted(results.glob(pattern)) for row in read_table(path, columns=columns).to_pylist()]

    steps = funnel(
        read_rows(results / "quality/funnel.parquet", FUNNEL),
        read_table(results / "quality/tasks.parquet", columns=["split"]).to_pylist(),
        all_of("rollouts/*/rollouts.parquet", ["status"]),
        all_of("grades/*/scores.parquet", ["s_task"]),
        len(read_table(results / "trajectories/baseline/trajectories.parquet", columns=["trajectory_id"])),
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
