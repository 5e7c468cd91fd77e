"""What seeds, quality and grades rely on: judgement follows the content of the request and has the agreed form."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from clawgym.offline.families import FAMILIES, rubric
from clawgym.seeds import taxonomy
from clawgym.seeds.annotation import annotation_model, check
from tests.offline import play

MODEL = annotation_model(taxonomy.load_taxonomy(Path("config/taxonomy")))
PLAIN = "Read the notes, sort them by date and write a short summary of what the team decided and who does what. " * 3


def annotate(name: str, description: str, body: str) -> object:
    request = {"request": "annotate_skill", "name": name, "description": description, "body": body, "frontmatter": {}}
    annotation = MODEL.model_validate(play.ask("annotator", request))
    check(annotation)
    return annotation


def test_a_skill_that_needs_nothing_can_become_tasks():
    skill = annotate("meeting-notes", "Plan and summarise meeting notes", PLAIN)
    assert skill.synthesizable and skill.category == "workflows" and not skill.reasons


@pytest.mark.parametrize(
    "body, reason",
    [
        (PLAIN + "Set OPENWEATHER_API_KEY first.", "needs_key"),
        (PLAIN + "curl https://api.example.com/v1/prices and then curl https://api.example.com/v1/names", "needs_network"),
        (PLAIN + "Take a screenshot and click on the button.", "needs_gui"),
        ("读取文件并按日期排序，然后写一个简短的总结。" * 20, "not_english"),
        ("", "no_content"),
    ],
)
def test_what_stands_in_the_way_is_named(body, reason):
    skill = annotate("some-skill", "", body)
    assert not skill.synthesizable and reason in skill.reasons


RULE = {"rule_id": "tone", "text": "The message has a polite tone: it greets the team, thanks or asks, and closes.", "anchors": ["a"] * 5}


def judge(content: str | None, rule: dict = RULE) -> dict:
    return play.ask(
        "judge", {"request": "judge_rule", "instruction": "Write to the team.", "rule": rule, "artifact": "m.md", "content": content}
    )


def test_a_rule_is_scored_on_what_is_there():
    good = judge("Hello team,\n\nthank you for coming. Please send the figures.\n\nKind regards\n")
    blunt = judge("Send the figures today or else there will be trouble for every one of you.")
    assert good["score"] > blunt["score"]
    assert (
        good["score"] in (0.25, 0.5, 0.75, 1)
        and good["evidence"] in "Hello team,\nthank you for coming. Please send the figures.\nKind regards"
    )
    assert judge(None)["score"] == judge("  ")["score"] == 0


@pytest.mark.parametrize("kind", sorted(FAMILIES))
def test_every_family_has_a_rubric_that_good_work_meets(kind, tmp_path):
    """Reference program and strong agent get at least three quarters on every rule, nothing gets nothing, and the reason is quoted."""
    for draw in range(3):
        task = play.author(kind, draw)
        nothing, oracle, strong = (play.lay_out(task, tmp_path / f"{state}{draw}") for state in ("nothing", "oracle", "strong"))
        subprocess.run([sys.executable, "-I", "-c", task["program"]], cwd=oracle, check=True, capture_output=True)
        play.roll(task, "strong", strong)
        for path in task["expected_outputs"]:
            (nothing / path).unlink(missing_ok=True)
        rules = task["verifier"]["rubric"]
        assert rules and all(len(set(rule["anchors"])) == 5 and rule["artifact"] in task["expected_outputs"] for rule in rules)
        assert {answer["score"] for answer in play.judge(task, nothing).values()} == {0}
        for folder in (oracle, strong):
            for rule in rules:
                answer = play.judge(task, folder)[rule["rule_id"]]
                assert answer["score"] >= 0.75, (rule["rule_id"], answer)
                assert answer["evidence"] and answer["evidence"] in (folder / rule["artifact"]).read_text()


FLAWED = {
    "bare": ["Ada Finch\n", "chair: Ada Finch\n", "chair: Ada Finch\ndate: 2026-01-02\nroom: 3B\n"],
    "layout": ["a,b\nx,1\ny,2\n", "a,b\nx,1\nx,1\n", "a,b\nx,1\ny\ny\n", "Sure! Here is the table: x has 1\nand y has 2"],
    "adds_up": ['{"a": 1, "b": 2, "total": 3}', '{"a": 1, "b": 2, "total": 4}', '{"a": "1", "b": "2"}', "one and two"],
    "naming": ["chair,room\nAda,3\n", "who,where\nAda,3\n", "Ada and 3"],
    "kept": ['{\n"owner": "A",\n"count": 2\n}', '{"owner": "A", "count": 2}', '{"count": 2}', "count is 2"],
    "readable": ["# Adds up the rows.\nimport csv\nfor row in []:  # none yet\n    if row:\n        print(row)\n",
                 "import csv\nfor row in []:\n    if row:\n        print(row)\n", "# the sum\nprint(3)\n", "print 3"],
    "candid": ["# Report\n\nThere were nine errors in the log on Monday. INFO lines are left out.", 
               "# Report\n\nThere were nine errors in the log on Monday and all was well else.", "Nine errors."],
}  # fmt: skip


@pytest.mark.parametrize("measure", FLAWED)
def test_each_flaw_costs(measure):
    """From good to useless, each artefact scores less than the one before; the path says only what form to expect."""
    rule = dataclasses.asdict(getattr(rubric, measure)("target"))
    ending = {"layout": "csv", "naming": "csv", "adds_up": "json", "kept": "json"}.get(measure, "txt")
    block = {"request": "judge_rule", "rule": rule, "artifact": f"out.{ending}"}
    block["instruction"] = "Save chair and room" + {"kept": ', then raise "count".', "adds_up": ' with the "total".'}.get(measure, ".")
    scores = [play.ask("judge", block | {"content": content})["score"] for content in FLAWED[measure]]
    assert scores == sorted(set(scores), reverse=True) and scores[0] == 1, scores
    assert scores == [play.ask("judge", block | {"content": content}, seed=9)["score"] for content in FLAWED[measure]]


def test_coverage_follows_the_checks():
    request = {
        "request": "judge_task",
        "instruction": "Write a.txt and b.txt from in.csv, please.",
        "files": [],
        "expected_outputs": ["a.txt", "b.txt"],
    }
    one = [{"check_id": "a", "description": "a is right", "artifact": "a.txt"}]
    both = one * 2 + [{"check_id": "b", "description": "b is right", "artifact": "b.txt"}] * 2
    marks = [play.ask("judge", request | {"checks": checks, "rubric": []})["coverage"] for checks in ([], one, both)]
    assert marks == sorted(marks) and marks[0] < marks[1] < marks[2]


@pytest.mark.parametrize(
    "prompt",
    [
        "Hello?",
        play.prompt({"request": "write_poem"}),
        play.prompt({"request": "write_solution", "instruction": "Design a landing page."}),
        play.prompt({"request": "write_file", "instruction": 'Save "x" in y.txt.', "files": [], "path": "y.txt"}),
        "```json\n{not json}\n```",
    ],
)
def test_what_it_cannot_answer_it_says_in_plain_text(prompt):
    answer = play.say("author", [{"role": "user", "content": prompt}], response_format={"type": "json_object"})["content"]
    assert "cannot" in answer and not answer.startswith("{")
