"""What a reader of the report relies on: nothing in it runs, all numbers are there, an empty run is still a page."""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest

from clawgym.client.store import Store
from clawgym.config import Config, select
from clawgym.report import content, figures, page
from clawgym.report.figures import save
from clawgym.tables import read_rows
from tests.report import synthetic

ROOT = Path(__file__).parents[2]


def render(run: page.Run, folder: Path) -> str:
    images = {name: folder / f"{name}.svg" for name in page.FIGURES}
    for name, figure in page.draw(run).items():
        save(figure, images[name])
    return page.html(run, images)


def page_of(run: page.Run, folder: Path) -> str:
    """The page with a blank for every figure: drawing them takes seconds."""
    blank = folder / "blank.svg"
    blank.write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    return page.html(run, dict.fromkeys(page.FIGURES, blank))


def printed(results: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, ROOT / "scripts/print_report.py", results]
    return subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"})


def steps(*measured: tuple[float | None, float | None, float | None]) -> list[dict]:
    """Steps of RL by (mean reward, gradient norm, share of prompts without variance)."""
    return [
        {"step": i, "reward_mean": reward, "grad_norm": norm, "zero_variance": share}
        for i, (reward, norm, share) in enumerate(measured, start=1)
    ]


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
    done_at = datetime(2026, 3, 4, 5, 6, tzinfo=UTC).timestamp()
    os.utime(paths.results, (done_at, done_at))
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
    assert "Bench of 2026-03-04 05:06 UTC" in (out / "index.html").read_text()
    assert "| base → sft | 38 | +0.68 | +0.53 – +0.84 |" in (out / "REPORT.md").read_text()

    shown = printed(tmp_path / "results")
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


def test_rl_without_a_gradient_is_called_what_it_is(tmp_path):
    same = "the RL model equals the SFT model"
    still = synthetic.run(rl=steps((0.0, 0.0, 1.0), (1.0, 0.0, 1.0)))
    text, markdown = page_of(still, tmp_path), page.markdown(still)
    for shown in (text, markdown):
        assert "In all 2 steps all rollouts of every prompt got the same reward" in shown and same in shown
        assert "says nothing about learning" in shown and "at step 2" not in shown
        assert "unchanged by RL" in shown
    caption = text.split('alt="RL reward"')[1].split("</figcaption>")[0]
    assert "In all 2 steps" in caption and same in caption


def test_rl_counts_the_steps_that_taught_nothing():
    markdown = page.markdown(synthetic.run())
    assert "In 1 of 3 steps all rollouts of every prompt got the same reward" in markdown and "equals the SFT" not in markdown
    assert "In none of 1 steps" in page.markdown(synthetic.run(rl=steps((0.5, 0.2, 0.0))))
    assert "not measured" in page.markdown(synthetic.run(rl=steps((None, None, None), (0.5, 0.2, 0.0)))).split("## Training")[1]
    # A KL term gives a gradient without any variance; a gradient that was not logged may have been one.
    for norm in (0.1, None):
        text = page.markdown(synthetic.run(rl=steps((1.0, norm, 1.0))))
        assert "learns nothing from rewards" in text and "equals the SFT" not in text


def test_rewards_of_steps_with_different_tasks_are_not_joined():
    rewards, alike = figures.rl(([1, 2], [0.0, 1.0]), ([1, 2], [1.0, 0.5])).axes
    (points,) = rewards.lines
    assert points.get_linestyle() == "None" and list(points.get_ydata()) == [0.0, 1.0]
    assert [bar.get_height() for bar in alike.patches] == [1.0, 0.5]


def test_the_page_names_where_each_record_has_its_reason(tmp_path):
    run = synthetic.run()
    for text in (page_of(run, tmp_path), page.markdown(run)):
        assert "Every record that left" not in text
        assert all(f"results/{name}" in text for name in ("seeds/skills.parquet", "quality/decisions.parquet"))
        assert "are not lost" in text


