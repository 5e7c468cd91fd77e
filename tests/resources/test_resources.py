"""What the stages after this one rely on: every file is what its type says, and a task has all of its files or is rejected."""

import asyncio
import hashlib
import json

import pyarrow as pa
import pytest

from clawgym.client import Client
from clawgym.config import Resources, Spend
from clawgym.resources.files import write_files
from clawgym.resources.parsers import check_content
from clawgym.tasks.schema import REJECT, TASK
from tests.client.fake import answer, provider

TASK_ROW = {
    "task_id": "t-1", "seed_id": "p-1", "route": "persona", "instruction": "Sum the orders of each customer.", "category": "finance",
    "subcategory": None, "kind": "join-and-total", "operations": ["join_tables"], "difficulty": "medium",
    "files": [
        {"path": "customers.csv", "type": "csv", "spec": "id, name", "content": None, "sha256": None},
        {"path": "orders.json", "type": "json", "spec": "list of {customer, amount}", "content": None, "sha256": None},
    ],
    "expected_outputs": ["totals.json"], "may_modify": [], "model": "m", "source": "pool", "licence": "MIT", "redistributable": True,
}  # fmt: skip
CONTENTS = {"customers.csv": "id,name\n1,Ünal\n", "orders.json": '[{"customer": 1, "amount": 2}]'}


def fill(tmp_path, contents, tasks=(TASK_ROW,), **limits):
    def reply(n, body):
        request = json.loads(body["messages"][1]["content"].rsplit("```json\n", 1)[1].removesuffix("\n```"))
        return answer(json.dumps({"content": contents[request["path"]]}))

    async def main():
        async with provider(reply) as (fake, model):
            async with Client({"author": model}, Spend(limit_usd=1e9, cache=str(tmp_path / "c.sqlite")), "resources") as client:
                return fake, *await write_files(client, "config/prompts", list(tasks), Resources(**limits))

    return asyncio.run(main())


def test_a_task_gets_all_its_files_each_written_with_those_before_in_view(tmp_path):
    fake, tasks, rejects = fill(tmp_path, CONTENTS)
    [task] = pa.Table.from_pylist(tasks, schema=TASK).to_pylist()
    assert {file["path"]: file["content"] for file in task["files"]} == CONTENTS and not rejects
    assert task["files"][0]["sha256"] == hashlib.sha256(CONTENTS["customers.csv"].encode()).hexdigest()
    assert "1,Ünal" in fake.bodies[1]["messages"][1]["content"] and "1,Ünal" not in fake.bodies[0]["messages"][1]["content"]


def test_a_task_with_a_broken_or_too_large_file_is_rejected_and_says_which(tmp_path):
    fake, tasks, rejects = fill(tmp_path, CONTENTS | {"orders.json": "[{]"})
    [reject] = pa.Table.from_pylist(rejects, schema=REJECT).to_pylist()
    assert not tasks and reject["reason"] == "invalid_output" and "orders.json: not valid json" in reject["detail"]
    assert "not valid json" in fake.bodies[-1]["messages"][-1]["content"]  # the repair round showed it
    _, tasks, [reject] = fill(tmp_path, CONTENTS, max_file_bytes=20)
    assert not tasks and reject["reason"] == "too_large" and "orders.json: 30 bytes" in reject["detail"]


def test_a_task_without_files_needs_no_answer(tmp_path):
    fake, [task], _ = fill(tmp_path, {}, [TASK_ROW | {"files": []}])
    assert task["files"] == [] and not fake.bodies


@pytest.mark.parametrize(
    ("type_", "good", "bad"),
    [
        ("json", '{"a": [1]}', '{"a": 1,}'),
        ("jsonl", '{"a": 1}\n\n{"a": 2}\n', '{"a": 1}\n{a}\n'),
        ("yaml", "a: [1, 2]\n", "a: [1, 2\n"),
        ("csv", 'a,b\n"x, y",2\n', "a,b\nx, y,2\n"),
        ("csv", "a,b\n", "a,a\n1,2\n"),
        ("csv", "a,b\n1,2\n", 'a,b\n"x,2\n'),
        ("tsv", "a\tb\n1\t2\n", "a\tb\n1\n"),
        ("xml", "<a><b/></a>", "<a><b></a>"),
        ("xml", "<a/>", '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'),
        ("toml", "[a]\nb = 1\n", "[a\nb = 1\n"),
        ("ini", "[a]\nb = 50%\n", "b = 1\n"),
        ("py", "def f():\n    return 1\n", "def f(:\n"),
        ("md", "# anything goes", "  \n"),
        ("txt", "text", "nul\0"),
    ],
)
def test_contents_are_read_back_with_a_parser_of_their_type(type_, good, bad):
    check_content("f", type_, good)
    with pytest.raises(ValueError, match="^f: "):
        check_content("f", type_, bad)
