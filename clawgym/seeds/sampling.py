"""Seeds z = (u, c, G) of both routes, drawn to the mix in the configuration (paper, section on task synthesis).

Persona route: a persona, a subcategory that suits it, operations. Skill route: a main skill and supporting skills that fit it.
Everything follows from the rows, the settings and the seed.
"""

import hashlib
import json
import math
import random
from collections import Counter

import numpy as np
from scipy.sparse import csr_matrix

from clawgym.config import Sampling
from clawgym.errors import UserError
from clawgym.seeds.taxonomy import Category, Subcategory, Taxonomy

TRIES = 50
REDUNDANT = 0.8
"""Two skills whose texts are this similar (cosine of TF-IDF) say the same, so that one does not support the other."""
NEW_OPERATIONS = 0.3
"""Weight of operations a supporting skill adds, beside the similarity of the texts."""
CANDIDATES = 6
"""A supporting skill is drawn from that many best fitting ones."""


def seed_id(route: str, parts: list) -> str:
    """Id that depends on what the seed is made of alone, so that more seeds never rename old ones."""
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return f"{route[0]}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


# -- operations ---------------------------------------------------------------------------------------------------------------------


def main_operations(count: int, weights: dict[str, float], taxonomy: Taxonomy, rng: random.Random) -> list[str]:
    """`count` main operations in random order, each as often as its weight says (to the nearest whole number).

    Raises UserError for weights of unknown operations, negative ones, or none above zero.
    """
    if unknown := sorted(set(weights) - set(taxonomy.operations)):
        raise UserError(f"seeds.sampling.operation_weights names {unknown}; expected some of {list(taxonomy.operations)}")
    full = {name: float(weights.get(name, 1.0)) for name in taxonomy.operations}
    total = sum(full.values())
    if any(not 0 <= weight < math.inf for weight in full.values()) or not 0 < total < math.inf:
        raise UserError("seeds.sampling.operation_weights: expected numbers ≥ 0, at least one of them above 0; correct them")
    exact = {name: count * weight / total for name, weight in full.items()}
    counts = {name: math.floor(value) for name, value in exact.items()}
    by_remainder = sorted(exact, key=lambda name: (counts[name] - exact[name], rng.random()))
    for name in by_remainder[: count - sum(counts.values())]:
        counts[name] += 1
    drawn = [name for name, times in counts.items() for _ in range(times)]
    rng.shuffle(drawn)
    return drawn


def combine_operations(main: str, most: int, taxonomy: Taxonomy, rng: random.Random) -> list[str]:
    """The main operation and up to `most` - 1 that complete it: named by `goes_with` of a chosen one, of another class if possible."""
    chosen = [main]
    for _ in range(rng.randint(1, most) - 1):
        partners = [name for have in chosen for name in taxonomy.operations[have].goes_with if name not in chosen]
        classes = {taxonomy.class_of[name] for name in chosen}
        if not (fresh := [name for name in partners if taxonomy.class_of[name] not in classes] or partners):
            break
        chosen.append(rng.choice(fresh))
    return chosen


# -- persona route --------------------------------------------------------------------------------------------------------------------


class _Scenarios:
    """Hands out categories and subcategories: suited to the persona, none over its share, subcategories evenly."""

    def __init__(self, taxonomy: Taxonomy, count: int, max_share: float, rng: random.Random):
        categories = taxonomy.categories
        if max_share * len(categories) < 1 - 1e-9:
            raise UserError(
                f"seeds.sampling.max_category_share: {max_share} × {len(categories)} categories is less than everything; "
                f"expected at least {1 / len(categories):.4f}"
            )
        # with few seeds the share may be less than one seed
        quota = max(math.floor(max_share * count + 1e-9), math.ceil(count / len(categories)))
        self.left = {category.id: quota for category in categories}
        self.categories, self.rng = categories, rng
        self.used: Counter[str] = Counter()

    def draw(self, suited: list[str], avoid: set[str]) -> tuple[Category, Subcategory]:
        """A scenario for a persona of whom `suited` categories are known (empty: nothing is known), new to it if possible."""
        options: dict[str, tuple[Category, list[Subcategory], float]] = {}
        for category in self.categories:
            all_suit = not suited or category.id in suited
            fresh = [sub for sub in category.subcategories if (all_suit or sub.anyone) and sub.id not in avoid]
            if fresh and self.left[category.id]:
                weight = 2.0 if category.id in suited else 1.0
                # quadratic in what is left, so that the categories fill up together and the last personas still have a choice
                options[category.id] = (category, fresh, weight * self.left[category.id] ** 2)
        if not options:
            options = {c.id: (c, c.subcategories, self.left[c.id]) for c in self.categories if self.left[c.id]}
        category, subcategories, _ = self.rng.choices(list(options.values()), [weight for *_, weight in options.values()])[0]
        subcategory = min(subcategories, key=lambda sub: (self.used[sub.id], self.rng.random()))
        self.left[category.id] -= 1
        self.used[subcategory.id] += 1
        return category, subcategory


