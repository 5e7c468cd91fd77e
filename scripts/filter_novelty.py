"""Which tasks are new: `filter_novelty.py --embeddings E.parquet --settings JSON --out N.parquet`."""

import argparse
from pathlib import Path

import numpy as np

from clawgym.cli import run
from clawgym.config import Settings
from clawgym.quality.novelty import decide, keep_first
from clawgym.quality.schema import EMBEDDING, NOVELTY
from clawgym.tables import fingerprint, provenance, read_table, write_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--embeddings", type=Path, required=True)
    parser.add_argument("--settings", required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    settings = Settings(args.settings)
    threshold = settings["quality.novelty"].threshold

    table = read_table(args.embeddings, EMBEDDING)
    ids = table["task_id"].to_pylist()
    flat = table["embedding"].combine_chunks().flatten().to_numpy()
    rows = decide(ids, keep_first(flat.reshape(len(ids), -1) if ids else np.empty((0, 0), np.float32), threshold))
    write_table(rows, NOVELTY, args.out, {"config": fingerprint(settings.parts), "models": provenance(args.embeddings).get("models")})
    print(f"{sum(row['new'] for row in rows)} of {len(rows)} tasks are new: cosine to every earlier new task below {threshold:g}")


if __name__ == "__main__":
    run(main)
