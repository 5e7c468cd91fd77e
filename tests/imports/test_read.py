"""Every record of an imported set becomes a task that can be graded, or one reject that says what is wrong; a wrong folder is one line."""

import base64
from pathlib import Path

import pytest

from clawgym.config import Imports
from clawgym.errors import UserError
from clawgym.imports.read import read_imports, read_set
from clawgym.imports.records import Limits, Origin
from clawgym.tables import read_rows, write_table
from clawgym.tasks.schema import REJECT, TASK
from clawgym.verifiers.schema import VERIFIER

from .conftest import MARKDOWN, SCRIPT_GRADER, write_clawgym, write_entry, write_pinchbench

ORIGIN = Origin("MIT", False)
DATA = Path(__file__).parents[3] / "shared/data"


def read(name, folder, limits=None):
    return read_set(name, folder, ORIGIN, limits or Limits())


# -- good records -----------------------------------------------------------------------------------------------------------------


def test_a_clawgym_folder_becomes_task_and_verifier_records(clawgym_set, tmp_path):
    tasks, verifiers, rejects = read("clawgym", clawgym_set)
    assert rejects == [] and [task["task_id"] for task in tasks] == ["clawgym-task_1", "clawgym-task_2"]
    task = tasks[0]
    assert task["files"][0]["path"] == "input/a.csv" and task["files"][0]["content"] == "n\r\n40\r\n2\r\n"  # byte for byte
    assert task["expected_outputs"] == ["output/total.txt"] and task["may_modify"] == ["input/a.csv"]
    assert (task["route"], task["licence"], task["redistributable"]) == ("import", "MIT", False)
    write_table(tasks, TASK, tmp_path / "t.parquet", {})
    write_table(verifiers, VERIFIER, tmp_path / "v.parquet", {})
    write_table(rejects, REJECT, tmp_path / "r.parquet", {})
    assert read_rows(tmp_path / "t.parquet", TASK)[0]["instruction"] == task["instruction"]


def test_a_pinchbench_file_becomes_a_hybrid_task_with_its_binary_asset(pinchbench_set):
    (task,), (verifier,), rejects = read("pinchbench", pinchbench_set)
    assert rejects == [] and task["task_id"] == "pinchbench-task_01_letter" and task["category"] == "writing"
    assert task["instruction"].endswith("Save it to letter.md.")
    text, table = task["files"]
    assert (text["path"], text["type"], text["content"]) == ("facts.txt", "txt", "name: Ada\n")
    assert (table["path"], table["type"]) == ("data/table.xlsx", "base64:xlsx")
    assert base64.b64decode(table["content"]) == b"PK\x03\x04\x00\xff"
    assert verifier["lambda"] == pytest.approx(0.6)
    tone, form = verifier["rubric"]
    assert (tone["text"], tone["weight"], tone["artifact"]) == ("Tone", 70.0, "letter.md")
    assert tone["anchors"] == ["Nothing.", "Rude.", "Dry.", "Polite.", "Warm."]
    assert form["anchors"][4] == "Greeting, body and closing."


def test_a_judge_only_task_has_no_code(tmp_path):
    text = MARKDOWN.replace("grading_type: hybrid", "grading_type: llm_judge")
    write_pinchbench(tmp_path, text)
    _, (verifier,), _ = read("pinchbench", tmp_path)
    assert verifier["code"] is None and len(verifier["rubric"]) == 2 and verifier["lambda"] == 0


def test_binary_input_of_a_clawgym_task_is_base64(clawgym_set):
    (clawgym_set / "task_1/input_files/logo.PNG").write_bytes(b"\x89PNG\x00")
    tasks, _, _ = read("clawgym", clawgym_set)
    logo = next(file for file in tasks[0]["files"] if file["path"] == "logo.PNG")
    assert logo["type"] == "base64:png" and base64.b64decode(logo["content"]) == b"\x89PNG\x00"


def test_an_id_used_twice_is_imported_once(clawgym_set):
    write_clawgym(clawgym_set, "task_9", task_id="task_1")
    tasks, _, rejects = read("clawgym", clawgym_set)
    assert len(tasks) == 2 and [(row["record_id"], row["reason"]) for row in rejects] == [("clawgym:task_9", "duplicate_id")]


def test_reading_runs_nothing(tmp_path):
    mark = tmp_path / "ran"
    write_clawgym(tmp_path / "set", "task_1", f"open({str(mark)!r}, 'w')\n" + SCRIPT_GRADER)
    read("clawgym", tmp_path / "set")
    assert not mark.exists()


# -- malformed records ------------------------------------------------------------------------------------------------------------


def broken_json(folder):
    (folder / "data_entry.json").write_text('{"task_id": ')


def a_list(folder):
    (folder / "data_entry.json").write_text("[1]")


def no_entry(folder):
    (folder / "data_entry.json").unlink()


def no_grader(folder):
    (folder / "reward/check.py").unlink()


def grader(source):
    return lambda folder: (folder / "reward/check.py").write_text(source)


def entry(**changes):
    return lambda folder: write_entry(folder, **changes)


def link(folder):
    (folder / "input_files/link.txt").symlink_to("/etc/hostname")


