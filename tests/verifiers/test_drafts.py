"""What is refused before any of it runs, and what solver and author are told."""

import asyncio
import json

import pyarrow as pa
import pytest
from pydantic import ValidationError

from clawgym.client import Client
from clawgym.config import Spend
from clawgym.verifiers.draft import Solution, VerifierDraft
from clawgym.verifiers.schema import VERIFIER
from clawgym.verifiers.write import write_verifiers
from tests.client.fake import answer, provider

CODE = "import json\n\n\ndef grade(transcript, workspace_path):\n    return {'right_total': 0.0}\n"
CHECK = {"check_id": "right_total", "description": "total.txt holds the total", "artifact": "total.txt"}
RULE = {"rule_id": "tone", "text": "The note is friendly.", "artifact": None, "weight": 1, "anchors": ["a", "b", "c", "d", "e"]}
DRAFT = {"code": CODE, "checks": [CHECK], "rubric": []}
TASK = {
    "task_id": "t-1", "instruction": "Write the total of day.csv to total.txt.", "expected_outputs": ["total.txt"], "may_modify": [],
    "files": [{"path": "day.csv", "type": "csv", "spec": "the secret plan", "content": "item,total\nbread,3\n", "sha256": "0"}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"code": "def grade(transcript, workspace_path) return"}, "does not compile"),
        ({"code": "def score(transcript, workspace_path):\n    return {}"}, "expected a plain function grade"),
        ({"code": "async def grade(transcript, workspace_path):\n    return {}"}, "expected a plain function grade"),
        ({"code": "def grade(workspace_path):\n    return {}"}, "expected the parameters"),
        ({"code": "def grade(transcript, workspace_path, answer):\n    return {}"}, "further parameters"),
        ({"code": "def f():\n    import numpy.linalg\n" + CODE}, "imports numpy.linalg; only the Python standard library"),
        ({"code": "from . import x\n" + CODE}, "relative imports"),
        ({"code": "from urllib.request import urlopen\n" + CODE}, "no network"),
        ({"code": "from random import random\n" + CODE}, "same scores every time"),
        ({"code": "return 1\n" + CODE}, "does not compile"),
        ({"checks": []}, "list every key"),
        ({"checks": [CHECK, CHECK]}, "more than once"),
        ({"checks": [CHECK | {"artifact": "../x"}]}, "without empty parts"),
        ({"code": None}, "code, rubric rules or both"),
        ({"rubric": [RULE | {"weight": 0}]}, "greater than 0"),
        ({"rubric": [RULE | {"weight": float("nan")}]}, "weight"),
        ({"rubric": [RULE | {"anchors": ["a", "b", "c", " ", "e"]}]}, "five written anchors"),
    ],
)
def test_a_verifier_that_breaks_the_contract_is_refused(change, message):
    with pytest.raises(ValidationError, match=message):
        VerifierDraft.model_validate(DRAFT | change)


def test_code_rubric_or_both_are_taken():
    for change in ({}, {"code": None, "checks": [], "rubric": [RULE]}, {"code": " ", "checks": [], "rubric": [RULE]}, {"rubric": [RULE]}):
        VerifierDraft.model_validate(DRAFT | change)
    VerifierDraft.model_validate(DRAFT | {"code": "from urllib.parse import quote\n" + CODE})
    with pytest.raises(ValidationError, match="only the Python standard library"):
        Solution(program="import pandas")


def ask(tmp_path, reply, solver=True):
    async def main():
        async with provider(reply) as (fake, model):
            spend = Spend(limit_usd=1e9, cache=str(tmp_path / "c.sqlite"))
            async with Client({"author": model, "solver": model}, spend, "verifiers") as client:
                return fake, *await write_verifiers(client, "config/prompts", [TASK], 0.7, solver)

    return asyncio.run(main())


def test_author_and_solver_are_told_what_they_need_and_no_more(tmp_path):
    def reply(n, body):
        prompt = body["messages"][1]["content"]
        return answer(json.dumps(DRAFT if '"write_verifier"' in prompt else {"program": "print('done')"}))

    fake, verifiers, rejects = ask(tmp_path, reply)
    [row] = pa.Table.from_pylist(verifiers, schema=VERIFIER).to_pylist()
    assert (row["code"], row["solution"], row["lambda"], row["checks"]) == (CODE, "print('done')", 0.7, [CHECK]) and not rejects
    author, solver = (body["messages"][1]["content"] for body in fake.bodies)
    assert "bread,3" in author and "grade(transcript, workspace_path)" in author
    assert "bread,3" in solver and "grade" not in solver and "secret plan" not in solver


def test_without_a_usable_program_the_verifier_stays_without_solution(tmp_path):
    def reply(n, body):
        return answer(json.dumps(DRAFT) if '"write_verifier"' in body["messages"][1]["content"] else "I cannot.")

    _, [row], rejects = ask(tmp_path, reply)
    assert row["solution"] is None and not rejects
    fake, [row], _ = ask(tmp_path, reply, solver=False)
    assert row["solution"] is None and len(fake.bodies) == 1


def test_a_task_with_a_rubric_only_needs_no_program(tmp_path):
    fake, [row], _ = ask(tmp_path, lambda n, body: answer(json.dumps({"code": None, "checks": [], "rubric": [RULE]})))
    assert row["code"] is None and row["rubric"][0]["weight"] == 1.0 and len(fake.bodies) == 1
