"""What the judge is shown, and what becomes of a judge that does not answer."""

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from clawgym.client import Unanswered, render
from clawgym.quality.judge import SHOWN_CHARS, TaskJudgement, judge_tasks, request

PROMPTS = Path(__file__).parents[2] / "config/prompts"
TASK = {
    "task_id": "t-1",
    "instruction": "Add up a.csv.",
    "files": [
        {"path": "a.csv", "type": "csv", "content": "x" * (SHOWN_CHARS + 5)},
        {"path": "b.xlsx", "type": "base64:xlsx", "content": "UEsDBA=="},
    ],
    "expected_outputs": ["total.txt"],
}
VERIFIER = {
    "code": "SECRET_SOURCE",
    "solution": "SECRET_SOLUTION",
    "checks": [{"check_id": "right", "description": "holds the total", "artifact": None}],
    "rubric": [{"rule_id": "tone", "text": "polite?", "artifact": "total.txt", "weight": 1.0, "anchors": ["a", "b", "c", "d", "e"]}],
}


class Judge:
    """Stands where the client stands and answers, or fails, as it is told."""

    models = {"judge": SimpleNamespace(model="some-judge")}

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    async def structured(self, role, messages, answer):
        self.asked.append(messages)
        if isinstance(self.answer, Exception):
            raise self.answer
        return answer.model_validate(self.answer)

    async def map(self, ask, rows):
        return [await ask(row) for row in rows]

    def require_answers(self, failures, asked):
        self.failures = list(failures)


def judged(answer):
    judge = Judge(answer)
    return judge, asyncio.run(judge_tasks(judge, str(PROMPTS), [TASK], {"t-1": VERIFIER}))[0]


def test_an_answer_becomes_marks():
    marks = {"plausibility": 4, "difficulty": "hard", "coverage": 3, "overstrictness": 1, "complementarity": None, "comment": "fine"}
    assert judged(marks)[1] == {"task_id": "t-1", "model": "some-judge", "status": "ok"} | marks


def test_a_judge_without_a_usable_answer_leaves_its_failure_and_no_marks():
    judge, row = judged(Unanswered("invalid_output", "no JSON"))
    assert row == {"task_id": "t-1", "model": "some-judge", "status": "invalid_output", "detail": "no JSON"}
    assert judge.failures == [("invalid_output", "no JSON")]


def test_the_judge_sees_the_task_but_neither_grader_nor_solution():
    text = str(judged({"plausibility": 3, "difficulty": "easy", "coverage": 3, "overstrictness": 3})[0].asked)
    assert "Add up a.csv." in text and "holds the total" in text and "polite?" in text
    assert "SECRET" not in text and "UEsDBA" not in text and "x" * SHOWN_CHARS in text and "x" * (SHOWN_CHARS + 1) not in text


def test_the_prompt_ends_with_the_request():
    asked = request(TASK, VERIFIER)
    values = {name: value for name, value in asked.items() if name != "request"}
    user = render(PROMPTS, "judge_task", **values, request=asked)[-1]["content"]
    assert user.endswith("```") and '{"request": "judge_task"' in user


@pytest.mark.parametrize("change", [{"plausibility": 6}, {"coverage": 0}, {"difficulty": "impossible"}, {"overstrictness": None}])
def test_marks_out_of_range_are_not_an_answer(change):
    marks = {"plausibility": 4, "difficulty": "hard", "coverage": 3, "overstrictness": 1}
    with pytest.raises(ValidationError):
        TaskJudgement.model_validate(marks | change)
