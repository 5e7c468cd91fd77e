"""Draw the seeds of both routes from the personas, the annotated skills and the taxonomy."""

import argparse
from collections import Counter
from pathlib import Path

from clawgym.cli import run
from clawgym.config import Settings
from clawgym.seeds.sampling import persona_seeds, skill_seeds
from clawgym.seeds.schema import PERSONA, SEED, SKILL
from clawgym.seeds.taxonomy import load_taxonomy
from clawgym.tables import fingerprint, read_rows, write_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--personas", type=Path, required=True)
    parser.add_argument("--skills", type=Path, required=True)
    parser.add_argument("--settings", required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()

    given = Settings(args.settings)
    settings, seed = given["seeds.sampling"], given["seed"]
    taxonomy = load_taxonomy(Path(given["seeds.taxonomy"]))
    personas = persona_seeds(read_rows(args.personas, PERSONA), taxonomy, settings, seed)
    skills = skill_seeds(read_rows(args.skills, SKILL), taxonomy, settings, seed)
    write_table([*personas, *skills], SEED, args.out, {"config": fingerprint(given.parts), "seed": seed})
    print(f"{len(personas)} persona seeds:", dict(Counter(row["category"] for row in personas).most_common()))
    print(f"{len(skills)} skill seeds:", dict(Counter(row["category"] for row in skills).most_common()))
    if len(skills) < settings.skill_seeds:
        print(f"the skills allow {len(skills)} different seeds; {settings.skill_seeds} were asked for")


if __name__ == "__main__":
    run(main)
