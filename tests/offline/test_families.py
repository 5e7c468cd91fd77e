"""What the workflow relies on: every family's tasks can be solved, cannot be passed without work, and follow from prompt and files."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from clawgym.offline.families import BY_OPERATION, FAMILIES, recognise
from clawgym.quality.judge import TaskJudgement
from clawgym.resources.parsers import PARSERS
from clawgym.seeds import taxonomy
from clawgym.tasks.draft import TaskDraft
from clawgym.verifiers.draft import Solution, VerifierDraft
from tests.offline import play

KINDS = sorted(FAMILIES)
DRAWS = 3
author = play.author


def test_every_operation_of_the_taxonomy_has_a_family():
    known = taxonomy.load_taxonomy(Path("config/taxonomy")).operations
    assert set(BY_OPERATION) == set(known)
    assert {name for family in FAMILIES.values() for name in family.also} <= set(known)


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_what_the_stages_accept(kind):
    for draw in range(DRAWS):
        task = author(kind, draw)
        TaskDraft.model_validate({name: value for name, value in task.items() if name not in ("verifier", "program")})
        VerifierDraft.model_validate(task["verifier"])
        Solution(program=task["program"])
        for file in task["files"]:
            PARSERS.get(file["type"], str)(file["content"])
        assert [name for name, family in FAMILIES.items() if family.parse(task["instruction"])] == [kind]
        shown = {name: task[name] for name in ("instruction", "files", "expected_outputs")}
        judged = {name: task["verifier"][name] for name in ("checks", "rubric")}
        marks = TaskJudgement.model_validate(play.ask("judge", {"request": "judge_task", **shown, **judged}))
        assert marks.plausibility >= 3 and marks.coverage >= 3 and marks.overstrictness <= 3


@pytest.mark.parametrize("kind", KINDS)
def test_only_work_scores(kind, tmp_path):
    """Initial and empty workspace score 0 on every check, reference program and strong agent 1; broken outputs crash no grader."""
    jobs, states = [], []
    for draw in range(DRAWS):
        task = author(kind, draw)
        for state in ("initial", "empty", "oracle", "strong", "broken", "binary"):
            folder = tmp_path / f"{draw}-{state}"
            folder.mkdir()
            if state != "empty":
                play.lay_out(task, folder)
            if state == "oracle":
                subprocess.run([sys.executable, "-I", "-c", task["program"]], cwd=folder, check=True, capture_output=True)
            if state == "strong":
                play.roll(task, "strong", folder)
            for path in task["expected_outputs"] if state in ("broken", "binary") else ():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(b"\x00\xff,[{\n" * 9 if state == "binary" else b'{"a": [1, {}], "flagged": 3}\nnone')
            jobs.append((task, folder))
            states.append(state)
    for state, scores in zip(states, play.grade(jobs), strict=True):
        wanted = {"oracle": 1.0, "strong": 1.0}.get(state, 0.0)
        assert 3 <= len(scores) <= 6
        if state not in ("broken", "binary"):
            assert set(scores.values()) == {wanted}, (state, scores)
        assert set(scores.values()) <= {0.0, 1.0} and (wanted or play.mean(scores) < 0.5), (state, scores)


@pytest.mark.parametrize("kind", KINDS)
def test_weak_is_between_nothing_and_everything(kind, tmp_path):
    """In code checks and in the rubric."""
    jobs, judged = [], []
    for draw in range(DRAWS):
        for seed in range(5):
            folder = play.lay_out(author(kind, draw), tmp_path / f"{draw}-{seed}")
            play.roll(author(kind, draw), "weak", folder, seed=seed)
            jobs.append((author(kind, draw), folder))
            judged += [answer["score"] for answer in play.judge(author(kind, draw), folder).values()]
    assert 0.1 < sum(judged) / len(judged) < 0.95
    means = [play.mean(scores) for scores in play.grade(jobs)]
    assert 0.08 < sum(means) / len(means) < 0.65
    assert min(means) < 0.5 < max(means)


def mutations(text: str) -> list[str]:
    """The text with one number raised or lowered or one word spelt otherwise."""
    changes = []
    for match in re.finditer(r"\d+|[A-Za-z]{3,}", text):
        digits = match[0].isdigit()
        news = [str(n).zfill(len(match[0])) for n in (int(match[0]) + 3, int(match[0]) + 37, int(match[0]) // 3)] if digits else []
        news = news or [match[0] + "x", "INFO"]
        changes += [text[: match.start()] + new + text[match.end() :] for new in news]
    return changes


def solved(task: dict, changed: dict[str, str] | None = None, instruction: str | None = None) -> dict[str, str] | None:
    """Outputs that the family's own functions give, or None if it cannot be solved like that."""
    found = recognise(instruction or task["instruction"])
    if found is None or found[0].kind != task["kind"]:
        return None
    family, params = found
    files = {path: None for path in family.inputs(params)} | {file["path"]: file["content"] for file in task["files"]} | (changed or {})
    try:
        return family.solve(params, files)
    except (ValueError, KeyError, TypeError, StopIteration, IndexError):
        return None