@pytest.mark.parametrize(("kinds", "words"), [(["a", "a"], "of 1 kind of work"), (["a", "b"], "of 2 kinds of work")])
def test_the_kinds_of_the_trajectories_are_counted(tmp_path, kinds, words):
    rows = [row | {"kind": kind} for row, kind in zip(synthetic.rows()["trajectories"], kinds, strict=False)]
    assert words in page_of(synthetic.run(trajectories=rows), tmp_path)


def test_the_ends_that_occur_are_explained(tmp_path):
    run = synthetic.run()
    run.results[0]["status"] = "token_limit"
    for text in (page_of(run, tmp_path), page.markdown(run)):
        assert f"({run.bench.serving.max_tokens} for students" in text and "more calls than a rollout may have" in text
        assert "that could be carried out" not in text  # nothing ended as malformed


def test_a_candidate_that_was_not_needed_did_not_fail():
    rows = synthetic.rows()["items"]
    rows[0] |= {"kept": False, "reason": "not_calibrated"}
    text = page.markdown(synthetic.run(items=rows))
    assert "1 not needed: enough candidates were already taken" in text and "too easy for the weak model" in text
    assert "calibrated |" not in text


def test_tables_without_nulls_have_no_columns_for_them(tmp_path):
    run = synthetic.run()
    assert "as 0 / 1" in page_of(run, tmp_path) and "no score |" in page.markdown(run)
    for row in run.summary:
        row["n_null"] = 0
    text, markdown = page_of(run, tmp_path), page.markdown(run)
    assert "as 0 / 1" not in text and "Null:" not in text and ">null<" not in text
    assert "no score |" not in markdown and "as 0 / as 1" not in markdown


def test_tools_stand_below_the_table_of_trajectories(tmp_path):
    text = page_of(synthetic.run(), tmp_path).split("Trajectories kept</h3>")[1].split("<h3>")[0]
    assert "using a tool" not in text.split("</table>")[0] and "read 80, write 133" in text.split("</table>")[1]


def test_wide_figures_are_as_wide_as_the_page():
    run = synthetic.run()
    wide = [figures.bench(run.summary), figures.funnel(content.funnel(run.funnel, run.tasks, run.stats))]
    assert {figure.get_figwidth() for figure in wide} == {figures.WIDE}


def test_all_trajectories_are_open_so_that_paper_shows_them(tmp_path):
    run = synthetic.run()
    assert len(re.findall(r'<details class="trajectory" open>', page_of(run, tmp_path))) == run.shown


def test_the_date_stands_on_the_page_only(tmp_path):
    when = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
    assert "2026-03-04 05:06 UTC" in page_of(synthetic.run(measured=when), tmp_path)
    assert "2026-03-04" not in page.markdown(synthetic.run(measured=when))
    assert "Bench of" not in page_of(synthetic.run(), tmp_path)


def test_what_is_there_is_printed_and_what_is_not_is_named(tmp_path):
    results = tmp_path / "results"
    paths = synthetic.write(results)
    cache = results / ".cache/responses.sqlite"
    for name, path in vars(paths).items():
        if name not in ("tasks", "funnel", "decisions"):
            path.unlink()
    shown = printed(results)
    assert shown.returncode == 0, shown.stderr
    assert "training split" in shown.stdout and "heldout:" not in shown.stdout and "Spent" not in shown.stdout
    assert re.search(r"Not run yet: .*rollouts, grades, trajectories, training, bench, report", shown.stdout)
    assert not cache.exists()

    Store(cache).record_usage("tasks", "author", "some-model", calls=3, usd=0.00042)
    assert "Spent so far: 0.0004 US dollars" in printed(results).stdout

    again = synthetic.write(results)
    for path in (again.tasks, again.funnel):
        path.unlink()
    shown = printed(results)
    assert shown.returncode == 0 and "heldout:" in shown.stdout and "training split" not in shown.stdout

    nothing = printed(tmp_path / "none")
    assert nothing.returncode != 0 and "no stage has run yet" in nothing.stderr
