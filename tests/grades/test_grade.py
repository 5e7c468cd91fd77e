"""Scores are numbers only if they were measured; the rest is null with a reason. Whole jobs run on snapshots with a scripted judge."""

import asyncio
import io
import json
import tarfile
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import zstandard
from aiohttp import web

from clawgym import workspaces
from clawgym.client import Client
from clawgym.config import Grades, Model, Spend
from clawgym.config import Sandbox as Settings
from clawgym.errors import UserError
from clawgym.grades.grade import Grader, grade_all, rubric_score, score_row, task_score
from clawgym.grades.schema import GRADE, SCORE
from clawgym.grades.transcript import messages
from clawgym.proxy.records import Capture
from clawgym.sandbox import Sandbox
from clawgym.tables import write_table

ROOT = Path(__file__).parent.parent.parent
CODE = """
def grade(transcript, workspace_path):
    from pathlib import Path
    total = sum(map(int, Path(workspace_path, "in/numbers.txt").read_text().split()))
    out = Path(workspace_path, "out.txt")
    return {"exists": out.exists(), "right": out.exists() and out.read_text().strip() == str(total)}
"""
CHECKS = [{"check_id": name, "description": "", "artifact": "out.txt"} for name in ("exists", "right")]
ANCHORS = ["bad", "poor", "fair", "good", "best"]


def rule(rule_id: str, artifact: str | None = "note.md", weight: float = 1.0) -> dict:
    return {"rule_id": rule_id, "text": f"judge {rule_id}", "artifact": artifact, "weight": weight, "anchors": ANCHORS}


TASK = {
    "task_id": "t1",
    "instruction": "Add the numbers.",
    "files": [{"path": "in/numbers.txt", "type": "txt", "spec": "", "content": "1\n2\n", "sha256": None}],
    "may_modify": [],
}


def verifier(code: str | None = CODE, rubric=()) -> dict:
    return {"task_id": "t1", "code": code, "checks": CHECKS if code else [], "rubric": list(rubric), "lambda": 0.7}


def reply(content) -> dict:
    text = content if isinstance(content, str) else json.dumps(content)
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "j",
        "choices": [choice],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1},
    }


def judged(score) -> dict:
    return reply({"score": score, "evidence": "e", "comment": "c"})


