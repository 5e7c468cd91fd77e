"""The stage as the workflow runs it, from the tables before it to decisions, funnel and split tasks; the judge is the stand-in."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clawgym.config import load, select
from clawgym.quality.schema import DECISION, EMBEDDING, FUNNEL, JUDGEMENT, NOVELTY, TASKS
from clawgym.seeds.schema import SEED
from clawgym.tables import read_rows, read_table, write_table
from clawgym.tasks.schema import REJECT, TASK
from clawgym.verifiers.schema import CARD, VERIFIER

ROOT = Path(__file__).parents[2]
INSTRUCTIONS = {
    "t-1": 'Write the text "boiler check moved to Friday" to the file notes.txt.',
    "t-2": "Add up column cost of trips.csv and write the total to out/total.txt.",
    "t-3": 'Write the text "boiler check moved to Friday" to the file notes.txt .',
}


def seed(seed_id: str) -> dict:
    row = {
        "seed_id": seed_id,
        "route": "persona",
        "persona": "A clerk.",
        "persona_id": "pool-1",
        "category": "finance",
        "subcategory": None,
    }
    origin = {"source": "pool", "licence": "Apache-2.0", "redistributable": True}
    return row | {"operations": ["write_note"], "main_skill": None, "support_skills": []} | origin


def task(task_id: str) -> dict:
    row = {name: seed("p-1")[name] for name in ("route", "category", "subcategory", "operations", "source", "licence", "redistributable")}
    file = {"path": "trips.csv", "type": "csv", "spec": "trips", "content": "cost\n3\n", "sha256": "0"}
    more = {"files": [file], "expected_outputs": ["notes.txt"], "may_modify": [], "model": "m", "kind": "save-value", "difficulty": "easy"}
    return row | more | {"task_id": task_id, "seed_id": f"p-{task_id}", "instruction": INSTRUCTIONS[task_id]}


def verifier(task_id: str) -> dict:
    check = {"check_id": "right", "description": "the output file holds exactly the value", "artifact": "notes.txt"}
    row = {"task_id": task_id, "code": "def grade(transcript, workspace_path): ...", "checks": [check], "rubric": []}
    return row | {"lambda": 0.7, "solution": "print()", "model": "m"}


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table([seed(f"p-{name}") for name in (*INSTRUCTIONS, "lost")], SEED, tmp_path / "seeds.parquet", {})
    pq.write_table(pa.table({"persona_id": ["pool-1", "pool-2"]}), tmp_path / "personas.parquet")
    pq.write_table(pa.table({"synthesizable": [True], "reasons": pa.array([[]], pa.list_(pa.string()))}), tmp_path / "skills.parquet")
    write_table([task(name) for name in INSTRUCTIONS], TASK, tmp_path / "tasks.parquet", {})
    write_table([verifier(name) for name in INSTRUCTIONS], VERIFIER, tmp_path / "verifiers.parquet", {})
    states = (("initial", 0.0), ("empty", 0.0), ("oracle", 1.0))
    cards = [{"task_id": t, "state": s, "check_id": "right", "score": v, "status": "ok"} for t in INSTRUCTIONS for s, v in states]
    write_table(cards, CARD, tmp_path / "cards.parquet", {})
    lost = {"stage": "tasks", "record_id": "p-lost", "reason": "invalid_output", "detail": "no files"}
    write_table([lost], REJECT, tmp_path / "rejects.parquet", {})
    return tmp_path


def script(monkeypatch, name: str, settings: list[str], **arguments) -> None:
    """Run scripts/<name>.py in this process, as the rule would."""
    argv = [name]
    if settings:
        argv += ["--settings", select(load({"prompts": str(ROOT / "config/prompts")}), *settings)]
    for key, value in arguments.items():
        argv += [f"--{key.replace('_', '-')}", *map(str, value if isinstance(value, list) else [value])]
    monkeypatch.setattr(sys, "argv", argv)
    runpy.run_path(str(ROOT / f"scripts/{name}.py"))["main"]()


def test_from_tables_to_kept_tasks(tables, monkeypatch, capsys):
    at = {name: tables / f"{name}.parquet" for name in ("tasks", "verifiers", "cards", "novelty")}
    script(monkeypatch, "embed_tasks", ["embedder"], tasks=at["tasks"], out=tables / "embeddings.parquet")
    assert np.stack(read_table(tables / "embeddings.parquet", EMBEDDING)["embedding"].to_numpy()).shape == (3, 384)
    script(monkeypatch, "filter_novelty", ["quality.novelty"], embeddings=tables / "embeddings.parquet", out=at["novelty"])
    assert [row["new"] for row in read_rows(at["novelty"], NOVELTY)] == [True, True, False]

    shards = [tables / f"{shard}.parquet" for shard in (0, 1)]
    for shard, out in enumerate(shards):
        settings = ["models.judge", "prompts", "quality.gates", "spend"]
        script(monkeypatch, "judge_tasks", settings, **at, shard=shard, shards=2, out=out)
    judgements = tables / "judgements.parquet"
    script(monkeypatch, "collect_judgements", [], shards=shards, out=judgements)
    judged = read_rows(judgements, JUDGEMENT)
    assert [row["task_id"] for row in judged] == ["t-1", "t-2"]  # the near copy needs no answer
    assert {row["status"] for row in judged} == {"ok"}

    outputs = {name: tables / f"{name}.out.parquet" for name in ("decisions", "funnel", "kept")}
    more = {name: tables / f"{name}.parquet" for name in ("seeds", "personas", "skills", "judgements")}
    rejects = [tables / "rejects.parquet"]
    settings = ["quality.gates", "quality.split"]
    script(monkeypatch, "decide_tasks", settings, **at, **more, filled_tasks=at["tasks"], rejects=rejects, **outputs)
    decisions = {row["task_id"]: row for row in read_rows(outputs["decisions"], DECISION)}
    assert set(decisions) == {"t-1", "t-2", "t-3", "p-lost"}
    assert (decisions["t-3"]["stage"], decisions["t-3"]["nearest_task_id"]) == ("novelty", "t-1")
    kept = read_rows(outputs["kept"], TASKS)
    assert {row["task_id"] for row in kept} == {i for i, row in decisions.items() if row["kept"]}
    assert all(row["files"][0]["content"] for row in kept)
    assert read_rows(outputs["funnel"], FUNNEL)[-1]["step"] == "kept" and "near_copy 1" in capsys.readouterr().out
