"""What a reader of the report relies on: nothing in it runs, all numbers are there, an empty run is still a page."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from clawgym.client.store import Store
from clawgym.config import Config, select
from clawgym.report import content, page
from clawgym.report.figures import save
from clawgym.tables import read_rows
from tests.report import synthetic

ROOT = Path(__file__).parents[2]


def render(run: page.Run, folder: Path) -> str:
    images = {name: folder / f"{name}.svg" for name in page.FIGURES}
    for name, figure in page.draw(run).items():
        save(figure, images[name])
    return page.html(run, images)


class Elements(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs


def test_the_report_of_a_run_from_its_artefacts(tmp_path):
    paths = synthetic.write(tmp_path / "results")
    config = Config()
    wanted = ["bench", "report.trajectories", "seed", "training.student", "trajectories", *(f"models.{name}" for name in config.models)]
    out = tmp_path / "results/report"
    inputs = [part for name, path in vars(paths).items() for part in (f"--{name}", path)]
    outputs = ["--figures", out / "figures", "--html", out / "index.html", "--markdown", out / "REPORT.md"]
    command = [sys.executable, ROOT / "scripts/build_report.py", *inputs, "--settings", select(config, *wanted), *outputs]
    done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    assert re.search(r"trajectories +148 +15 +133", done.stdout) and re.search(r"base_fewshot +40 +0\.15 +0\.05 – 0\.28", done.stdout)
    assert (out / "index.html").stat().st_size > 100_000
    assert "| base → sft | 38 | +0.68 | +0.53 – +0.84 |" in (out / "REPORT.md").read_text()

    shown = subprocess.run([sys.executable, ROOT / "scripts/print_report.py", tmp_path / "results"], capture_output=True, text=True,
                           env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"})  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.split("The whole report")[0].strip() == done.stdout.strip()


def test_what_models_wrote_is_shown_and_never_runs(tmp_path):
    rows = synthetic.rows()
    rows["trajectories"][0] |= {"kind": "<script>kind()</script>", "teacher": '"><script>t()</script>'}
    hostile = {
        "items": rows["items"],
        "funnel": [*rows["funnel"], {"step": "<svg onload=x()>", "route": "skill", "entered": 1, "left": 1, "reason": "<b>"}],
    }
    run = synthetic.run(**{"trajectories": rows["trajectories"], **hostile})
    text = render(run, tmp_path)
    elements = Elements(text)
    assert not {"script", "svg", "iframe", "object", "link", "b onload"} & set(elements.tags)
    assert not [name for name, _ in elements.attributes if name.startswith("on")]
    assert all(value.startswith("data:image/svg+xml") for name, value in elements.attributes if name == "src")
    assert text.count("&lt;script&gt;alert(") >= run.shown  # it is shown, as text
    assert "default-src 'none'" in text
    assert "<script" not in page.markdown(run) and "<svg" not in page.markdown(run)


def test_a_run_with_nothing_in_it_is_still_a_page(tmp_path):
    run = synthetic.run(**{name: [] for name in synthetic.rows()})
    text = render(run, tmp_path)
    assert "This suite has no measured items" in text and "No trajectory was kept" in text
    assert "no measured items" in page.markdown(run)


def test_the_page_says_what_is_a_stand_in(tmp_path):
    assert "is no language model" in page.markdown(synthetic.run())
    real = {"judge": {"model": "some-model", "base_url": "https://example.org/v1"}}
    assert "stand-in" not in page.markdown(synthetic.run(models=real))


def test_arguments_that_are_not_json_are_shown_as_they_are():
    call = {"id": "1", "function": {"name": "write", "arguments": '{"path": "a.txt", "content'}}
    (turn,) = content.turns([{"role": "assistant", "content": None, "tool_calls": [call]}])
    assert turn.calls == [("write", [("", '{"path": "a.txt", "content')])]
    listed = content.turns([{"role": "user", "content": [{"type": "text", "text": "hello"}]}])
    assert listed[0].text == "hello"


def test_long_texts_are_cut_with_a_note():
    (turn,) = content.turns([{"role": "tool", "content": "x" * 10_000}])
    assert turn.text.endswith("7,600 more characters") and len(turn.text) < 2500


def test_shown_trajectories_cover_kinds_and_routes():
    rows = synthetic.rows()["trajectories"]
    chosen = content.pick(rows, 5)
    assert len(chosen) == 5 and len({row["kind"] for row in chosen}) == 4
    assert {row["route"] for row in chosen} == {"persona", "skill"}
    assert content.pick([], 5) == [] and content.pick(rows, 0) == []


def test_same_values_same_figures(tmp_path):
    for folder in ("a", "b"):
        for name, figure in page.draw(synthetic.run()).items():
            save(figure, tmp_path / folder / f"{name}.svg")
    for name in page.FIGURES:
        assert (tmp_path / "a" / f"{name}.svg").read_bytes() == (tmp_path / "b" / f"{name}.svg").read_bytes()


def test_a_failed_rollout_is_counted_once():
    table = {(row["where"], row["kind"]): row["count"] for row in content.failures(**{name: synthetic.rows()[name] for name in (
        "decisions", "rollouts", "scores", "results")})}  # fmt: skip
    assert table["rollouts of strong", "model_api"] == 2 and not any(where.startswith("grades") for where, _ in table)


@pytest.mark.parametrize("used", [True, False])
def test_spend_comes_from_the_ledger_and_may_be_empty(tmp_path, used):
    cache, out = tmp_path / "responses.sqlite", tmp_path / "spend.parquet"
    if used:
        Store(cache).record_usage("tasks", "author", "offline/author", calls=3, tokens_in=100, usd=0.5)
    settings = json.dumps({"spend": {"limit_usd": 1.0, "cache": str(cache)}})
    command = [sys.executable, ROOT / "scripts/collect_spend.py", "--settings", settings, "--spend", out]
    subprocess.run(command, check=True, capture_output=True, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"})
    rows = read_rows(out)
    assert [(row["calls"], row["usd"]) for row in rows] == ([(3, 0.5)] if used else [])
    assert cache.exists() == used


def test_what_graders_give_counts_only_what_was_measured():
    names = ("s_floor", "s_stub", "s_tamper", "s_oracle", "mutation_score")
    rows = content.graders([dict.fromkeys(names) | {"s_floor": 0.2, "s_oracle": 1.0}, dict.fromkeys(names) | {"s_floor": 0.0}])
    assert [(row["n"], row["mean"], row["low"], row["high"]) for row in rows] == [(2, 0.1, 0.0, 0.2), (1, 1.0, 1.0, 1.0)]
    assert content.graders([]) == []