class Job:
    """Rollouts with snapshots in a folder, and a judge that answers what `judge(request block)` says."""

    def __init__(self, folder: Path):
        self.folder, self.rollouts, self.requests = folder, [], []

    def add(self, files: dict[str, str], status: str = "finished", final_text: str | None = "Done.") -> dict:
        name = f"t1-m-{len(self.rollouts)}"
        left = self.folder / f"left-{name}"
        workspaces.materialise(TASK, left)
        for path, content in files.items():
            (left / path).parent.mkdir(parents=True, exist_ok=True)
            (left / path).write_text(content)
        workspaces.snapshot(left, self.folder / f"snapshots/{name}.tar.zst", 10)
        capture = Capture(self.folder / f"captures/{name}.jsonl.zst", {})
        request = {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": TASK["instruction"]}]}
        capture.write({"kind": "call", "index": 0, "request": request, "response": reply("Done."), "status": 200})
        capture.write({"kind": "end"})
        capture.close()
        row = {"rollout_id": name, "task_id": "t1", "model": "m", "attempt": len(self.rollouts), "status": status, "failure_kind": None}
        row |= {"detail": None, "final_text": final_text, "capture": f"captures/{name}.jsonl.zst", "snapshot": f"snapshots/{name}.tar.zst"}
        self.rollouts.append(row)
        return row

    def grade(self, verifier: dict, judge=lambda request: judged(1)) -> tuple[list[dict], list[dict]]:
        async def handle(request: web.Request) -> web.Response:
            body = await request.json()
            asked = body["messages"][1]["content"]
            self.requests.append(json.loads(asked[asked.rindex("```json\n") + 8 : asked.rindex("```")]))
            answer = judge(self.requests[-1])
            return web.json_response(answer) if isinstance(answer, dict) else answer

        @asynccontextmanager
        async def endpoint():
            app = web.Application()
            app.router.add_post("/v1/chat/completions", handle)
            runner = web.AppRunner(app, shutdown_timeout=0.1)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            try:
                yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
            finally:
                await runner.cleanup()

        async def run():
            async with endpoint() as url:
                judge_model = Model(base_url=url, model="judge-1", retries=0)
                async with Client({"judge": judge_model}, Spend(cache=str(self.folder / "spend.sqlite")), "grades") as client:
                    sandbox = Sandbox.from_settings(Settings())
                    grader = Grader(sandbox, client, str(ROOT / "config/prompts"), Grades(), "judge-1", self.folder, 2)
                    return await grade_all(grader, self.rollouts, {"t1": TASK}, {"t1": verifier})

        grades, scores = asyncio.run(run())
        write_table(grades, GRADE, self.folder / "grades.parquet", {})
        write_table(scores, SCORE, self.folder / "scores.parquet", {})
        return grades, scores


@pytest.fixture
def job(tmp_path) -> Job:
    return Job(tmp_path)


def test_code_is_graded_on_the_snapshot_over_pristine_inputs(job):
    job.add({"out.txt": "3"})
    job.add({"in/numbers.txt": "5", "out.txt": "5"})  # made its own answer right by changing the input
    job.add({}, status="turn_limit")
    grades, scores = job.grade(verifier())
    assert [score["s_task"] for score in scores] == [1.0, 0.5, 0.0] and {score["status"] for score in scores} == {"ok"}
    assert [(row["check_id"], row["score"], row["grader"]) for row in grades[:2]] == [("exists", 1.0, "code"), ("right", 1.0, "code")]


def test_what_failed_outside_the_agent_is_null_and_never_zero(job):
    row = job.add({"out.txt": "3"}, status="failed")
    row |= {"failure_kind": "model_api", "snapshot": None}
    killed = job.add({"out.txt": "3"}, status="killed")
    killed["snapshot"] = None
    grades, scores = job.grade(verifier(rubric=[rule("a")]))
    assert [(s["s_code"], s["s_rubric"], s["s_task"]) for s in scores] == [(None, None, None)] * 2
    assert [s["status"] for s in scores] == ["rollout_failed", "no_snapshot"]
    assert len(grades) == 6 and all(row["score"] is None for row in grades) and not job.requests


def test_a_grader_that_fails_makes_the_task_null(job):
    job.add({"out.txt": "3"})
    grades, scores = job.grade(verifier("def grade(t, w):\n    return {'exists': 2}"))
    assert scores[0]["s_task"] is None and scores[0]["status"] == "grader_invalid"
    assert {(row["check_id"], row["status"]) for row in grades} == {("exists", "grader_invalid"), ("right", "grader_invalid")}
    grades, scores = job.grade(verifier("def grade(t, w):\n    return {'exists': 1}"))
    assert scores[0]["s_task"] is None and scores[0]["status"] == "missing_check"


def test_the_judge_sees_only_the_artefact_of_its_rule(job):
    job.add({"out.txt": "3", "note.md": "A note.", "secret.md": "SECRET"}, final_text="All done.")
    grades, scores = job.grade(
        verifier(rubric=[rule("note", weight=3), rule("answer", None), rule("gone", "gone.md")]),
        lambda request: judged({"note": 0.75, "answer": 0.25, "gone": 0}[request["rule"]["rule_id"]]),
    )
    assert {request["rule"]["rule_id"]: request["content"] for request in job.requests} == {
        "note": "A note.",
        "answer": "All done.",
        "gone": None,
    }
    assert "SECRET" not in json.dumps(job.requests)
    assert scores[0]["s_rubric"] == pytest.approx((3 * 0.75 + 0.25) / 5)
    assert scores[0]["s_task"] == pytest.approx(0.7 * 1.0 + 0.3 * 0.5)
    assert {row["grader"] for row in grades} == {"code", "judge-1"}


def test_a_link_of_the_agent_shows_the_judge_nothing(job):
    row = job.add({})
    left = job.folder / "left-t1-m-0"
    (left / "note.md").symlink_to("/etc/passwd")
    workspaces.snapshot(left, job.folder / row["snapshot"], 10)
    job.grade(verifier(None, [rule("note")]))
    assert job.requests[0]["content"] is None


def cut_tar(archive: Path) -> bytes:
    """A snapshot whose compressed stream ends between two entries."""
    whole = zstandard.ZstdDecompressor().decompressobj().decompress(archive.read_bytes())
    with tarfile.open(fileobj=io.BytesIO(whole)) as tar:
        start = tar.getmembers()[1].offset
    packer = zstandard.ZstdCompressor().compressobj()
    return packer.compress(whole[:start]) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)


