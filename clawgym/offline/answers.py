"""Answers to the workflow's structured requests: tasks, files, verifiers and reference programs of the stand-in's families.

Everything is recovered from the request: the parameters of a task from its instruction, those of a file from its description.
"""

import random
from collections.abc import Callable
from typing import Any

from clawgym.offline import judging
from clawgym.offline.families import BY_OPERATION, FAMILIES, Family, Params, recognise
from clawgym.offline.families.base import fill
from clawgym.offline.texts import draws
from clawgym.offline.vocabulary import PEOPLE, WEEKDAYS, Scene, occupation_of, scene_of

Request = dict[str, Any]


class CannotAnswer(Exception):
    """The request is not one that a rule exists for. The message says so in plain words."""


LEADS = (
    "You help the {occupation} with {topic}.",
    "I am the {occupation} and the {topic} have to be in order by {day}.",
    "The {occupation} looks after {topic} here.",
    "It is {day} and the {topic} are still open on my desk.",
    "{person} asked for this before the next talk about {topic}.",
    "We keep our {topic} in plain files.",
    "This concerns the {topic}, {thing} among them.",
    "For our {topic} I need a hand.",
)
SKILL_LEADS = (
    "Work in the spirit of the skill {skill}.",
    "This is a case for the {skill} skill, on {topic}.",
    "Think of how {skill} is used, here for {topic}.",
)
TERSE_LEADS = (
    "",
    "",
    "For {person}: ",
    "About the {thing}. ",
    "{day} job. ",
    "For the {topic}: ",
    "Quick one for the {occupation}. ",
    "{occupation} here. ",
    "Regarding {topic}: ",
    "From {person}. ",
)


def _lead(rng: random.Random, family: Family, scene: Scene, request: Request) -> str:
    skills = [skill.get("name") or "" for skill in request.get("skills") or [] if isinstance(skill, dict)]
    words = {
        "occupation": occupation_of(request.get("persona") or ""),
        "topic": scene.topic,
        "thing": rng.choice(scene.things),
        "person": rng.choice(PEOPLE),
        "day": rng.choice(WEEKDAYS),
        "skill": skills[0] if skills else "",
    }
    if family.terse:
        text = f"With {words['skill'][:24]}. " if words["skill"] and rng.random() < 0.4 else rng.choice(TERSE_LEADS).format(**words)
        return text[:1].upper() + text[1:]
    text = rng.choice(SKILL_LEADS if words["skill"] else LEADS).format(**words)
    return text[:1].upper() + text[1:] + " "


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def write_task(request: Request, rng: random.Random) -> dict[str, Any]:
    """A task of the family that serves the main operation, in the setting of the subcategory and with words of the persona."""
    operations = [name for name in _listed(request.get("operations")) if isinstance(name, str)]
    family = next((BY_OPERATION[name] for name in operations if name in BY_OPERATION), None) or FAMILIES[rng.choice(sorted(FAMILIES))]
    scene = scene_of(request.get("subcategory") or "", rng)
    drawn = family.draw(rng, scene)
    params = {name: value for name, value in drawn.items() if not name.startswith("_")}
    lead = _lead(rng, family, scene, request)
    core = fill(rng.choice(family.phrasings), params)
    paths = {params[name] for name in family.targets + family.sources}
    if len(paths) < len(set(family.targets + family.sources)):
        raise CannotAnswer("I drew the same path twice and cannot write this task.")
    return {
        "instruction": lead + core,
        "kind": family.kind,
        "difficulty": family.difficulty,
        "operations": list(dict.fromkeys([*family.operations[:1], *operations[:1], *family.also]))[:6],
        "files": family.plan(rng, scene, drawn),
        "expected_outputs": family.targets_of(params),
        "may_modify": [params[name] for name in family.modifies],
    }


def _task_of(request: Request) -> tuple[Family, Params]:
    found = recognise(str(request.get("instruction") or ""))
    if found is None:
        raise CannotAnswer("I cannot answer this: the instruction has none of the wordings I know.")
    return found


def write_file(request: Request, rng: random.Random) -> dict[str, str]:
    """Content of one planned file: follows from the instruction, the path and the file's description."""
    family, params = _task_of(request)
    path = request.get("path")
    plan = next((file for file in _listed(request.get("files")) if isinstance(file, dict) and file.get("path") == path), None)
    if plan is None:
        raise CannotAnswer(f"I cannot write {path}: the plan has no such file.")
    text = str(plan.get("spec") or "")
    try:
        return {"content": family.content(draws(request["instruction"], path, text), params, str(path), text)}
    except (ValueError, KeyError, IndexError, StopIteration, TypeError) as problem:
        raise CannotAnswer(f"I cannot write {path}: its description lacks what I need ({problem}).") from problem


def write_verifier(request: Request, rng: random.Random) -> dict[str, Any]:
    """Grader source, what its checks mean, and rubric rules for what they leave open."""
    family, params = _task_of(request)
    contents = {
        file["path"]: file.get("content") or "" for file in _listed(request.get("files")) if isinstance(file, dict) and "path" in file
    }
    originals = {path: contents[path] for name in family.modifies if (path := params[name]) in contents}
    if len(originals) < len(family.modifies):
        raise CannotAnswer("I cannot write a grader: a file that the task updates is not among the files.")
    targets = family.targets_of(params)

    def artifact(check: str) -> str:
        """The output a check is about: check ids of the second output begin with its parameter's name."""
        named = [params[name] for name in family.targets if check.split("_")[0] == name]
        return (named or targets)[0]

    return {
        "code": family.grader(params, originals, request["instruction"]),
        "checks": [{"check_id": check, "description": text, "artifact": artifact(check)} for check, text in family.described.items()],
        "rubric": [
            {
                "rule_id": rule.rule_id,
                "text": rule.text,
                "artifact": params[rule.artifact],
                "weight": rule.weight,
                "anchors": list(rule.anchors),
            }
            for rule in family.rubric
        ],
    }


def write_solution(request: Request, rng: random.Random) -> dict[str, str]:
    """A program that writes the outputs, from the instruction alone; it reads the inputs when it runs."""
    family, params = _task_of(request)
    return {"program": family.program(params)}


ANSWERS: dict[str, Callable[[Request, random.Random], dict[str, Any]]] = {
    "write_task": write_task,
    "write_file": write_file,
    "write_verifier": write_verifier,
    "write_solution": write_solution,
    "annotate_skill": judging.annotate_skill,
    "judge_task": judging.judge_task,
    "judge_rule": judging.judge_rule,
}


def answer(request: Request, rng: random.Random) -> dict[str, Any]:
    """The answer to one structured request. Raises CannotAnswer if there is no rule for it."""
    if request["request"] not in ANSWERS:
        raise CannotAnswer(f"I cannot answer a request of the kind {request['request'][:40]!r}.")
    return ANSWERS[request["request"]](request, rng)