def large(folder):
    (folder / "input_files/large.txt").write_text("x" * 2000)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (broken_json, "broken_json"),
        (a_list, "broken_json"),
        (no_entry, "missing_entry"),
        (entry(user_query=" "), "missing_prompt"),
        (entry(user_query=None), "missing_prompt"),
        (entry(task_id="../../etc"), "bad_id"),
        (entry(task_id=None), "bad_id"),
        (no_grader, "missing_grader"),
        (grader("def grade(:\n"), "broken_grader"),
        (grader("x = 1\n"), "grader_without_grade"),
        (link, "symlink"),
        (large, "file_too_large"),
    ],
)
def test_a_malformed_clawgym_task_is_one_reject_and_the_others_stay(clawgym_set, damage, reason):
    damage(write_clawgym(clawgym_set, "task_3"))
    tasks, verifiers, rejects = read("clawgym", clawgym_set, Limits(max_file_bytes=1000))
    assert len(tasks) == len(verifiers) == 2
    assert [(row["record_id"], row["reason"]) for row in rejects] == [("clawgym:task_3", reason)]
    assert rejects[0]["detail"] and "\n" not in rejects[0]["detail"]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("---\nid:", "id:", "missing_front_matter"),
        ("category: writing", "category: [", "broken_front_matter"),
        ("id: task_01_letter", "id: 7", "bad_id"),
        ("grading_type: hybrid", "grading_type: votes", "unknown_grading_type"),
        ("grading_type: hybrid", "grading_type: hybrid\nsessions: [a, b]", "several_sessions"),
        ("  automated: 0.6", "  code: 0.6", "broken_front_matter"),
        ("## Prompt", "## Task", "missing_prompt"),
        ('path: "facts.txt"', 'path: "../facts.txt"', "unsafe_path"),
        ('path: "facts.txt"', 'path: "/facts.txt"', "unsafe_path"),
        ("dest: data/table.xlsx", "dest: facts.txt", "broken_front_matter"),
        ("source: table.xlsx", "source: other.xlsx", "missing_asset"),
        ("source: table.xlsx", "source: ../secret", "unsafe_path"),
        ("```python", "```text", "missing_grader"),
        ("def grade(transcript", "def mark(transcript", "grader_without_grade"),
        ("    read = False", "    read = (", "broken_grader"),
        ("**Score 0.25**: Rude.\n", "", "broken_rubric"),
        ("(Weight: 70%)", "", "broken_rubric"),
        ("## LLM Judge Rubric", "## Opinions", "missing_rubric"),
    ],
)
def test_a_malformed_pinchbench_task_is_one_reject(tmp_path, old, new, reason):
    assert MARKDOWN.count(old) == 1
    write_pinchbench(tmp_path, MARKDOWN.replace(old, new))
    tasks, _, rejects = read("pinchbench", tmp_path)
    assert tasks == [] and [(row["record_id"], row["reason"]) for row in rejects] == [("pinchbench:task_01_letter.md", reason)]
    assert rejects[0]["detail"] and "\n" not in rejects[0]["detail"]


def test_an_asset_that_is_a_link_out_of_the_folder_is_refused(tmp_path):
    write_pinchbench(tmp_path / "set")
    (tmp_path / "secret").write_text("s")
    (tmp_path / "set/assets/table.xlsx").unlink()
    (tmp_path / "set/assets/table.xlsx").symlink_to(tmp_path / "secret")
    _, _, rejects = read("pinchbench", tmp_path / "set")
    assert rejects[0]["reason"] == "unsafe_path"


# -- wrong folders ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["clawgym", "pinchbench"])
def test_a_missing_or_empty_folder_is_one_clear_line(tmp_path, name):
    with pytest.raises(UserError, match=f"imports.{name}: .*no such folder"):
        read(name, tmp_path / "absent")
    with pytest.raises(UserError, match=f"imports.{name}: .*found no task"):
        read(name, tmp_path)


def test_no_configured_set_is_one_clear_line():
    with pytest.raises(UserError, match="imports.clawgym or imports.pinchbench"):
        read_imports(Imports(), Limits())


# -- the published sets -----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not DATA.exists(), reason="the published task sets are not beside this repository")
def test_the_published_sets_are_read_whole():
    settings = Imports(clawgym=str(DATA / "clawgym_tasks"), pinchbench=str(DATA / "pinchbench_tasks"))
    tasks, verifiers, rejects = read_imports(settings, Limits())
    assert (len(tasks), len(verifiers), rejects) == (66, 66, [])
    assert sum(bool(row["rubric"]) for row in verifiers) == 4 and sum(row["code"] is None for row in verifiers) == 1
    assert [file["type"] for task in tasks for file in task["files"] if file["type"].startswith("base64:")] == ["base64:xlsx"]


# -- hostile records ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("category", ["2024-99-99", '"\\ud800"', "[" * 3000, "{a: [b]}"])
def test_front_matter_that_upsets_a_parser_costs_no_other_record(tmp_path, category):
    write_pinchbench(tmp_path, MARKDOWN.replace("category: writing", f"category: {category}"))
    (tmp_path / "task_02_other.md").write_text(MARKDOWN.replace("id: task_01_letter", "id: task_02_other"))
    tasks, _, rejects = read("pinchbench", tmp_path)
    assert "pinchbench-task_02_other" in [task["task_id"] for task in tasks] and len(tasks) + len(rejects) == 2
    write_table(tasks, TASK, tmp_path / "t.parquet", {})


def test_data_nested_without_end_is_one_reject(tmp_path):
    write_clawgym(tmp_path, "task_1")
    (tmp_path / "task_deep").mkdir()
    (tmp_path / "task_deep/data_entry.json").write_text("[" * 5000)
    tasks, _, rejects = read("clawgym", tmp_path)
    assert tasks and [(row["record_id"], row["reason"]) for row in rejects] == [("clawgym:task_deep", "unreadable")]