@pytest.mark.parametrize("kind", ["capture", "snapshot"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:50]),
        lambda path: path.write_bytes(b"garbage" * 50),
        lambda path: path.write_bytes(zstandard.compress(b"neither a tar nor lines" * 50)),
        lambda path: (path.unlink(), path.mkdir()),
        lambda path: path.write_bytes(cut_tar(path)) if "snapshots" in path.parts else path.write_bytes(path.read_bytes()[:-9]),
    ],
    ids=["missing", "empty", "cut", "garbage", "other", "folder", "cut_between_entries"],
)
def test_a_damaged_rollout_stops_grading_and_is_named(job, kind, damage):
    row = job.add({"out.txt": "3"})
    damage(job.folder / row[kind])
    with pytest.raises(
        UserError, match=f"{row[kind]}: expected a whole {kind}, found none .*; delete {job.folder} and .*{row['rollout_id']}"
    ):
        job.grade(verifier())


def test_a_failed_rollout_needs_no_files(job):
    row = job.add({"out.txt": "3"}, status="failed") | {"failure_kind": "proxy"}
    (job.folder / row["capture"]).unlink()
    assert job.grade(verifier())[1][0]["status"] == "rollout_failed"


def test_a_judgement_without_evidence_has_no_detail(job):
    job.add({"note.md": "x"})
    grades, _ = job.grade(verifier(None, [rule("note")]), lambda request: reply({"score": 1, "evidence": "", "comment": "c"}))
    assert (grades[0]["score"], grades[0]["detail"]) == (1.0, None)


@pytest.mark.parametrize("wrong", [0.3, 5, "0.5", True, None, "high"])
def test_a_wrong_score_is_repaired_once_or_null(job, wrong):
    job.add({"out.txt": "3", "note.md": "x"})
    _, (score,) = job.grade(verifier(rubric=[rule("note")]), lambda request: judged(wrong))
    assert (score["s_code"], score["s_rubric"], score["s_task"], score["status"]) == (1.0, None, None, "invalid_output")
    assert len(job.requests) == 2


def test_a_repaired_answer_counts(job):
    job.add({"out.txt": "3", "note.md": "x"})
    _, (score,) = job.grade(verifier(rubric=[rule("note")]), lambda request: judged(0.5 if len(job.requests) == 2 else 7))
    assert score["s_rubric"] == 0.5 and score["status"] == "ok"


def test_a_judge_that_is_down_leaves_nulls(job):
    job.add({"out.txt": "3", "note.md": "x"})
    _, (score,) = job.grade(verifier(rubric=[rule("note")]), lambda request: web.Response(status=500))
    assert score["s_task"] is None and score["status"] == "model_api"


@pytest.mark.parametrize(
    ("s_code", "s_rubric", "code", "rubric", "expected"),
    [
        (1.0, 0.0, True, True, 0.7),
        (0.5, None, True, False, 0.5),
        (None, 0.25, False, True, 0.25),
        (1.0, None, True, True, None),
        (None, 1.0, True, True, None),
    ],
)
def test_the_task_score_follows_the_formula(s_code, s_rubric, code, rubric, expected):
    assert task_score(s_code, s_rubric, code=code, rubric=rubric, lambda_=0.7) == expected


def test_the_rubric_score_is_a_weighted_mean_or_null():
    rules = [rule("a", weight=3), rule("b", weight=1)]
    assert rubric_score(rules, {"a": 1.0, "b": 0.0}) == 0.75
    assert rubric_score(rules, {"a": 1.0, "b": None}) is None and rubric_score([], {}) is None


def test_a_task_without_any_verifier_is_not_zero():
    row = score_row({"rollout_id": "r", "task_id": "t1", "model": "m", "attempt": 0}, verifier(None), [])
    assert row["s_task"] is None and row["status"] == "no_verifier"


def test_the_transcript_begins_at_the_task_and_ends_with_the_last_answer():
    example = [{"role": "user", "content": "Other."}, {"role": "assistant", "content": "Did."}]
    asked = [
        {"role": "system", "content": "s"},
        *example,
        {"role": "user", "content": [{"type": "text", "text": "[today] Add the numbers."}]},
    ]
    step = {"role": "assistant", "content": "step"}
    records = [
        {"kind": "call", "request": {"messages": asked}, "response": reply("step")},
        {"kind": "refused", "request": None},
        {"kind": "call", "request": {"messages": [*asked, step]}, "response": None},
        {"kind": "end"},
    ]
    assert messages(records, TASK["instruction"]) == [asked[-1], step]
    assert messages(records[:1], TASK["instruction"])[-1]["content"] == "step"
    assert messages([], "x") == [{"role": "user", "content": "x"}]
