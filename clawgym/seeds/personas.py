"""The built-in persona pool: more than 10^9 distinct personas, addressed by index, none of them stored.

A persona is one compatible choice of occupation, place of work, career step, background, duty, tool, language, habit and constraint
(`config/personas/attributes.yaml`). Within a *block*, one occupation at one place, the remaining choices are independent: career step
and background form one digit and habit and constraint another, over the pairs that do not contradict each other. An index is located in
its block by the running sum of block sizes and written there as a mixed-radix number. So the indices 0 … size-1 map one to one onto the
compatible combinations, and a uniform index is a uniform persona.
"""

import bisect
import hashlib
import itertools
import math
import random
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from clawgym.errors import UserError
from clawgym.seeds.taxonomy import read_yaml

Level = Literal["early", "mid", "late"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Place(_Part):
    text: str
    tags: list[str] = []


class Career(_Part):
    text: str = Field(pattern=r"\{job\}")
    level: Level


class Occupation(_Part):
    id: str
    title: str
    ladder: str
    tags: list[str] = []
    sectors: list[str] = Field(min_length=1)
    tools: list[str] = Field(min_length=1)
    categories: list[str] = Field(min_length=1)
    """Scenario categories that suit the occupation."""
    duties: list[str] = Field(min_length=1)


class Background(_Part):
    text: str
    levels: list[Level]
    not_for: list[str] = []
    unless: list[str] = []


class Trait(_Part):
    """A habit or a constraint."""

    id: str
    text: str
    needs: list[str] = []
    unless: list[str] = []

    def fits(self, tags: frozenset[str]) -> bool:
        return tags.issuperset(self.needs) and tags.isdisjoint(self.unless)


class Attributes(_Part):
    """The lists and rules of the pool, as in attributes.yaml."""

    sectors: dict[str, list[Place]]
    ladders: dict[str, list[Career]]
    tools: dict[str, list[str]]
    occupations: list[Occupation]
    backgrounds: list[Background]
    languages: list[str]
    habits: list[Trait]
    constraints: list[Trait]
    clashes: dict[str, list[str]] = {}


@dataclass(frozen=True)
class Persona:
    """One persona of the pool; `level` is implied by `career`, `sector` by `place`."""

    occupation: str
    sector: str
    place: str
    career: str
    level: str
    background: str
    duty: str
    tool: str
    language: str
    habit: str
    constraint: str


@dataclass(frozen=True)
class _Block:
    """One occupation at one place: the lists that remain to choose from, most significant first."""

    occupation: Occupation
    sector: str
    place: Place
    careers: list[tuple[Career, Background]]
    duties: list[str]
    tools: list[str]
    languages: list[str]
    traits: list[tuple[Trait, Trait]]

    @cached_property
    def digits(self) -> list[list]:
        return [self.careers, self.duties, self.tools, self.languages, self.traits]

    @cached_property
    def size(self) -> int:
        return math.prod(len(choices) for choices in self.digits)


class PersonaPool:
    """All compatible combinations of the attribute lists. `size` is their exact number."""

    def __init__(self, attributes: Attributes):
        self.attributes = attributes
        self.blocks = list(_blocks(attributes))
        self.ends = list(itertools.accumulate(block.size for block in self.blocks))
        self.size = self.ends[-1] if self.ends else 0
        self.titles = {occupation.id: occupation.title for occupation in attributes.occupations}
        self.categories = {occupation.id: occupation.categories for occupation in attributes.occupations}
        self._start = {(b.occupation.id, b.place.text): (end - b.size, b) for b, end in zip(self.blocks, self.ends, strict=True)}

    def __getitem__(self, index: int) -> Persona:
        """The persona at `index`. Raises IndexError outside 0 … size-1."""
        if not 0 <= index < self.size:
            raise IndexError(f"persona index {index} is outside 0 … {self.size - 1}")
        position = bisect.bisect_right(self.ends, index)
        block = self.blocks[position]
        rest, chosen = index - (self.ends[position] - block.size), []
        for choices in reversed(block.digits):
            rest, digit = divmod(rest, len(choices))
            chosen.append(choices[digit])
        (habit, constraint), language, tool, duty, (career, background) = chosen
        return Persona(
            occupation=block.occupation.id,
            sector=block.sector,
            place=block.place.text,
            career=career.text,
            level=career.level,
            background=background.text,
            duty=duty,
            tool=tool,
            language=language,
            habit=habit.text,
            constraint=constraint.text,
        )

    def index(self, persona: Persona) -> int:
        """Inverse of indexing. Raises KeyError or ValueError for a combination that is not in the pool."""
        start, block = self._start[persona.occupation, persona.place]
        digits = [
            [(career.text, background.text) for career, background in block.careers].index((persona.career, persona.background)),
            block.duties.index(persona.duty),
            block.tools.index(persona.tool),
            block.languages.index(persona.language),
            [(habit.text, constraint.text) for habit, constraint in block.traits].index((persona.habit, persona.constraint)),
        ]
        number = 0
        for digit, choices in zip(digits, block.digits, strict=True):
            number = number * len(choices) + digit
        return start + number

    def draw(self, count: int, seed: int) -> list[int]:
        """`count` distinct indices, uniform, reproducible from `seed`; a larger count begins with the same ones.

        Raises UserError if the pool is smaller than that.
        """
        if count > self.size:
            raise UserError(f"seeds.personas.count: the persona pool has {self.size} personas, expected at least {count}; ask for fewer")
        rng, drawn = random.Random(f"personas:{seed}"), {}
        while len(drawn) < count:
            drawn[rng.randrange(self.size)] = None
        return list(drawn)

    def text(self, index: int) -> str:
        """The persona at `index` in one or two sentences that name every attribute, so that no two indices share a text."""
        persona = self[index]
        return render(persona, self.titles[persona.occupation])


def _blocks(attributes: Attributes):
    constraints = {trait.id: trait for trait in attributes.constraints}
    traits: dict[frozenset[str], list[tuple[Trait, Trait]]] = {}
    for occupation in attributes.occupations:
        tools = [tool for group in occupation.tools for tool in attributes.tools[group]]
        for sector in occupation.sectors:
            for place in attributes.sectors[sector]:
                tags = frozenset(occupation.tags) | frozenset(place.tags)
                if tags not in traits:
                    traits[tags] = [
                        (habit, constraint)
                        for habit in attributes.habits
                        if habit.fits(tags)
                        for constraint in constraints.values()
                        if constraint.fits(tags) and constraint.id not in attributes.clashes.get(habit.id, [])
                    ]
                careers = [
                    (career, background)
                    for career in attributes.ladders[occupation.ladder]
                    for background in attributes.backgrounds
                    if career.level in background.levels and occupation.id not in background.not_for and tags.isdisjoint(background.unless)
                ]
                block = _Block(occupation, sector, place, careers, occupation.duties, tools, attributes.languages, traits[tags])
                if block.size:
                    yield block


def load_pool(path: Path) -> PersonaPool:
    """The pool of an attribute file.

    Raises UserError if the file has another form, names an entry that does not exist, or repeats a text: two indices would then be one
    persona.
    """
    attributes = read_yaml(path, Attributes)

    def known(where: str, names: list[str], entries) -> None:
        if unknown := [name for name in names if name not in entries]:
            raise UserError(f"{path}: {where} names {unknown}; expected entries of {sorted(entries)[:12]} …")

    def distinct(where: str, texts: list[str]) -> None:
        if twice := sorted({text for text in texts if texts.count(text) > 1}):
            raise UserError(f"{path}: {where} repeats {twice}; every entry must be different")

    distinct("occupations", [occupation.id for occupation in attributes.occupations])
    distinct("occupations", [occupation.title for occupation in attributes.occupations])
    distinct("sectors", [place.text for places in attributes.sectors.values() for place in places])
    distinct("tools", [tool for group in attributes.tools.values() for tool in group])
    distinct("languages", attributes.languages)
    distinct("backgrounds", [background.text for background in attributes.backgrounds])
    for name, ladder in attributes.ladders.items():
        distinct(f"ladders.{name}", [career.text for career in ladder])
    for name, traits in {"habits": attributes.habits, "constraints": attributes.constraints}.items():
        distinct(name, [trait.id for trait in traits])
        distinct(name, [trait.text for trait in traits])
    for occupation in attributes.occupations:
        known(f"{occupation.id}.ladder", [occupation.ladder], attributes.ladders)
        known(f"{occupation.id}.sectors", occupation.sectors, attributes.sectors)
        known(f"{occupation.id}.tools", occupation.tools, attributes.tools)
        distinct(f"{occupation.id}.duties", occupation.duties)
        distinct(f"{occupation.id}.sectors", occupation.sectors)
        distinct(f"{occupation.id}.tools", occupation.tools)
    for background in attributes.backgrounds:
        known(f"background {background.text!r}", background.not_for, {occupation.id for occupation in attributes.occupations})
    known("clashes", list(attributes.clashes), {habit.id for habit in attributes.habits})
    for habit, constraints in attributes.clashes.items():
        known(f"clashes.{habit}", constraints, {constraint.id for constraint in attributes.constraints})
    pool = PersonaPool(attributes)
    if not pool.size:
        raise UserError(f"{path}: the rules leave no compatible combination; loosen needs, unless or clashes")
    return pool


TEMPLATES = [
    "{A_job} at {place} who {duty}, mostly with {tool}. {Background}, {language}, {habit} and {constraint}.",
    "At {place}, {a_job} {duty}, using {tool}. This person {background}, {language}, {habit} and {constraint}.",
    "{A_job} who {background} and {duty} at {place}. {Habit}, {language}, {constraint} and relies on {tool}.",
    "{A_job}, found at {place} with {tool}: {duty}, {habit} and {constraint}. {Background} and {language}.",
    "{Duty} at {place} as {a_job}, equipped with {tool}. {Language}, {background}, {habit} and {constraint}.",
    "{A_job} who {habit} and {constraint}. At {place}, where the tools are {tool}, this person {duty}, {language} and {background}.",
]


def render(persona: Persona, title: str) -> str:
    """The persona in words. Which of the templates is used depends on the attributes alone."""
    job = persona.career.replace("{job}", title)
    a_job = f"{article(job)} {job}"
    words = {name: getattr(persona, name) for name in ("place", "duty", "tool", "background", "language", "habit", "constraint")}
    words |= {name.capitalize(): value[0].upper() + value[1:] for name, value in words.items()}
    words |= {"a_job": a_job, "A_job": a_job[0].upper() + a_job[1:]}
    digest = hashlib.sha256(repr(persona).encode()).digest()
    return TEMPLATES[digest[0] % len(TEMPLATES)].format(**words)


def article(noun: str) -> str:
    """a or an, by the sound the first word begins with."""
    word = noun.split()[0].lower()
    if re.match(r"(eu|uni|use|one\b|once\b)", word):
        return "a"
    return "an" if re.match(r"([aeiou]|hour|honest|heir)", word) else "a"
