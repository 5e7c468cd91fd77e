"""Seeds follow the configured mix, suit the persona, are all different, and depend on the seed alone."""

import json
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest
import yaml

from clawgym.config import Sampling
from clawgym.errors import UserError
from clawgym.seeds.personas import load_pool
from clawgym.seeds.sampling import combine_operations, main_operations, persona_seeds, skill_seeds
from clawgym.seeds.schema import SEED
from clawgym.seeds.taxonomy import load_taxonomy
from clawgym.tables import write_table

ROOT = Path(__file__).parents[2]
TAXONOMY = load_taxonomy(ROOT / "config/taxonomy")
POOL = load_pool(ROOT / "config/personas/attributes.yaml")
ORIGIN = {"source": "pool", "licence": "Apache-2.0", "redistributable": True}


def personas(count: int, known: bool = True) -> list[dict]:
    rows = []
    for index in POOL.draw(count, 3):
        attributes = {"categories": POOL.categories[POOL[index].occupation]} if known else {}
        rows.append({"persona_id": f"pool-{index}", "persona": POOL.text(index), "attributes": json.dumps(attributes)} | ORIGIN)
    return rows


def skill(name: str, text: str, operations: list[str], **changes) -> dict:
    return {
        "skill_id": name, "name": name, "description": text, "body": text, "category": "workflows", "synthesizable": True, "reasons": [],
        "operations": operations, "language": "en",
    } | ORIGIN | changes  # fmt: skip


def test_the_taxonomy_is_the_one_of_the_paper_in_size():
    assert len(TAXONOMY.categories) == 9 and sum(len(c.subcategories) for c in TAXONOMY.categories) == 43
    assert len(TAXONOMY.classes) == 7 and len(TAXONOMY.operations) == 26 and len(TAXONOMY.skill_categories) == 7


@pytest.mark.parametrize("known", [True, False])
def test_persona_seeds_keep_the_mix(tmp_path, known):
    settings = Sampling()
    seeds = persona_seeds(personas(160, known), TAXONOMY, settings, 17)
    write_table(seeds, SEED, tmp_path / "seeds.parquet", {})
    assert len({seed["seed_id"] for seed in seeds}) == settings.persona_seeds
    assert max(Counter(seed["category"] for seed in seeds).values()) <= settings.max_category_share * settings.persona_seeds
    assert len({seed["subcategory"] for seed in seeds}) == 43
    assert set(Counter(seed["persona_id"] for seed in seeds).values()) == {2}
    weights = {name: settings.operation_weights.get(name, 1) for name in TAXONOMY.operations}
    mains = Counter(seed["operations"][0] for seed in seeds)
    for name, weight in weights.items():
        assert abs(mains[name] - settings.persona_seeds * weight / sum(weights.values())) <= 1
    assert {len(seed["operations"]) for seed in seeds} == {1, 2, 3}
    assert all(len(set(seed["operations"])) == len(seed["operations"]) for seed in seeds)


def test_scenarios_suit_the_persona():
    rows = {row["persona_id"]: row for row in personas(160)}
    anyone = {sub.id for category in TAXONOMY.categories for sub in category.subcategories if sub.anyone}
    seeds = persona_seeds(list(rows.values()), TAXONOMY, Sampling(), 17)
    unsuited = [
        seed for seed in seeds
        if seed["category"] not in json.loads(rows[seed["persona_id"]]["attributes"])["categories"] and seed["subcategory"] not in anyone
    ]  # fmt: skip
    assert len(unsuited) <= 0.02 * len(seeds)
    assert len({(seed["persona_id"], seed["subcategory"]) for seed in seeds}) == len(seeds)


def test_seeds_depend_on_the_seed_alone():
    rows = personas(40)
    first, again, other = (persona_seeds(rows, TAXONOMY, Sampling(persona_seeds=60), number) for number in (1, 1, 2))
    assert first == again and first != other


@pytest.mark.parametrize("count, personas_", [(1, 1), (4, 4), (10, 3), (60, 1)])
def test_small_runs_work(count, personas_):
    assert len(persona_seeds(personas(personas_), TAXONOMY, Sampling(persona_seeds=count), 5)) == count
    assert persona_seeds(personas(personas_), TAXONOMY, Sampling(persona_seeds=0), 5) == []


