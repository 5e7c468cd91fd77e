"""Draw the personas: from the built-in pool, or from a file or dataset of the user's own."""

import argparse
import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from clawgym.cli import run
from clawgym.config import Personas, Settings
from clawgym.errors import UserError
from clawgym.seeds.persona_files import draw_texts, read_personas
from clawgym.seeds.personas import PersonaPool, load_pool
from clawgym.seeds.schema import PERSONA
from clawgym.tables import fingerprint, write_table


def from_pool(pool: PersonaPool, count: int, seed: int) -> list[dict]:
    rows = []
    for index in pool.draw(count, seed):
        persona = pool[index]
        rows.append(
            {
                "persona_id": f"pool-{index}",
                "index": index,
                "persona": pool.text(index),
                "attributes": json.dumps(asdict(persona) | {"categories": pool.categories[persona.occupation]}, ensure_ascii=False),
                "source": "pool",
                "licence": "Apache-2.0",
                "redistributable": True,
            }
        )
    return rows


def from_source(settings: Personas, seed: int) -> list[dict]:
    texts = draw_texts(read_personas(settings.source, settings.column), settings.count, seed)
    if len(texts) < settings.count:
        raise UserError(
            f"{settings.source}: expected at least {settings.count} different personas, found {len(texts)}; lower seeds.personas.count"
        )
    return [
        {
            "persona_id": f"import-{hashlib.sha256(text.encode()).hexdigest()[:12]}",
            "index": None,
            "persona": text,
            "attributes": "{}",
            "source": settings.source,
            "licence": settings.licence,
            "redistributable": settings.redistributable,
        }
        for text in texts
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()

    given = Settings(args.settings)
    settings, seed = given["seeds.personas"], given["seed"]
    if settings.source is None:
        pool = load_pool(Path(settings.attributes))
        rows = from_pool(pool, settings.count, seed)
        print(f"{len(rows)} personas of {pool.size} in the pool")
    else:
        rows = from_source(settings, seed)
        print(f"{len(rows)} personas of {settings.source}")
    write_table(rows, PERSONA, args.out, {"config": fingerprint(given.parts), "seed": seed})


if __name__ == "__main__":
    run(main)
