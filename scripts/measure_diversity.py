"""Report how close the drawn personas are to each other; for imported ones, beside as many of the built-in pool."""

import argparse
from pathlib import Path

from clawgym.cli import run
from clawgym.config import Settings
from clawgym.embedding import embed
from clawgym.seeds.diversity import diversity_row, nearest_cosines
from clawgym.seeds.personas import load_pool
from clawgym.seeds.schema import DIVERSITY, PERSONA
from clawgym.tables import fingerprint, read_rows, write_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--personas", type=Path, required=True)
    parser.add_argument("--settings", required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()

    given = Settings(args.settings)
    settings, seed, embedder = given["seeds.personas"], given["seed"], given["embedder"]
    sets = {settings.source or "pool": [row["persona"] for row in read_rows(args.personas, PERSONA)]}
    if settings.source is not None:
        pool = load_pool(Path(settings.attributes))
        sets["pool"] = [pool.text(index) for index in pool.draw(min(settings.count, pool.size), seed)]
    rows = []
    for source, texts in sets.items():
        measured = settings.embedder and len(texts) > 1
        row = diversity_row(source, len(texts), nearest_cosines(embed(texts, embedder)) if measured else None)
        figures = f"{row['mean_nearest_cosine']:.3f} (95th percentile {row['p95_nearest_cosine']:.3f})" if measured else "not measured"
        print(f"{source}: {len(texts)} personas, cosine to the nearest other one {figures}")
        rows.append(row)
    write_table(rows, DIVERSITY, args.out, {"config": fingerprint(given.parts), "models": [embedder], "seed": seed})


if __name__ == "__main__":
    run(main)
