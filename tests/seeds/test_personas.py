"""The pool: as many personas as it says, each index another one, plausible, reproducible; and personas of the user's own."""

import itertools
import json
import random
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from clawgym.errors import UserError
from clawgym.seeds.diversity import diversity_row, nearest_cosines
from clawgym.seeds.persona_files import draw_texts, read_personas
from clawgym.seeds.personas import article, load_pool
from clawgym.seeds.taxonomy import load_taxonomy

ROOT = Path(__file__).parents[2]
ATTRIBUTES = ROOT / "config/personas/attributes.yaml"

COMMON = {"ladder": "any", "categories": ["x"]}
SMALL = {
    "sectors": {"shop": [{"text": "a shop", "tags": ["small"]}], "ship": [{"text": "a ship", "tags": ["travelling"]}]},
    "ladders": {"any": [{"text": "new {job}", "level": "early"}, {"text": "old {job}", "level": "late"}]},
    "tools": {"pen": ["a pen", "a pencil"], "abacus": ["an abacus"]},
    "occupations": [
        {"id": "cook", "title": "cook", "sectors": ["ship", "shop"], "tools": ["pen"], "duties": ["cooks", "tastes"]} | COMMON,
        {"id": "clerk", "title": "clerk", "sectors": ["shop"], "tools": ["pen", "abacus"], "duties": ["counts"]} | COMMON,
    ],
    "backgrounds": [
        {"text": "is fresh from school", "levels": ["early"]},
        {"text": "was a cook once", "levels": ["early", "late"], "not_for": ["cook"]},
        {"text": "grew up here", "levels": ["early", "late"], "unless": ["travelling"]},
    ],
    "languages": ["speaks little", "speaks much"],
    "habits": [{"id": "sings", "text": "sings"}, {"id": "swims", "text": "swims", "needs": ["travelling"]}, {"id": "hums", "text": "hums"}],
    "constraints": [{"id": "tired", "text": "is tired"}, {"id": "late", "text": "is late", "unless": ["small"]}],
    "clashes": {"sings": ["tired"]},
}  # fmt: skip


@pytest.fixture(scope="module")
def pool():
    return load_pool(ATTRIBUTES)


def write(tmp_path: Path, value: dict) -> Path:
    path = tmp_path / "attributes.yaml"
    path.write_text(yaml.safe_dump(value))
    return path


def test_the_pool_is_larger_than_a_billion_and_an_index_is_one_persona(pool):
    assert pool.size >= 10**9
    rng = random.Random(5)
    edges = [0, pool.size - 1, *(end for end in pool.ends[:-1]), *(end - 1 for end in pool.ends)]
    for index in [*edges, *(rng.randrange(pool.size) for _ in range(3000))]:
        assert pool.index(pool[index]) == index
    for outside in (-1, pool.size):
        with pytest.raises(IndexError):
            pool[outside]


def test_a_small_pool_is_exactly_the_compatible_combinations(tmp_path):
    pool = load_pool(write(tmp_path, SMALL))
    expected = set()
    occupations = {o["id"]: o for o in SMALL["occupations"]}
    rest = [SMALL[name] for name in ("backgrounds", "languages", "habits", "constraints")]
    combinations = itertools.product(occupations, ["shop", "ship"], SMALL["ladders"]["any"], *rest)
    for who, place, career, background, language, habit, constraint in combinations:
        tags = {"shop": {"small"}, "ship": {"travelling"}}[place]
        fits = (
            place in occupations[who]["sectors"]
            and career["level"] in background["levels"]
            and who not in background.get("not_for", [])
            and not tags & set(background.get("unless", []))
            and all(set(trait.get("needs", [])) <= tags and not tags & set(trait.get("unless", [])) for trait in (habit, constraint))
            and constraint["id"] not in SMALL["clashes"].get(habit["id"], [])
        )
        tools = [tool for group in occupations[who]["tools"] for tool in SMALL["tools"][group]]
        for duty, tool in itertools.product(occupations[who]["duties"], tools):
            if fits:
                texts = [part["text"] for part in (career, background, habit, constraint)]
                expected.add((who, f"a {place}", duty, tool, language, *texts))
    got = [pool[index] for index in range(pool.size)]
    as_tuples = [(p.occupation, p.place, p.duty, p.tool, p.language, p.career, p.background, p.habit, p.constraint) for p in got]
    assert len(as_tuples) == len(set(as_tuples)) == len(expected)
    assert set(as_tuples) == expected
    assert len({pool.text(index) for index in range(pool.size)}) == pool.size


