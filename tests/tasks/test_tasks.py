"""What the stages after this one rely on: every seed becomes a sound task or a reject with a reason, under ids that stay."""

import asyncio
import json
from pathlib import Path

import pyarrow as pa
import pytest
from pydantic import ValidationError

from clawgym.client import Client
from clawgym.config import Spend, Tasks
from clawgym.errors import UserError
from clawgym.seeds.taxonomy import load_taxonomy
from clawgym.tables import read_rows, write_table
from clawgym.tasks.collect import concatenate
from clawgym.tasks.draft import TaskDraft, task_id, write_tasks
from clawgym.tasks.paths import check_together, checked_path
from clawgym.tasks.schema import REJECT, TASK
from tests.client.fake import answer, provider

TAXONOMY = load_taxonomy(Path("config/taxonomy"))
DRAFT = {
    "instruction": "Copy the total of input/day.csv to out/total.txt, as a plain number.",
    "kind": "copy-field",
    "difficulty": "easy",
    "operations": ["extract_field"],
    "files": [{"path": "input/day.csv", "type": "CSV", "spec": "columns item and total, three rows"}],
    "expected_outputs": ["out/total.txt"],
    "may_modify": [],
}
SEED = {
    "seed_id": "p-1", "route": "persona", "persona": "A baker in Lyon.", "category": "finance", "subcategory": "budget_tracking",
    "operations": ["extract_field", "write_note"], "main_skill": None, "support_skills": [],
    "source": "pool", "licence": "Apache-2.0", "redistributable": True,
}  # fmt: skip


def write(tmp_path, reply, seeds, skills=None, **limits):
    async def main():
        async with provider(reply) as (fake, model):
            async with Client({"author": model}, Spend(limit_usd=1e9, cache=str(tmp_path / "c.sqlite")), "tasks") as client:
                return fake, *await write_tasks(client, "config/prompts", seeds, skills or {}, TAXONOMY, Tasks(**limits))

    return asyncio.run(main())


def request_of(body):
    return json.loads(body["messages"][1]["content"].rsplit("```json\n", 1)[1].removesuffix("\n```"))


def test_each_seed_becomes_a_task_or_a_reject_with_its_reason(tmp_path):
    def reply(n, body):
        seed_id = request_of({"messages": body["messages"][:2]})["seed_id"]
        if seed_id == "p-3":
            return answer(None, refusal="no")
        path = "../../etc/passwd" if seed_id == "p-2" else "input/day.csv"
        return answer(json.dumps(DRAFT | {"files": [DRAFT["files"][0] | {"path": path}]}))

    seeds = [SEED | {"seed_id": f"p-{i}"} for i in range(1, 4)]
    fake, tasks, rejects = write(tmp_path, reply, seeds)
    [task] = [row for row in pa.Table.from_pylist(tasks, schema=TASK).to_pylist()]
    assert task["task_id"] == task_id("p-1", DRAFT["instruction"]) and task["files"][0]["content"] is None
    assert (task["files"][0]["type"], task["seed_id"], task["category"], task["licence"]) == ("csv", "p-1", "finance", "Apache-2.0")
    reasons = {row["record_id"]: row for row in pa.Table.from_pylist(rejects, schema=REJECT).to_pylist()}
    assert reasons["p-3"]["reason"] == "refused"
    assert reasons["p-2"]["reason"] == "invalid_output" and "files.0.path" in reasons["p-2"]["detail"]
    assert len(fake.bodies) == 4  # one each, and the repair round of p-2


def test_the_author_is_told_the_persona_the_scenario_and_the_operations(tmp_path):
    fake, _, _ = write(tmp_path, lambda n, body: answer(json.dumps(DRAFT)), [SEED])
    prompt = fake.bodies[0]["messages"][1]["content"]
    assert "A baker in Lyon." in prompt and TAXONOMY.operations["extract_field"].description in prompt
    request = request_of(fake.bodies[0])
    assert request["request"] == "write_task" and request["operations"] == SEED["operations"] and request["skills"] == []


