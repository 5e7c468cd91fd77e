"""The scenario taxonomy, the atomic operations and the skill categories, read from a folder and checked."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clawgym.errors import UserError

ID = r"^[a-z][a-z0-9_]*$"


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    id: str = Field(pattern=ID)
    name: str
    description: str


class Subcategory(_Entry):
    anyone: bool = False
    """Fits a persona of any occupation."""


class Category(_Entry):
    subcategories: list[Subcategory] = Field(min_length=1)


class Operation(_Entry):
    goes_with: list[str] = []
    """Operations that complete this one in a natural task."""


class OperationClass(_Entry):
    operations: list[Operation] = Field(min_length=1)


class SkillCategory(_Entry):
    pass


class _Scenarios(BaseModel):
    model_config = ConfigDict(extra="forbid")
    categories: list[Category] = Field(min_length=1)


class _Operations(BaseModel):
    model_config = ConfigDict(extra="forbid")
    classes: list[OperationClass] = Field(min_length=1)


class _SkillCategories(BaseModel):
    model_config = ConfigDict(extra="forbid")
    categories: list[SkillCategory] = Field(min_length=1)


@dataclass(frozen=True)
class Taxonomy:
    """Categories with subcategories, operation classes with operations, skill categories; in the order of the files."""

    categories: list[Category]
    classes: list[OperationClass]
    skill_categories: list[SkillCategory]

    @cached_property
    def operations(self) -> dict[str, Operation]:
        """All operations by id."""
        return {operation.id: operation for group in self.classes for operation in group.operations}

    @cached_property
    def class_of(self) -> dict[str, str]:
        """Operation id → id of its class."""
        return {operation.id: group.id for group in self.classes for operation in group.operations}


def read_yaml(path: Path, model: type[BaseModel]) -> BaseModel:
    """The file as `model`. Raises UserError with file and place if it is missing, not YAML or not of that form."""
    try:
        return model.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; set the path in the section `seeds` of the configuration") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not readable as YAML ({' '.join(str(error).split())})") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "top level"
        raise UserError(f"{path}: {place}: {first['msg']} (found {str(first['input'])[:80]!r})") from None


def _unique(path: Path, ids: list[str]) -> None:
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise UserError(f"{path}: ids {twice} are used twice; give every entry its own id")


def load_taxonomy(folder: Path) -> Taxonomy:
    """Read scenarios.yaml, operations.yaml and skill_categories.yaml of `folder`. Raises UserError for what does not fit."""
    scenarios = read_yaml(folder / "scenarios.yaml", _Scenarios)
    operations = read_yaml(folder / "operations.yaml", _Operations)
    skills = read_yaml(folder / "skill_categories.yaml", _SkillCategories)
    taxonomy = Taxonomy(scenarios.categories, operations.classes, skills.categories)
    _unique(folder / "scenarios.yaml", [category.id for category in taxonomy.categories])
    _unique(folder / "scenarios.yaml", [sub.id for category in taxonomy.categories for sub in category.subcategories])
    _unique(folder / "operations.yaml", [operation.id for group in taxonomy.classes for operation in group.operations])
    _unique(folder / "skill_categories.yaml", [category.id for category in taxonomy.skill_categories])
    for operation in taxonomy.operations.values():
        if unknown := [name for name in operation.goes_with if name not in taxonomy.operations or name == operation.id]:
            raise UserError(f"{folder / 'operations.yaml'}: {operation.id}: goes_with names {unknown}; expected ids of other operations")
    return taxonomy
