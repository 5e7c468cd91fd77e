"""The stand-in's task families and how one is chosen: by the main operation when a task is written, by the wording when one is read."""

from clawgym.offline.families import automation, documents, tables, training
from clawgym.offline.families.base import Family, Params

FAMILIES: dict[str, Family] = {
    family.kind: family for family in (*training.FAMILIES, *tables.FAMILIES, *documents.FAMILIES, *automation.FAMILIES)
}
"""Kind of work to family."""

BY_OPERATION: dict[str, Family] = {operation: family for family in FAMILIES.values() for operation in family.operations}
"""Atomic operation of the taxonomy to the family whose tasks are mainly about it; all 26 are there."""


def recognise(text: str) -> tuple[Family, Params] | None:
    """The family whose wording the text has, with the parameters it states; None for wording of others."""
    for family in FAMILIES.values():
        if (params := family.parse(text)) is not None:
            return family, params
    return None