def test_on_the_skill_route_the_author_is_told_the_skills(tmp_path):
    skill = {"name": "csv-tidy", "description": "Tidy tables", "operations": ["filter_rows"], "body": "Use csv.DictReader."}
    place = {"route": "skill", "persona": None, "category": "workflows", "subcategory": None}
    seed = SEED | place | {"main_skill": "s1", "support_skills": ["s2"]}
    skills = {"s1": skill, "s2": skill | {"name": "notes"}}
    fake, [task], _ = write(tmp_path, lambda n, body: answer(json.dumps(DRAFT)), [seed], skills)
    prompt = fake.bodies[0]["messages"][1]["content"]
    assert "csv-tidy: Tidy tables" in prompt and "Use csv.DictReader." in prompt and "Persona" not in prompt
    assert [s["name"] for s in request_of(fake.bodies[0])["skills"]] == ["csv-tidy", "notes"] and task["subcategory"] is None


def test_an_endpoint_that_is_down_fails_the_job_instead_of_emptying_the_table(tmp_path, monkeypatch):
    monkeypatch.setattr("clawgym.client.client.FIRST_PAUSE_S", 0.001)
    with pytest.raises(UserError, match="2 of 2 records got no answer"):
        write(tmp_path, lambda n, body: (500, {"error": {"message": "down"}}), [SEED, SEED | {"seed_id": "p-2"}])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "Copy Field"}, "kind"),
        ({"expected_outputs": []}, "name at least one file"),
        ({"expected_outputs": ["input/day.csv"]}, "list them in may_modify"),
        ({"expected_outputs": ["Input/Day.csv"]}, "differ in case only"),
        ({"expected_outputs": ["input"]}, "is a file and the folder of"),
        ({"may_modify": ["other.csv"]}, "not among files"),
        ({"files": DRAFT["files"] * 2}, "more than once"),
        ({"files": [DRAFT["files"][0] | {"type": "xlsx"}]}, "cannot be written as text"),
    ],
)
def test_a_draft_that_contradicts_itself_is_refused(change, message):
    with pytest.raises(ValidationError, match=message):
        TaskDraft.model_validate(DRAFT | change)


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x", "a/../b", "a//b", "~/x", "C:/x", "a\\b", "a/", "", " a", "a\nb", "a\u202eb", "e\u0301.txt", "x" * 300]
)
def test_paths_that_leave_the_workspace_or_differ_between_systems_are_refused(path):
    with pytest.raises(ValueError, match="expected"):
        checked_path(path)


def test_usual_paths_are_taken():
    assert [checked_path(p) for p in ("./a.txt", "data/é.csv", ".env", "a b/c.md")] == ["a.txt", "data/é.csv", ".env", "a b/c.md"]
    check_together(["a/x.txt", "a/y.txt", "b.txt"])
    with pytest.raises(ValueError, match="differ in case"):
        check_together(["data/x.txt", "Data/y.txt"])


def test_limits_and_unknown_operations_are_refused(tmp_path):
    for draft, limits, message in [
        (DRAFT, {"max_instruction_chars": 40}, "at most 40"),
        (DRAFT | {"files": [DRAFT["files"][0] | {"path": f"{i}.csv"} for i in range(3)]}, {"max_files": 2}, "at most 2"),
        (DRAFT | {"operations": ["fly"]}, {}, "not operations of the taxonomy"),
    ]:
        _, tasks, [reject] = write(tmp_path, lambda n, body, draft=draft: answer(json.dumps(draft)), [SEED], **limits)
        assert not tasks and message in reject["detail"]


def test_the_collected_table_does_not_depend_on_the_number_of_shards(tmp_path):
    rows = [{"stage": "tasks", "record_id": i, "reason": "empty", "detail": ""} for i in "bdac"]
    for name, cut in (("one", [rows]), ("two", [rows[:1], rows[1:]])):
        shards = [tmp_path / f"{name}-{i}.parquet" for i in range(len(cut))]
        for shard, part in zip(shards, cut, strict=True):
            write_table(part, REJECT, shard, {})
        concatenate(shards, REJECT, "record_id", tmp_path / f"{name}.parquet")
    assert read_rows(tmp_path / "one.parquet") == read_rows(tmp_path / "two.parquet")
