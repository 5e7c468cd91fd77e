"""The stage through its commands, with the embedded stand-in as annotator."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clawgym.config import load, select
from clawgym.seeds.schema import DIVERSITY, PERSONA, SEED, SKILL
from clawgym.tables import provenance, read_rows

ROOT = Path(__file__).parents[2]
REAL = ROOT.parent / "shared/data/clawhub_skills"


def command(script: str, settings: str, folder: Path, **paths: str) -> subprocess.CompletedProcess:
    arguments = [part for name, path in paths.items() for part in (f"--{name}", path)]
    return subprocess.run(
        [sys.executable, ROOT / "scripts" / f"{script}.py", "--settings", settings, *arguments],
        cwd=folder, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def configuration(tmp_path: Path, **seeds):
    skills = {"folders": [str(ROOT / "config/skills")]} | seeds.get("skills", {})
    personas = {"attributes": str(ROOT / "config/personas/attributes.yaml"), "count": 12, "embedder": False} | seeds.get("personas", {})
    sampling = {"persona_seeds": 20, "skill_seeds": 8} | seeds.get("sampling", {})
    return load(
        {
            "prompts": str(ROOT / "config/prompts"),
            "spend": {"cache": str(tmp_path / "cache.sqlite")},
            "seeds": {"taxonomy": str(ROOT / "config/taxonomy"), "personas": personas, "skills": skills, "sampling": sampling},
        }
    )


def annotate(config, tmp_path: Path) -> subprocess.CompletedProcess:
    settings = select(config, "seeds.skills", "seeds.taxonomy", "prompts", "models.annotator", "spend")
    return command("annotate_skills", settings, tmp_path, out="skills.parquet")


def test_personas_skills_and_seeds_end_to_end(tmp_path):
    config = configuration(tmp_path)
    done = [
        command("build_personas", select(config, "seeds.personas", "seed"), tmp_path, out="personas.parquet"),
        command(
            "measure_diversity", select(config, "seeds.personas", "embedder", "seed"), tmp_path,
            personas="personas.parquet", out="diversity.parquet",
        ),
        annotate(config, tmp_path),
        command(
            "sample_seeds", select(config, "seeds.sampling", "seeds.taxonomy", "seed"), tmp_path,
            personas="personas.parquet", skills="skills.parquet", out="seeds.parquet",
        ),
    ]  # fmt: skip
    assert [step.returncode for step in done] == [0, 0, 0, 0], done
    personas = read_rows(tmp_path / "personas.parquet", PERSONA)
    skills = {row["name"]: row for row in read_rows(tmp_path / "skills.parquet", SKILL)}
    seeds = read_rows(tmp_path / "seeds.parquet", SEED)
    assert len({row["persona"] for row in personas}) == 12 and json.loads(personas[0]["attributes"])["categories"]
    assert read_rows(tmp_path / "diversity.parquet", DIVERSITY)[0]["n"] == 12
    assert len(skills) >= 12 and not skills["parcel-tracker"]["synthesizable"] and not skills["slide-polish"]["synthesizable"]
    assert "needs_key" in skills["parcel-tracker"]["reasons"] and "needs_gui" in skills["slide-polish"]["reasons"]
    assert [seed["route"] for seed in seeds] == ["persona"] * 20 + ["skill"] * 8
    usable = {row["skill_id"] for row in skills.values() if row["synthesizable"]}
    assert {name for seed in seeds if seed["route"] == "skill" for name in [seed["main_skill"], *seed["support_skills"]]} <= usable
    assert all((row["licence"], row["redistributable"]) == ("Apache-2.0", True) for row in skills.values())
    assert provenance(tmp_path / "skills.parquet")["prompts"]["annotate_skill"]


def test_real_skills_become_seeds(tmp_path):
    if not REAL.is_dir():
        pytest.skip(f"{REAL} is not there: 60 real skills are annotated in this test")
    done = annotate(configuration(tmp_path, skills={"folders": [str(REAL)]}), tmp_path)
    assert done.returncode == 0, done.stderr
    rows = read_rows(tmp_path / "skills.parquet", SKILL)
    assert len(rows) + sum(len(row["copies"]) for row in rows) == 60
    assert sum(row["synthesizable"] for row in rows) >= 5
    assert all(row["reasons"] for row in rows if not row["synthesizable"]) and not any(row["redistributable"] for row in rows)
    assert {row["licence"] for row in rows} == {"see source"}  # others' skills are not ours to license


@pytest.mark.parametrize(
    "seeds, message",
    [
        ({"personas": {"source": "nobody.jsonl"}}, "error: nobody.jsonl: no such persona file"),
        ({"personas": {"source": str(ROOT / "config/personas/sample.jsonl"), "count": 999}}, "expected at least 999 different personas"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, seeds, message):
    settings = select(configuration(tmp_path, **seeds), "seeds.personas", "seed")
    done = command("build_personas", settings, tmp_path, out="personas.parquet")
    assert done.returncode == 2 and message in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "personas.parquet").exists()


def test_a_missing_skills_folder_is_one_line_and_exit_code_2(tmp_path):
    done = annotate(configuration(tmp_path, skills={"folders": ["no/such/folder"]}), tmp_path)
    assert done.returncode == 2 and done.stderr.strip() == "error: no/such/folder: no such skills folder; correct seeds.skills.folders"
