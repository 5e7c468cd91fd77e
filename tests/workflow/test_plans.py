"""Plans that need no run: a fresh clone on SLURM, a paper-scale configuration, the linters."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.workflow.runs import ROOT, snakemake


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """The tracked files as a user gets them."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    folder = tmp_path_factory.mktemp("clone")
    archive = folder / "tree.tar"
    subprocess.run(["git", "archive", "-o", str(archive), "HEAD"], cwd=ROOT, check=True)
    subprocess.run(["tar", "-xf", str(archive), "-C", str(folder)], check=True)
    archive.unlink()
    return folder


def call(folder, *command):
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300
    )


def test_slurm_plans_everything_from_a_fresh_clone(clone):
    plan = call(clone, "snakemake", "--profile", "slurm", "-n", "all")
    assert plan.returncode == 0, plan.stdout[-3000:]
    assert "train_sft" in plan.stdout and "run_bench" in plan.stdout


def test_the_papers_scale_is_a_few_hundred_to_a_few_thousand_jobs(clone):
    plan = call(clone, "snakemake", "--profile", "slurm", "-n", "--configfile", "config/paper.yaml", "--", "all")
    assert plan.returncode == 0, plan.stdout[-3000:]
    total = int(next(line.split()[1] for line in plan.stdout.splitlines() if line.startswith("total ")))
    assert 300 < total < 4000


def test_names_with_dots_and_braces_can_be_planned(tmp_path):
    skill = tmp_path / "skills/{{cookiecutter.slug}} {model}/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("# A skill")
    (tmp_path / "mine.yaml").write_text(
        "seeds: {skills: {folders: [skills]}}\n"
        "models: {gpt-4.1: {base_url: 'http://127.0.0.1:9/v1', model: m}}\n"
        "rollouts: {teachers: [gpt-4.1]}\n"
    )
    plan = snakemake(tmp_path, "-n", "--configfile", str(tmp_path / "mine.yaml"), "--", "all")
    assert plan.code == 0, plan.output[-3000:]
    assert plan.planned["annotate_skills"] == 1


def test_linters_are_content(clone):
    for tool in (["ruff", "check", "."], ["ruff", "format", "--check", "."], ["snakefmt", "--check", "Snakefile", "rules"]):
        found = subprocess.run(
            tool,
            cwd=clone,
            capture_output=True,
            text=True,
            env=os.environ | {"PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"},
        )
        assert found.returncode == 0, f"{tool}: {found.stdout[-2000:]}{found.stderr[-2000:]}"
    lint = call(clone, "snakemake", "--lint")
    assert lint.returncode == 0, lint.stdout[-3000:]


def test_make_is_documented_as_it_is(clone):
    readme = (clone / "README.md").read_text()
    for target in ("demo", "test"):
        planned = subprocess.run(["make", "-n", target], cwd=clone, capture_output=True, text=True)
        assert planned.returncode == 0 and f"make {target}" in readme
    assert shutil.which("make")