NOTHING = dict.fromkeys(TAXONOMY.operations, 0)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"operation_weights": {"fly": 1}}, "operation_weights names \\['fly'\\]"),
        ({"operation_weights": {"rank": -1}}, "operation_weights: expected numbers ≥ 0"),
        ({"operation_weights": NOTHING}, "at least one of them above 0"),
        ({"max_category_share": 0.1}, "max_category_share: 0.1 × 9 categories"),
        ({"persona_seeds": 3000, "operation_weights": NOTHING | {"rank": 1}}, "3000 different seeds cannot be made"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_met_are_named(settings, message):
    with pytest.raises(UserError, match=message):
        persona_seeds(personas(1), TAXONOMY, Sampling(**settings), 5)


def test_operations_complement_the_main_one():
    rng = random.Random(1)
    for main in TAXONOMY.operations:
        for _ in range(20):
            chosen = combine_operations(main, 3, TAXONOMY, rng)
            assert chosen[0] == main and len(chosen) <= 3
            classes = [TAXONOMY.class_of[name] for name in chosen]
            assert len(set(classes)) == len(classes)
    assert combine_operations("rank", 1, TAXONOMY, rng) == ["rank"]
    even = Counter(main_operations(52, {}, TAXONOMY, rng))
    assert set(even.values()) == {2} and len(even) == 26


SKILLS = [
    skill("minutes", "Turn meeting notes into minutes with decisions and action items", ["write_note", "read_file"]),
    skill("agenda", "Prepare the agenda of a meeting from open action items", ["schedule_items"]),
    skill("minutes-copy", "Turn meeting notes into minutes with decisions and action items", ["write_note"]),
    skill("letters", "Draft a letter about decisions of a meeting in plain language", ["draft_message"]),
    skill("ledger", "Match invoices to payments and report what is missing", ["cross_check", "join_tables"]),
    skill("budget", "Compare invoices and payments with the budget", ["compare", "aggregate"]),
    skill("weather", "Look up meeting weather by key", ["extract_field"], synthesizable=False, reasons=["needs_key"]),
    skill("protokoll", "meeting notes minutes decisions auf Deutsch", ["write_note"], language="de"),
]


def test_supporting_skills_fit_and_are_usable():
    seeds = skill_seeds(SKILLS, TAXONOMY, Sampling(skill_seeds=60), 17)
    assert len({seed["seed_id"] for seed in seeds}) == len(seeds) >= 30
    together = Counter((seed["main_skill"], other) for seed in seeds for other in seed["support_skills"])
    for seed in seeds:
        assert len(seed["support_skills"]) <= 3 and seed["main_skill"] not in seed["support_skills"]
        assert seed["persona"] is None and seed["subcategory"] is None and seed["category"] == "workflows"
        assert 1 <= len(seed["operations"]) <= 3
    assert not {"weather"} & {name for pair in together for name in pair}
    assert together["minutes", "minutes-copy"] == 0 and together["minutes", "protokoll"] == 0
    assert together["ledger", "budget"] > 0 and together["minutes", "agenda"] + together["minutes", "letters"] > 0
    assert together["ledger", "agenda"] == together["ledger", "letters"] == 0  # nothing in common
    assert {seed["operations"][0] for seed in seeds if seed["main_skill"] == "ledger"} == {"cross_check", "join_tables"}


def test_skill_seeds_are_reproducible_and_end_when_there_are_no_more():
    settings = Sampling(skill_seeds=20)
    first, again, other = (skill_seeds(SKILLS, TAXONOMY, settings, number) for number in (3, 3, 4))
    assert first == again != other
    alone = skill_seeds([SKILLS[4]], TAXONOMY, settings, 3)
    assert [seed["operations"] for seed in alone] == [["cross_check", "join_tables"], ["join_tables", "cross_check"]]
    assert skill_seeds([], TAXONOMY, Sampling(skill_seeds=0), 3) == []


def test_no_usable_skill_is_an_error_that_says_why():
    with pytest.raises(UserError, match="none of 1 skills is synthesizable \\(most often: needs_key\\)"):
        skill_seeds([SKILLS[6]], TAXONOMY, Sampling(), 3)


@pytest.mark.parametrize(
    "name, change, message",
    [
        ("operations.yaml", lambda d: d["classes"][0]["operations"][0].update(goes_with=["fly"]), "read_file: goes_with names \\['fly'\\]"),
        ("scenarios.yaml", lambda d: d["categories"].append(d["categories"][0]), "ids \\['office_operations'\\] are used twice"),
        ("scenarios.yaml", lambda d: d["categories"][0].update(colour="red"), "categories.0.colour"),
        ("skill_categories.yaml", lambda d: d.update(categories=[]), "categories"),
    ],
)
def test_a_wrong_taxonomy_file_is_named(tmp_path, name, change, message):
    folder = shutil.copytree(ROOT / "config/taxonomy", tmp_path / "taxonomy")
    data = yaml.safe_load((folder / name).read_text())
    change(data)
    (folder / name).write_text(yaml.safe_dump(data))
    with pytest.raises(UserError, match=f"{name}.*{message}"):
        load_taxonomy(folder)
    (folder / name).write_text("a: [")
    with pytest.raises(UserError, match=f"{name}: not readable as YAML"):
        load_taxonomy(folder)
