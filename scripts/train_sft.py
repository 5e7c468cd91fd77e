"""Fine-tune the base model on trajectories: a checkpoint folder, the rows it was trained on and its loss curve."""

import argparse
import shutil
import sys
from pathlib import Path

from clawgym import cli
from clawgym.config import Settings
from clawgym.locks import exclusive
from clawgym.tables import fingerprint, read_rows, write_table
from clawgym.training.checkpoints import check_checkpoint
from clawgym.training.launch import is_first, under_torchrun
from clawgym.training.schema import ROW, SFT_METRICS
from clawgym.trajectories.schema import TRAJECTORY


def main(argv: list[str] | None = None) -> None:
    argv = sys.argv[1:] if argv is None else argv
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trajectories", type=Path, required=True)
    parser.add_argument("--base", type=Path, required=True, help="checkpoint folder to start from")
    parser.add_argument("--settings", required=True)
    parser.add_argument("--work", type=Path, required=True, help="state of the unfinished run, outside rule outputs")
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--metrics", type=Path, required=True)
    args = parser.parse_args(argv)
    settings = Settings(args.settings)
    sft = settings["training.sft"]
    check_checkpoint(args.base)
    trajectories = read_rows(args.trajectories, TRAJECTORY)
    if (code := under_torchrun(sft, argv)) is not None:
        sys.exit(code)

    from transformers import AutoTokenizer

    from clawgym.training.rows import build_rows
    from clawgym.training.sft import train

    with exclusive(args.work):
        rows = build_rows(trajectories, AutoTokenizer.from_pretrained(args.base), sft.max_length, sft.eval_fraction)
        metrics = train(rows, args.base, args.work, args.checkpoint, sft, settings["seed"])
        if is_first():
            provenance = {"config": fingerprint(sft.model_dump()), "base": str(args.base), "seed": settings["seed"]}
            write_table(rows, ROW, args.rows, provenance)
            write_table(metrics, SFT_METRICS, args.metrics, provenance)
            shutil.rmtree(args.work)  # only an unfinished run needs it
            losses = [row["loss"] for row in metrics if row["loss"] is not None]
            left_out = sum(row["truncated"] for row in rows)
            print(f"{len(rows)} rows, {left_out} too long; loss {losses[0]:.3f} to {losses[-1]:.3f} in {len(losses)} steps")


if __name__ == "__main__":
    cli.run(main)
