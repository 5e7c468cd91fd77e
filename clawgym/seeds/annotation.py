"""What a skill is good for: the annotator role describes it, its own metadata is held against that, and a table row says what follows.

A skill is only ever read. One that nobody could describe stays in the table with the reason.
"""

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from clawgym.client import Client, Unanswered, render
from clawgym.config import Skills
from clawgym.seeds.skills import Skill
from clawgym.seeds.taxonomy import Taxonomy

KEY_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|AUTH|CREDENTIAL|COOKIE|ACCOUNT", re.IGNORECASE)
NETWORK_PROGRAMS = {"curl", "wget", "ssh", "scp", "rsync", "gh", "npx", "npm", "uv", "uvx", "docker", "kubectl", "gcloud", "aws"}
PRESENT_PROGRAMS = set("sh bash python3 awk sed grep cat sort uniq cut tr find head tail wc diff".split())
"""What a sandbox offers besides Python's standard library."""
OWN_SKILLS = Path(__file__).resolve().parents[2] / "config" / "skills"


def _slugs(value: Any) -> Any:
    if isinstance(value, list):
        return [re.sub(r"[^a-z0-9]+", "_", item.lower()).strip("_")[:60] if isinstance(item, str) else item for item in value]
    return value


class Annotation(BaseModel):
    """The annotator's answer; `annotation_model` closes category and operations to the ids of a taxonomy."""

    model_config = ConfigDict(extra="ignore")
    category: str
    synthesizable: bool
    reasons: Annotated[list[str], BeforeValidator(_slugs)]
    operations: list[str]
    needs_key: bool
    needs_network: bool
    needs_gui: bool
    risk: Literal["low", "medium", "high"]
    language: str = Field(pattern=r"^[a-z]{2,3}$")


def annotation_model(taxonomy: Taxonomy) -> type[Annotation]:
    """`Annotation` with the categories and operations of `taxonomy` as the only ones an answer may name."""
    categories = Literal[tuple(category.id for category in taxonomy.skill_categories)]
    operations = Literal[tuple(taxonomy.operations)]
    return create_model("Annotation", __base__=Annotation, category=(categories, ...), operations=(list[operations], ...))


def check(annotation: Annotation) -> None:
    """Raise ValueError, for the repair round, if the answer contradicts itself."""
    if annotation.synthesizable and not annotation.operations:
        raise ValueError("operations: a synthesizable skill needs at least one operation")
    if not annotation.synthesizable and not (annotation.reasons or needs(annotation)):
        raise ValueError("reasons: a skill that is not synthesizable needs at least one reason")


def needs(annotation: Annotation) -> list[str]:
    """What the annotation itself says that no workspace can give."""
    found = [name for name in ("needs_key", "needs_network", "needs_gui") if getattr(annotation, name)]
    return found + (["unsafe"] if annotation.risk == "high" else [])


def declared(skill: Skill) -> list[str]:
    """Reasons that follow from the skill's own metadata, whatever an annotator says."""
    programs = [re.sub(r"(?<=python)3?(\.\d+)*$", "3", name.lower()) for name in skill.declares.get("bins", [])]
    systems = [name.lower() for name in skill.declares.get("os", [])]
    reasons = {
        "needs_key": any(KEY_NAME.search(name) for name in skill.declares.get("env", []) + skill.declares.get("config", [])),
        "needs_network": any(name in NETWORK_PROGRAMS for name in programs),
        "needs_program": any(name not in NETWORK_PROGRAMS | PRESENT_PROGRAMS for name in programs),
        "needs_other_system": bool(systems) and "linux" not in systems,
    }
    return [reason for reason, holds in reasons.items() if holds]


def skill_row(skill: Skill, annotation: Annotation | None, failure: str | None, settings: Skills) -> dict:
    """The row of skills.parquet. annotation is None where none was to be had, for the reason `failure` (a typed slug)."""
    stated = declared(skill)
    own = all(Path(folder).resolve() == OWN_SKILLS for folder in settings.folders)
    row = {
        "skill_id": skill.skill_id,
        "name": skill.name,
        "description": skill.description,
        "category": None,
        "synthesizable": False,
        "reasons": [failure] if failure else [],
        "operations": [],
        "needs_key": "needs_key" in stated,
        "needs_network": "needs_network" in stated,
        "needs_gui": False,
        "risk": "medium",  # not looked at: neither harmless nor known to harm
        "language": skill.language,
        "body": skill.body,
        "frontmatter": json.dumps(skill.frontmatter, ensure_ascii=False, sort_keys=True),
        "notes": list(skill.notes),
        "copies": list(skill.copies),
        "sha256": skill.sha256,
        "source": skill.source,
        "licence": settings.licence or ("Apache-2.0" if own else "see source"),
        "redistributable": own if settings.redistributable is None else settings.redistributable,
    }
    if annotation is None:
        return row
    reasons = list(dict.fromkeys([*needs(annotation), *stated, *([] if annotation.synthesizable else annotation.reasons)]))
    return row | {
        "category": annotation.category,
        "synthesizable": annotation.synthesizable and not reasons,
        "reasons": reasons,
        "operations": list(dict.fromkeys(annotation.operations)),
        "needs_key": annotation.needs_key or row["needs_key"],
        "needs_network": annotation.needs_network or row["needs_network"],
        "needs_gui": annotation.needs_gui,
        "risk": annotation.risk,
        "language": annotation.language,
    }


async def annotate(skills: list[Skill], client: Client, taxonomy: Taxonomy, prompts: str | Path, settings: Skills) -> list[dict]:
    """One row per skill, in their order.

    A skill without text is not asked about. Raises UserError if much of it went unanswered for reasons outside the model.
    """
    answer = annotation_model(taxonomy)
    failures: list[tuple[str, str]] = []

    async def describe(skill: Skill) -> dict:
        if "empty" in skill.notes:
            return skill_row(skill, None, "empty", settings)
        values = {"skill": skill, "skill_categories": taxonomy.skill_categories, "operations": list(taxonomy.operations.values())}
        messages = render(prompts, "annotate_skill", **values)
        try:
            annotation = await client.structured("annotator", messages, answer, check=check)
        except Unanswered as problem:
            failures.append((problem.kind, problem.detail))
            return skill_row(skill, None, f"annotator_{problem.kind}", settings)
        return skill_row(skill, annotation, None, settings)

    rows = await client.map(describe, skills)
    client.require_answers(failures, len(skills))
    return rows