@pytest.mark.parametrize("kind", [kind for kind in KINDS if FAMILIES[kind].sources or FAMILIES[kind].folder])
def test_the_answer_follows_the_files(kind, tmp_path):
    task = author(kind, 0)
    before, file = solved(task), task["files"][-1]
    others = [text for text in mutations(file["content"]) if solved(task, {file["path"]: text}) not in (None, before)]
    for text in others[:: max(1, len(others) // 8)]:  # some changes, of a title for instance, are none to a check
        edited = task | {"files": [f | {"content": text} if f is file else f for f in task["files"]]}
        block = {"request": "write_verifier", **{name: edited[name] for name in ("instruction", "files", "expected_outputs", "may_modify")}}
        edited["verifier"] = play.ask("author", block)
        old, new = tmp_path / f"old{len(list(tmp_path.iterdir()))}", tmp_path / f"new{len(list(tmp_path.iterdir()))}"
        play.roll(task, "strong", play.lay_out(task, old))
        play.roll(edited, "strong", play.lay_out(edited, new))
        (old / file["path"]).write_text(text)
        right, stale = play.grade([(edited, new), (edited, old)])
        assert play.mean(right) == 1.0
        if play.mean(stale) < 1.0:
            return
    pytest.fail("no change of the file changed what the checks expect")


NUMBERED = ["save-value", *(kind for kind in KINDS if re.search(r":(int|number|pairs)\}", FAMILIES[kind].phrasings[0]))]


def same_paths_other_result(task: dict, instruction: str) -> bool:
    before, after = solved(task), solved(task, instruction=instruction)
    return after is not None and after != before and list(after) == list(before)


@pytest.mark.parametrize("kind", NUMBERED)
def test_the_answer_follows_the_numbers_of_the_prompt(kind, tmp_path):
    assert len(NUMBERED) >= 10
    candidates = ((draw, text) for draw in range(20) for text in mutations(author(kind, draw)["instruction"]))
    draw, changed = next((draw, text) for draw, text in candidates if same_paths_other_result(author(kind, draw), text))
    task = author(kind, draw)
    edited = task | {"instruction": changed}
    block = {"request": "write_verifier", **{name: edited[name] for name in ("instruction", "files", "expected_outputs", "may_modify")}}
    edited["verifier"] = play.ask("author", block)
    old, new = play.lay_out(task, tmp_path / "old"), play.lay_out(task, tmp_path / "new")
    play.roll(task, "strong", old)
    play.roll(edited, "strong", new)
    right, stale = play.grade([(edited, new), (edited, old)])
    assert play.mean(right) == 1.0 and play.mean(stale) < 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_follows_the_path_of_the_prompt(kind, tmp_path):
    task = author(kind, 1)
    path = task["expected_outputs"][0]
    moved = path.replace(".", "-v77.")
    files = [file | {"path": moved if file["path"] == path else file["path"]} for file in task["files"]]
    edited = task | {"instruction": task["instruction"].replace(path, moved), "files": files}
    folder = play.lay_out(edited, tmp_path / "w")
    play.roll(edited, "strong", folder)
    assert (folder / moved).is_file() and not (folder / path).exists()


def test_a_planned_file_follows_its_description():
    task = next(author("filter-rows", draw) for draw in range(3))
    plan = task["files"][0]
    rows = int(re.search(r"rows: (\d+)", plan["spec"])[1])
    longer = task | {"files": [plan | {"spec": plan["spec"].replace(f"rows: {rows}", f"rows: {rows + 5}")}]}
    assert len(play.write_file(longer, plan["path"]).splitlines()) == len(play.write_file(task, plan["path"]).splitlines()) + 5
    field = author("copy-field", 0)
    plan = field["files"][0]
    value = plan["spec"].rsplit(": ", 1)[1]
    edited = field | {"files": [plan | {"spec": plan["spec"].replace(value, "Timbuktu 99")}]}
    assert "Timbuktu 99" in play.write_file(edited, plan["path"])


@pytest.mark.parametrize("kind", ["save-value", "write-record", "copy-field", "lookup-row"])
def test_training_kinds_take_the_fewest_calls(kind, tmp_path):
    """A small student learns from these: no prose beside calls, path before content, a final answer of at most six words."""
    for draw in range(6):
        task = author(kind, draw)
        assert len(re.findall(r"\w+|[^\w\s]", task["instruction"])) <= 60
        assert all(len(re.findall(r"\w+|[^\w\s]", file["content"])) <= 80 for file in task["files"])
        messages = play.roll(task, "strong", play.lay_out(task, tmp_path / str(draw)))
        calls = [message["tool_calls"] for message in messages if message.get("tool_calls")]
        names = [call["function"]["name"] for made in calls for call in made]
        assert names == (["write"] if kind in ("save-value", "write-record") else ["read", "write"])
        assert list(json.loads(calls[-1][0]["function"]["arguments"])) == ["path", "content"]
        assert not any(message["content"] for message in messages if message.get("tool_calls"))
        assert 1 <= len(messages[-1]["content"].split()) <= 6


def test_other_seeds_give_other_tasks_and_the_same_seed_the_same():
    block = {"request": "write_task", "route": "persona", "persona": "A baker.", "category": "finance", "subcategory": "tax_records"}
    blocks = [block | {"operations": ["search_text"], "skills": [], "seed_id": f"s{i}"} for i in range(20)]
    instructions = [play.ask("author", b)["instruction"] for b in blocks]
    assert len(set(instructions)) == 20
    assert instructions == [play.ask("author", b)["instruction"] for b in blocks]
    assert play.ask("author", blocks[0], seed=5)["instruction"] != instructions[0]