def persona_seeds(personas: list[dict], taxonomy: Taxonomy, settings: Sampling, seed: int) -> list[dict]:
    """Seeds of the persona route, all different. Every persona is used equally often, to one.

    personas: rows of personas.parquet. Raises UserError if the settings contradict each other or the personas are too few for that
    many different seeds.
    """
    count = settings.persona_seeds
    rng = random.Random(f"persona seeds:{seed}")
    mains = main_operations(count, settings.operation_weights, taxonomy, rng)
    scenarios = _Scenarios(taxonomy, count, settings.max_category_share, rng)
    known = {category.id for category in taxonomy.categories}
    suited = {row["persona_id"]: [c for c in json.loads(row["attributes"]).get("categories", []) if c in known] for row in personas}
    met: dict[str, set[str]] = {row["persona_id"]: set() for row in personas}
    order: list[dict] = []
    while len(order) < count:
        order += rng.sample(personas, len(personas))
    seeds: dict[str, dict] = {}
    for persona, main in zip(order[:count], mains, strict=True):
        who = persona["persona_id"]
        category, subcategory = scenarios.draw(suited[who], met[who])
        met[who].add(subcategory.id)
        for _ in range(TRIES):
            operations = combine_operations(main, settings.max_operations, taxonomy, rng)
            name = seed_id("persona", [who, subcategory.id, operations])
            if name not in seeds:
                break
        else:
            raise UserError(
                f"seeds.sampling.persona_seeds: {count} different seeds cannot be made from {len(personas)} personas; "
                "raise seeds.personas.count or ask for fewer"
            )
        seeds[name] = {
            "seed_id": name,
            "route": "persona",
            "persona": persona["persona"],
            "persona_id": who,
            "category": category.id,
            "subcategory": subcategory.id,
            "operations": operations,
            "main_skill": None,
            "support_skills": [],
            **{key: persona[key] for key in ("source", "licence", "redistributable")},
        }
    return list(seeds.values())


# -- skill route ----------------------------------------------------------------------------------------------------------------------


def describe_texts(texts: list[str]) -> csr_matrix:
    """(n, d) TF-IDF of the texts, rows of unit length (or zero), so that a dot product is a similarity."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    if not any(any(map(str.isalnum, text)) for text in texts):
        return csr_matrix((len(texts), 1))
    # whole words and, for languages that do not put spaces between them, pairs of characters
    vectorizer = TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)[a-zA-Z0-9À-ɏ]{3,}|[^\W\d_a-zA-ZÀ-ɏ]{2}|\w+")
    return vectorizer.fit_transform(texts)


def supporting_skills(main: int, skills: list[dict], similarity: np.ndarray, most: int, rng: random.Random) -> list[int]:
    """Positions of up to `most` skills that fit skill `main`: similar text, operations the others lack, same language, not the same again.

    similarity: (n,) cosine of every skill's text to that of `main`.
    """
    chosen: list[int] = []
    have = set(skills[main]["operations"])
    for _ in range(rng.randint(0, most)):
        fits = []
        for position in np.flatnonzero((similarity > 0) & (similarity < REDUNDANT)).tolist():
            other = skills[position]
            if position == main or position in chosen or other["language"] != skills[main]["language"]:
                continue
            new = len(set(other["operations"]) - have) / max(len(other["operations"]), 1)
            fits.append((float(similarity[position]) + NEW_OPERATIONS * new, position))
        if not fits:
            break
        best = sorted(fits, key=lambda fit: (-fit[0], skills[fit[1]]["skill_id"]))[:CANDIDATES]
        position = rng.choices([position for _, position in best], [math.exp(8 * fit) for fit, _ in best])[0]
        chosen.append(position)
        have |= set(skills[position]["operations"])
    return chosen


def skill_seeds(skills: list[dict], taxonomy: Taxonomy, settings: Sampling, seed: int) -> list[dict]:
    """Seeds of the skill route, all different; fewer than asked for if the skills allow no more.

    skills: rows of skills.parquet. Main skills take turns, and in each turn another operation of the skill leads.
    Raises UserError if seeds are wanted and no skill is synthesizable.
    """
    usable = [row for row in skills if row["synthesizable"]]
    if not settings.skill_seeds:
        return []
    if not usable:
        reasons = ", ".join(reason for reason, _ in Counter(reason for row in skills for reason in row["reasons"]).most_common(3))
        raise UserError(
            f"results/seeds/skills.parquet: none of {len(skills)} skills is synthesizable (most often: {reasons}); "
            "add folders to seeds.skills.folders or set seeds.sampling.skill_seeds to 0"
        )
    rng = random.Random(f"skill seeds:{seed}")
    rng.shuffle(usable)
    vectors = describe_texts([f"{row['name']} {row['description']} {row['body'][:1500]}" for row in usable])
    seeds: dict[str, dict] = {}
    turn, idle = 0, 0
    while len(seeds) < settings.skill_seeds and idle < TRIES * len(usable):
        position, rotation = turn % len(usable), turn // len(usable)
        turn, idle = turn + 1, idle + 1
        main = usable[position]
        similarity = np.asarray((vectors @ vectors[position].T).todense()).ravel()
        support = [usable[other] for other in supporting_skills(position, usable, similarity, settings.max_supporting, rng)]
        first = rotation % len(main["operations"])
        own = main["operations"][first:] + main["operations"][:first]
        added = [name for other in support for name in other["operations"][:1]]
        operations = list(dict.fromkeys([own[0], *added, *own[1:]]))[: settings.max_operations]
        name = seed_id("skill", [main["skill_id"], [other["skill_id"] for other in support], operations])
        if name in seeds:
            continue
        idle = 0
        seeds[name] = {
            "seed_id": name,
            "route": "skill",
            "persona": None,
            "persona_id": None,
            "category": main["category"],
            "subcategory": None,
            "operations": operations,
            "main_skill": main["skill_id"],
            "support_skills": [other["skill_id"] for other in support],
            "source": main["source"],
            "licence": main["licence"],
            "redistributable": all(row["redistributable"] for row in (main, *support)),
        }
    return list(seeds.values())