def test_texts_are_distinct_short_and_complete(pool):
    indices = pool.draw(20_000, 3)
    texts = [pool.text(index) for index in indices]
    assert len(set(texts)) == len(texts)
    for index, text in zip(indices[:2000], texts, strict=False):
        persona = pool[index]
        said = text.lower()
        for part in (persona.place, persona.background, persona.duty, persona.tool, persona.language, persona.habit, persona.constraint):
            assert part.lower() in said
        assert len(re.findall(r"[.!?](?:\s|$)", text)) <= 2 and len(text) < 420
        assert text[0].isupper() and text.endswith(".") and not re.search(r"[{}]|  |\ba [aei]|\ba o(?!ne-)", text), text


def test_neighbouring_indices_differ(pool):
    """The address is not the order of a walk: one step changes a persona."""
    start = pool.draw(1, 8)[0]
    assert len({pool.text(index) for index in range(start, min(start + 500, pool.size))}) == min(500, pool.size - start)


def test_drawing_is_reproducible_without_replacement_and_uniform(pool):
    drawn = pool.draw(4000, 17)
    assert drawn == pool.draw(4000, 17) and drawn != pool.draw(4000, 18)
    assert len(set(drawn)) == 4000
    assert pool.draw(100, 17) == drawn[:100]  # more personas keep those that were there
    counts = np.histogram(drawn, bins=20, range=(0, pool.size))[0]
    assert ((counts - 200) ** 2 / 200).sum() < 45  # chi-squared, 19 degrees of freedom, p ≈ 0.0007


def test_a_whole_pool_can_be_drawn_but_not_more(tmp_path):
    pool = load_pool(write(tmp_path, SMALL))
    assert sorted(pool.draw(pool.size, 1)) == list(range(pool.size))
    with pytest.raises(UserError, match="seeds.personas.count.*expected at least"):
        pool.draw(pool.size + 1, 1)


def test_combinations_are_plausible(pool):
    attributes = pool.attributes
    habits, constraints = {t.text: t for t in attributes.habits}, {t.text: t for t in attributes.constraints}
    places = {place.text: place for sector in attributes.sectors.values() for place in sector}
    occupations = {occupation.id: occupation for occupation in attributes.occupations}
    for index in pool.draw(3000, 2):
        persona = pool[index]
        tags = set(occupations[persona.occupation].tags) | set(places[persona.place].tags)
        assert set(habits[persona.habit].needs) <= tags and not tags & set(constraints[persona.constraint].unless)
        assert constraints[persona.constraint].id not in attributes.clashes.get(habits[persona.habit].id, [])
        assert persona.tool in {tool for group in occupations[persona.occupation].tools for tool in attributes.tools[group]}


def test_occupations_name_known_categories_and_every_category_has_some(pool):
    known = {category.id for category in load_taxonomy(ROOT / "config/taxonomy").categories}
    named = Counter(category for occupation in pool.attributes.occupations for category in occupation.categories)
    assert set(named) == known and min(named.values()) >= 5


@pytest.mark.parametrize(
    "change, message",
    [
        ({"languages": ["speaks little", "speaks little"]}, "languages repeats"),
        ({"clashes": {"sings": ["bored"]}}, "clashes.sings names \\['bored'\\]"),
        ({"colour": []}, "colour"),
        ({"languages": []}, "no compatible combination"),
    ],
)
def test_a_wrong_attribute_file_is_named(tmp_path, change, message):
    with pytest.raises(UserError, match=f"attributes.yaml.*{message}"):
        load_pool(write(tmp_path, SMALL | change))
    with pytest.raises(UserError, match="no such file"):
        load_pool(tmp_path / "absent.yaml")


def test_articles():
    nouns = ["editor", "university clerk", "hour-glass maker", "user", "trainee editor", "European", "one-armed cook", "unit lead"]
    assert [article(noun) for noun in nouns] == ["an", "a", "an", "a", "a", "a", "a", "a"]


# -- personas of the user's own ---------------------------------------------------------------------------------------------------


def test_jsonl_and_parquet_give_the_same_texts(tmp_path):
    texts = ["A baker.", "Ein Bäcker.", "面包师"]
    (tmp_path / "p.jsonl").write_text("\ufeff" + "".join(json.dumps({"text": t}, ensure_ascii=False) + "\r\n\n" for t in texts))
    pq.write_table(pa.table({"text": texts, "other": [1, 2, 3]}), tmp_path / "p.parquet")
    assert list(read_personas(str(tmp_path / "p.jsonl"), "text")) == list(read_personas(str(tmp_path / "p.parquet"), "text")) == texts


def test_the_repository_carries_a_sample():
    texts = list(read_personas(str(ROOT / "config/personas/sample.jsonl"), "persona"))
    assert len(set(texts)) == len(texts) >= 20


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("p.jsonl", b'{"persona": "a"}\n{"persona": \n', "line 2: expected one JSON object per line"),
        ("p.jsonl", b'{"text": "a"}\n', "line 1: no column 'persona', found \\['text'\\]"),
        ("p.jsonl", b'["a"]\n', "line 1: expected a JSON object, found list"),
        ("p.jsonl", b'{"persona": 7}\n', "line 1: expected a text in 'persona', found int"),
        ("p.parquet", b"PAR?", "not a readable Parquet file"),
        ("p.csv", b"persona\na\n", "expected a name ending in .jsonl or .parquet"),
    ],
)
def test_a_malformed_file_is_named_with_its_record(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=f"{name}.*{message}"):
        list(read_personas(str(tmp_path / name), "persona"))


