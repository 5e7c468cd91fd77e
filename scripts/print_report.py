"""Print what a run has so far in the terminal, funnel and bench table and what was spent: `print_report.py [RESULTS]`."""

import argparse
from pathlib import Path

from clawgym.bench import schema as bench
from clawgym.bench.tables import text_paired, text_table
from clawgym.cli import run
from clawgym.client.store import Store
from clawgym.config import Spend
from clawgym.errors import UserError
from clawgym.quality.schema import FUNNEL
from clawgym.report.content import funnel
from clawgym.report.page import text_funnel
from clawgym.report.schema import SPEND
from clawgym.tables import read_rows, read_table
from clawgym.trajectories.schema import STATS

# Of every stage, in their order, what is there once it has run.
STAGES = {
    "seeds": "seeds/seeds.parquet", "tasks": "tasks/tasks.parquet", "resources": "resources/tasks.parquet",
    "verifiers": "verifiers/cards.parquet", "quality": "quality/tasks.parquet", "rollouts": "rollouts/*/rollouts.parquet",
    "grades": "grades/*/scores.parquet", "trajectories": "trajectories/*/stats.parquet", "training": "training/*/*/metrics.parquet",
    "bench": "bench/summary.parquet", "report": "report/index.html",
}  # fmt: skip


def spent(results: Path) -> float:
    """US dollars so far: from the table of a finished run, else from the ledger beside the response cache, if there is one."""
    table, cache = results / "ledger/spend.parquet", results / Path(Spend().cache).relative_to("results")
    if table.exists():
        return sum(row["usd"] for row in read_rows(table, SPEND))
    return sum(row["usd"] for row in Store(cache).ledger()) if cache.exists() else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="?", default=Path("results"))
    results = parser.parse_args().results

    missing = [stage for stage, pattern in STAGES.items() if not any(results.glob(pattern))]
    usd = spent(results)
    if len(missing) == len(STAGES) and not usd:
        raise UserError(f"{results}: no stage has run yet; start with `snakemake --profile local all`")
    parts = []
    if "quality" not in missing:
        stats = results / "trajectories/baseline/stats.parquet"
        steps = funnel(
            read_rows(results / "quality/funnel.parquet", FUNNEL),
            read_table(results / "quality/tasks.parquet", columns=["split"]).to_pylist(),
            read_rows(stats, STATS) if stats.exists() else [],
        )
        parts.append(text_funnel(steps))
    if "bench" not in missing:
        parts.append(text_table(read_rows(results / "bench/summary.parquet", bench.SUMMARY)))
        parts.append(text_paired(read_rows(results / "bench/paired.parquet", bench.PAIRED)))
    if "report" not in missing:
        parts.append(f"The whole report: {results / 'report/index.html'}")
    if missing:
        parts.append(f"Not run yet: {', '.join(missing)}")
    if usd:
        parts.append(f"Spent so far: {usd:.4f} US dollars")
    print("\n\n".join(parts))


if __name__ == "__main__":
    run(main)
