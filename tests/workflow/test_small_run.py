"""What a user relies on from the workflow as a whole, on one small real run."""

import os
import shutil
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from clawgym.catalogue import TABLES
from clawgym.tables import provenance, read_rows, read_table
from tests.workflow.runs import ROOT, snakemake

SMALL = ROOT / "tests/workflow/small.yaml"


def paths(folder: Path) -> list[Path]:
    """What `all` asks for and what leads to it, as the run itself lists them; the shards in between are no artefacts of their own."""
    listed = snakemake(folder, "--profile", str(ROOT / "local"), "--configfile", str(SMALL), "--summary", "--", "all").output
    lines = [line.split("\t") for line in listed.splitlines() if line.startswith("results/") and "/shards/" not in line]
    return [folder / line[0] for line in lines]


def test_every_documented_table_is_there_with_its_columns_and_provenance(small):
    folder, _ = small
    seen = 0
    for artefact in TABLES:
        if artefact.path.startswith(("imports/", "bench/ablations/")):
            continue  # not part of `all`
        found = list((folder / "results").glob(artefact.path.replace("{model}", "*").replace("{variant}", "*")))
        assert found, f"{artefact.path} is documented but was not written"
        for path in found:
            read_table(path, artefact.columns())
            assert pq.read_schema(path).metadata.get(b"clawgym"), f"{path} says nothing about where it came from"
            seen += 1
    assert seen >= 20


def test_every_task_has_one_fate_and_the_splits_do_not_touch(small):
    folder, _ = small
    tasks = {row["task_id"] for row in read_rows(folder / "results/tasks/tasks.parquet")}
    decisions = read_rows(folder / "results/quality/decisions.parquet")
    kept = [row["task_id"] for row in decisions if row["kept"]]
    assert tasks <= {row["task_id"] for row in decisions}
    assert len(decisions) == len({row["task_id"] for row in decisions})
    split = {row["task_id"]: row["split"] for row in read_rows(folder / "results/quality/tasks.parquet")}
    assert sorted(split) == sorted(kept)
    assert set(split.values()) == {"train", "heldout", "unseen"}
    trained = {row["task_id"] for row in read_rows(folder / "results/trajectories/baseline/trajectories.parquet")}
    items = {row["task_id"] for row in read_rows(folder / "results/bench/items.parquet")}
    assert trained and all(split[task] == "train" for task in trained)
    assert items and all(split[task] != "train" for task in items)


def test_no_two_rollouts_of_a_run_share_an_id(small):
    folder, _ = small
    ids = [
        row["rollout_id"] for path in folder.glob("results/*/**/rollouts.parquet") for row in read_rows(path) if "/shards/" not in str(path)
    ]
    assert len(ids) > 50 and len(ids) == len(set(ids))


def test_graders_of_kept_tasks_give_little_for_little(small):
    folder, _ = small
    states = {row["state"] for row in read_rows(folder / "results/verifiers/cards.parquet")}
    assert {"initial", "empty", "touch", "echo", "copy", "oracle", "stub", "tamper", "mutant-stale"} <= states
    kept = [row for row in read_rows(folder / "results/quality/decisions.parquet") if row["kept"]]
    assert all(row["s_floor"] <= 0.3 and row["s_oracle"] == 1.0 for row in kept if row["s_oracle"] is not None)


def test_a_second_run_does_nothing(small):
    folder, _ = small
    again = snakemake(folder, "--profile", str(ROOT / "local"), "--configfile", str(SMALL), "--", "all")
    assert again.code == 0
    assert "Nothing to be done" in again.output


def test_deleting_any_artefact_plans_its_rebuild(small, tmp_path):
    """One plan per target of `all`; the artefact is moved aside and put back with its time stamps."""
    folder, _ = small
    targets = paths(folder)
    assert len(targets) >= 30
    kinds = {}  # one of each kind is enough: models share their rules
    for target in targets:
        kinds.setdefault((target.parent.name, target.name), target)
    forgotten = []
    for target in kinds.values():
        aside = tmp_path / "aside"
        shutil.move(target, aside)
        plan = snakemake(folder, "--profile", str(ROOT / "local"), "-n", "--configfile", str(SMALL), "--", "all")
        shutil.move(aside, target)
        if plan.code or not plan.planned:
            forgotten.append((target.relative_to(folder), plan.output[-500:]))
    assert not forgotten


@pytest.mark.parametrize(
    ("change", "reruns", "stays"),
    [
        (
            "quality: {novelty: {threshold: 0.5}}",
            {"filter_novelty", "judge_tasks", "decide_tasks"},  # the judge is asked about new tasks only
            {"embed_tasks", "write_tasks", "run_cards"},
        ),
        ("trajectories: {min_reward: 0.9}", {"build_trajectories", "train_sft"}, {"run_rollouts", "grade_rollouts", "write_verifiers"}),
        ("training: {rl: {steps: 2}}", {"train_rl"}, {"train_sft", "prepare_student", "build_trajectories"}),
        ("bench: {resamples: 200}", {"summarise_bench"}, {"run_bench", "select_items", "train_sft"}),
    ],
)
def test_a_changed_setting_reruns_what_uses_it_and_nothing_before(plan, tmp_path, change, reruns, stays):
    changed = tmp_path / "change.yaml"
    changed.write_text(change + "\n")
    planned = plan(changed).planned
    assert reruns <= set(planned), planned
    assert not stays & set(planned), planned


def test_the_artefacts_of_models_name_their_model(small):
    folder, _ = small
    assert "offline/author" in str(provenance(folder / "results/tasks/tasks.parquet"))


def test_report_page_shows_funnel_bench_and_trajectories(small):
    folder, run = small
    page = (folder / "results/report/index.html").read_text()
    for word in ("Funnel", "heldout", "unseen", "base", "sft", "strong", "weak", "stand-in"):
        assert word in page, word
    assert (folder / "results/report/REPORT.md").stat().st_size > 1000


def test_one_record_can_be_looked_at(small):
    folder, _ = small
    trajectory = read_rows(folder / "results/trajectories/baseline/trajectories.parquet")[0]
    for kind, record_id in [
        ("task", trajectory["task_id"]),
        ("rollout", trajectory["rollout_id"]),
        ("trajectory", trajectory["trajectory_id"]),
    ]:
        shown = subprocess.run(
            ["python", "-m", "clawgym.show", kind, record_id],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        assert shown.returncode == 0, shown.stderr
        assert record_id in shown.stdout
