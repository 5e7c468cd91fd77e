"""Rubric rules that several families share, one for each quality that code checks leave open. The judge scores them by the wording."""

from clawgym.offline.families.base import Rule


def bare(artifact: str = "target", weight: float = 1.0) -> Rule:
    return Rule(
        "bare", "The file holds nothing but the value: no label, quotes or explanation around it, and no other values.", artifact, weight,
        ("no file, or only talk", "the value among other lines or cells and with talk", "the value with its label or with other values",
         "the value with stray signs, spaces or a full sentence", "the value alone in one line"),
    )  # fmt: skip


def layout(artifact: str = "target", weight: float = 1.0) -> Rule:
    return Rule(
        "layout", "The result is tidy: one consistent layout that a colleague or a program can reuse as it is.", artifact, weight,
        ("no result, or no recognisable form", "the right form only inside other text", "readable, but entries differ in form",
         "one form with a lapse, such as a missing header, an entry twice or numbers as text", "one consistent form and nothing around it"),
    )  # fmt: skip


def naming(artifact: str = "target", weight: float = 1.0) -> Rule:
    return Rule(
        "naming", "Parts are named as the instruction names them: keys or columns carry the names it uses, and none of them lacks.",
        artifact, weight,
        ("no names at all", "names of its own, or data where names belong", "some names as asked", "names as asked with one lapse",
         "every part has the name that the instruction uses"),
    )  # fmt: skip


def adds_up(artifact: str = "target", weight: float = 1.0) -> Rule:
    return Rule(
        "adds_up", "The result adds up in itself: totals, counts, ranks and lists fit together, nothing is there twice.", artifact, weight,
        ("no result, or nothing to compare", "its parts contradict each other", "some parts agree, others do not or lack",
         "one small contradiction", "all its parts agree"),
    )  # fmt: skip


def kept(artifact: str = "target", weight: float = 1.0) -> Rule:
    return Rule(
        "kept", "What the task does not name is undisturbed: other keys are still there and the file stays easy to compare.",
        artifact, weight,
        ("no file, or nothing that can be loaded", "everything else is gone",
         "other keys are there, but run together in one line or inside other text",
         "other keys are there, most entries in a line of their own", "other keys are there, one entry per line"),
    )  # fmt: skip


def readable(artifact: str, weight: float = 1.0) -> Rule:
    return Rule(
        "readable", "The script is readable and commented: somebody else can see what it does and change it.", artifact, weight,
        ("no script, or no valid one", "a bare statement", "a few statements with a remark", "clear steps, hardly a comment",
         "clear steps, comments, odd input dealt with"),
    )  # fmt: skip


def candid(artifact: str = "target", weight: float = 1.0) -> Rule:
    return Rule(
        "candid", "The report says what was left out or what it cannot tell.", artifact, weight,
        ("no report", "a text without form that hides its limits", "a report that names no limits", "limits are hinted at",
         "limits are named with what they concern"),
    )  # fmt: skip
