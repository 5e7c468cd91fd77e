"""Read every SKILL.md of the skill folders and have the annotator role say what tasks can be made from it."""

import argparse
import asyncio
from pathlib import Path

from clawgym.cli import run
from clawgym.client import Client, prompt_hash
from clawgym.config import Settings
from clawgym.seeds.annotation import annotate
from clawgym.seeds.schema import SKILL
from clawgym.seeds.skills import load_skills
from clawgym.seeds.taxonomy import load_taxonomy
from clawgym.tables import fingerprint, write_table


async def describe(given: Settings) -> list[dict]:
    skills = load_skills(given["seeds.skills"].folders)
    taxonomy = load_taxonomy(Path(given["seeds.taxonomy"]))
    async with Client(given.models(), given["spend"], "seeds") as client:
        return await annotate(skills, client, taxonomy, given["prompts"], given["seeds.skills"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()

    given = Settings(args.settings)
    rows = asyncio.run(describe(given))
    origin = {
        "config": fingerprint(given.parts),
        "models": [model.model for model in given.models().values()],
        "prompts": {"annotate_skill": prompt_hash(given["prompts"], "annotate_skill")},
    }
    write_table(rows, SKILL, args.out, origin)
    usable = sum(row["synthesizable"] for row in rows)
    copies = sum(len(row["copies"]) for row in rows)
    print(f"{usable} of {len(rows)} skills can become tasks; {copies} files were copies of another")


if __name__ == "__main__":
    run(main)