def test_half_a_surrogate_pair_becomes_a_question_mark(tmp_path):
    (tmp_path / "p.jsonl").write_text('{"persona": "a baker \\ud800"}\n')
    assert list(read_personas(str(tmp_path / "p.jsonl"), "persona")) == ["a baker ?"]


def test_damaged_parquet_is_one_line(tmp_path):
    text = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff\xfe"]).buffers())
    pq.write_table(pa.table({"persona": text}), tmp_path / "utf8.parquet")
    pq.write_table(pa.table({"persona": [f"baker {i}" for i in range(500)]}), tmp_path / "page.parquet", compression="zstd")
    raw = (tmp_path / "page.parquet").read_bytes()
    (tmp_path / "page.parquet").write_bytes(raw[:60] + bytes(200) + raw[260:])
    for name in ("utf8.parquet", "page.parquet"):
        with pytest.raises(UserError, match=f"{name}: not a readable Parquet file, from row 1 on") as error:
            list(read_personas(str(tmp_path / name), "persona"))
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["p.jsonl", "p.parquet"])
def test_an_unreadable_file_is_one_line(tmp_path, monkeypatch, name):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    (tmp_path / name).write_text("")
    monkeypatch.setattr("builtins.open", refuse)  # the tests may run as root, who may read everything
    monkeypatch.setattr(pq, "ParquetFile", refuse)
    with pytest.raises(UserError, match=f"{name}: .*readable.*Permission denied"):
        list(read_personas(str(tmp_path / name), "persona"))


def test_a_missing_file_or_column_is_named(tmp_path):
    with pytest.raises(UserError, match="nobody.jsonl: no such persona file"):
        list(read_personas("nobody.jsonl", "persona"))
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "p.parquet")
    with pytest.raises(UserError, match="no column 'persona', found \\['text'\\]"):
        list(read_personas(str(tmp_path / "p.parquet"), "persona"))


def test_a_dataset_of_the_hub(monkeypatch):
    import datasets

    asked = []

    def load_dataset(*args, **kwargs):
        asked.append((args, kwargs))
        return datasets.Dataset.from_dict({"persona": ["A baker.", "A smith."], "other": [1, 2]})

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    assert list(read_personas("hf:someone/people:part:train", "persona")) == ["A baker.", "A smith."]
    assert asked == [(("someone/people", "part"), {"split": "train"})]
    with pytest.raises(UserError, match="no column 'text'"):
        list(read_personas("hf:someone/people:train", "text"))
    with pytest.raises(UserError, match="expected hf:dataset:split"):
        list(read_personas("hf:someone/people", "persona"))


def test_a_hub_that_cannot_be_reached_is_one_line(monkeypatch):
    import datasets

    def load_dataset(*args, **kwargs):
        raise ConnectionError("no route\nto the hub")

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with pytest.raises(UserError, match="hf:someone/people:train: .*ConnectionError: no route\\); check") as error:
        list(read_personas("hf:someone/people:train", "persona"))
    assert "\n" not in str(error.value)


def test_drawing_texts_is_distinct_reproducible_and_blind_to_order():
    texts = [f"persona {n % 400}" for n in range(1000)] + ["", "  "]
    drawn = draw_texts(texts, 50, 17)
    assert len(set(drawn)) == 50 and "" not in drawn
    assert drawn == draw_texts(reversed(texts), 50, 17) != draw_texts(texts, 50, 18)
    assert draw_texts(texts, 20, 17) == drawn[:20]
    assert len(draw_texts(texts, 5000, 17)) == 400


# -- diversity ----------------------------------------------------------------------------------------------------------------------


def test_nearest_cosines_are_those_of_a_full_comparison(monkeypatch):
    from clawgym.seeds import diversity

    monkeypatch.setattr(diversity, "BLOCK", 7)
    vectors = np.random.default_rng(1).normal(size=(40, 8)).astype(np.float32)
    vectors[30] = vectors[2]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    full = vectors @ vectors.T - 3 * np.eye(40)
    assert np.allclose(nearest_cosines(vectors), full.max(1), atol=1e-6)
    row = diversity_row("pool", 40, nearest_cosines(vectors))
    assert row["n"] == 40 and row["mean_nearest_cosine"] == pytest.approx(full.max(1).mean(), abs=1e-6)


def test_what_was_not_measured_is_null():
    assert diversity_row("pool", 5, None) == {"source": "pool", "n": 5, "mean_nearest_cosine": None, "p95_nearest_cosine": None}
