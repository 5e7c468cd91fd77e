"""Bad input: one clear line, an exit code other than 0, and nothing that was there is lost."""

from pathlib import Path

import pytest

from tests.workflow.runs import ROOT, snakemake

SETTINGS = """
seeds: {personas: {count: 4, embedder: false}, sampling: {persona_seeds: 4, skill_seeds: 0}}
shards: 1
"""


def run(folder: Path, more: str, target: str, **environment: str):
    (folder / "small.yaml").write_text(SETTINGS)
    (folder / "mine.yaml").write_text(more or "{}")
    files = [str(folder / "small.yaml"), str(folder / "mine.yaml")]
    return snakemake(folder, "--profile", str(ROOT / "local"), "--configfile", *files, "--", target, **environment)


@pytest.mark.parametrize(
    ("more", "target", "expected"),
    [
        ("qualty: {}", "seeds", "unknown key qualty"),
        ("shards: many", "seeds", "shards: Input should be a valid integer"),
        ("seeds: {skills: {folders: [no/such/folder]}}", "seeds", "there is no folder no/such/folder"),
        ("seeds: {personas: {source: nobody.jsonl}}", "seeds", "nobody.jsonl"),
        (
            "models: {author: {base_url: 'http://127.0.0.1:9/v1', model: m, retries: 0, timeout_s: 5}}",
            "tasks",
            "http://127.0.0.1:9/v1",
        ),
        (
            "models: {author: {base_url: 'http://127.0.0.1:9/v1', model: m, api_key_env: CLAWGYM_TEST_KEY_NOT_SET}}",
            "tasks",
            "CLAWGYM_TEST_KEY_NOT_SET",
        ),
        ("imports: {clawgym: no/such/import}", "import_tasks", "no/such/import"),
        ("training: {sft: {deepspeed: nowhere.json}}", "training", "nowhere.json"),
    ],
)
def test_the_line_names_what_is_wrong(tmp_path, more, target, expected):
    done = run(tmp_path, more, target)
    assert done.code != 0
    lines = [line for line in done.output.splitlines() if expected in line and "error" in done.output.lower()]
    assert lines, done.output[-3000:]
    assert "Traceback" not in done.output, done.output[-3000:]


def test_what_was_there_survives_a_failing_run(tmp_path):
    assert run(tmp_path, "", "tasks").code == 0
    before = {path: path.read_bytes() for path in (tmp_path / "results").rglob("*.parquet")}
    assert before
    failed = run(tmp_path, "models: {solver: {base_url: 'http://127.0.0.1:9/v1', model: m, retries: 0, timeout_s: 5}}", "verifiers")
    assert failed.code != 0
    assert all(path.read_bytes() == content for path, content in before.items())
    assert run(tmp_path, "", "verifiers").code == 0
