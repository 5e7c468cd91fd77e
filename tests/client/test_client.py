"""What the stages rely on: an answer or a typed reason, nothing paid twice, never more spent than allowed."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from aiohttp import web
from pydantic import BaseModel, Field

from clawgym.client import Client, Store, Unanswered, client
from clawgym.client.client import extract_json, retry_after, strict_schema
from clawgym.config import Model, Spend
from clawgym.errors import UserError
from tests.client.fake import NO_CHOICES, NO_USAGES, answer, provider

HELLO = [{"role": "user", "content": "hello"}]


class Answer(BaseModel):
    score: int = Field(ge=1, le=5)
    comment: str = ""


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(client, "FIRST_PAUSE_S", 0.01)


@pytest.fixture
def ask(tmp_path):
    """Run `use(client, fake)` against a provider that replies with `reply`."""

    def run(reply, use, limit=1000.0, **changes):
        async def main():
            async with provider(reply) as (fake, model):
                model = model.model_copy(update=changes)
                async with Client({"author": model}, Spend(limit_usd=limit, cache=str(tmp_path / "c.sqlite")), "tasks") as opened:
                    return fake, await use(opened)

        return asyncio.run(main())

    return run


def ledger(tmp_path):
    store = Store(tmp_path / "c.sqlite")
    rows = store.ledger()
    store.close()
    return rows


def test_an_answer_is_asked_for_once_and_accounted(ask, tmp_path):
    async def twice(opened):
        return [await opened.chat("author", HELLO), await opened.chat("author", HELLO), await opened.chat("author", HELLO, sample=1)]

    fake, (first, second, other) = ask(lambda n, body: answer(f"hi {n}"), twice)
    assert (first.text, second.text, other.text) == ("hi 0", "hi 0", "hi 1")
    assert (first.cached, second.cached) == (False, True)
    assert len(fake.bodies) == 2 and fake.bodies[0]["max_tokens"] == 4096
    [row] = ledger(tmp_path)
    assert (row["stage"], row["role"], row["calls"], row["cache_hits"]) == ("tasks", "author", 2, 1)
    assert (row["tokens_in"], row["tokens_out"]) == (20, 10)
    assert row["usd"] == pytest.approx(2 * (10 * 1e5 + 5 * 2e5) / 1e6)


@pytest.mark.parametrize(
    "bad",
    [
        (429, {"error": {"message": "slow down"}}, {"Retry-After": "0.01"}),
        (500, {"error": {"message": "x"}}),
        (529, {}),
        "reset",
        "<html>busy</html>",
        {"error": {"message": "upstream"}},
    ],
)
def test_a_passing_trouble_is_waited_out(ask, tmp_path, bad):
    fake, completion = ask(lambda n, body: bad if n < 2 else answer("ok"), lambda opened: opened.chat("author", HELLO))
    assert completion.text == "ok" and len(fake.bodies) == 3
    assert ledger(tmp_path)[0]["retries"] == 2 and ledger(tmp_path)[0]["failures"] == 0


def test_a_lasting_trouble_is_a_typed_failure_and_is_not_kept(ask):
    async def fails(opened):
        with pytest.raises(Unanswered) as failure:
            await opened.chat("author", HELLO)
        return failure.value

    fake, failure = ask(lambda n, body: (503, {"error": {"message": "down"}}), fails, retries=1)
    assert failure.kind == "model_api" and "503" in failure.detail and len(fake.bodies) == 2
    _, completion = ask(lambda n, body: answer("up again"), lambda opened: opened.chat("author", HELLO))
    assert completion.text == "up again" and not completion.cached

    async def slow(n, body):
        await asyncio.sleep(1)

    assert ask(slow, fails, retries=0, timeout_s=0.1, model="s")[1].kind == "timeout"
    assert ask(lambda n, body: answer(None, refusal="I will not"), fails, model="r")[1].kind == "refused"
    assert ask(lambda n, body: answer("", finish_reason="content_filter"), fails, model="f")[1].kind == "refused"
    assert ask(lambda n, body: answer("  "), fails, model="e")[1].kind == "empty"


def test_retry_after_is_read_in_each_of_its_forms():
    assert retry_after({"retry-after-ms": "250"}) == 0.25 and retry_after({"retry-after": "7"}) == 7
    later = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 30))
    assert 25 < retry_after({"retry-after": later}) <= 30
    assert retry_after({}) is None and retry_after({"retry-after": "soon"}) is None
    for never in ("nan", "inf", "-inf", "9" * 400):
        assert retry_after({"retry-after-ms": never}) is None and retry_after({"retry-after": never}) is None
    assert retry_after({"retry-after": "Mon, 01 Jan 99999 10:00:00 GMT"}) is None


def test_an_invalid_answer_goes_back_once_with_its_error(ask):
    replies = ['```json\n{"score": 9}\n```', '{"score": 4, "comment": "fine"}']
    fake, value = ask(lambda n, body: answer(replies[n]), lambda opened: opened.structured("author", HELLO, Answer))
    assert value == Answer(score=4, comment="fine")
    repair = fake.bodies[1]["messages"]
    assert repair[-2]["content"] == replies[0] and "score: Input should be less than or equal to 5" in repair[-1]["content"]

    async def never(opened):
        with pytest.raises(Unanswered) as failure:
            await opened.structured("author", HELLO, Answer, sample=1)
        return failure.value

    fake, failure = ask(lambda n, body: answer("no JSON here"), never)
    assert failure.kind == "invalid_output" and "not a JSON object" in failure.detail and len(fake.bodies) == 2
    _, failure = ask(lambda n, body: answer('{"score": 1', finish_reason="length"), never, model="cut")
    assert "cut off" in failure.detail


def test_a_check_of_the_caller_is_part_of_the_validation(ask):
    def even(value):
        if value.score % 2:
            raise ValueError("score must be even")

    fake, value = ask(lambda n, body: answer(json.dumps({"score": 3 + n})), lambda o: o.structured("author", HELLO, Answer, check=even))
    assert value.score == 4 and "score must be even" in fake.bodies[1]["messages"][-1]["content"]


@pytest.mark.parametrize("takes", ["json_schema", "json_object", "text"])
def test_structured_output_falls_back_to_what_the_endpoint_takes(ask, takes):
    def reply(n, body):
        wanted = body.get("response_format", {"type": "text"})["type"]
        return answer('{"score": 2}') if wanted == takes else (400, {"error": {"message": f"response_format {wanted} is not supported"}})

    async def two(opened):
        return [await opened.structured("author", HELLO, Answer, sample=i) for i in range(2)]

    fake, values = ask(reply, two)
    tries = {"json_schema": 1, "json_object": 2, "text": 3}[takes]
    assert [v.score for v in values] == [2, 2] and len(fake.bodies) == tries + 1  # learnt with the first answer
    schema_in_prompt = "JSON schema" in fake.bodies[-1]["messages"][0]["content"]
    assert schema_in_prompt == (takes != "json_schema")


def test_max_completion_tokens_is_used_where_the_endpoint_wants_it(ask):
    def reply(n, body):
        return answer("ok") if "max_completion_tokens" in body else (400, {"error": {"message": "Use 'max_completion_tokens' instead."}})

    fake, completion = ask(reply, lambda opened: opened.chat("author", HELLO), temperature=None)
    assert completion.text == "ok" and "temperature" not in fake.bodies[1]


def test_the_spend_limit_stops_and_says_how_to_go_on(ask, tmp_path):
    async def many(opened):
        return await opened.map(lambda i: opened.chat("author", HELLO, sample=i), range(10))

    with pytest.raises(UserError, match="raise spend.limit_usd and run the same command again"):
        ask(lambda n, body: answer("ok"), many, limit=5.0, concurrency=1)
    assert ledger(tmp_path)[0]["calls"] == 3  # 2 dollars each: the third call crosses 5
    fake, _ = ask(lambda n, body: answer("ok"), many, limit=100.0)
    assert len(fake.bodies) == 10  # another port is another endpoint, so nothing of the first run is reused


def test_answers_under_way_are_kept_when_a_job_stops(ask, tmp_path):
    async def slow(n, body):
        await asyncio.sleep(0.02 * n)
        return answer("ok") if n else (403, {"error": {"message": "no"}})

    async def many(opened):
        return await opened.map(lambda i: opened.chat("author", HELLO, sample=i), range(50))

    with pytest.raises(UserError, match="access refused"):
        ask(slow, many, concurrency=4)
    store = Store(tmp_path / "c.sqlite")
    kept = store.db.execute("SELECT COUNT(*) FROM responses").fetchone()[0]
    store.close()
    assert 3 <= kept <= 10  # what was in work is finished, nothing new is begun


def test_a_403_after_an_answer_is_about_that_question_only(ask):
    async def many(opened):
        first = await opened.chat("author", HELLO)
        with pytest.raises(Unanswered, match="model_api: 403 .*flagged"):
            await opened.chat("author", HELLO, sample=1)
        return first, await opened.chat("author", HELLO, sample=2)

    fake, answers = ask(lambda n, body: (403, {"error": {"message": "flagged"}}) if n == 1 else answer("ok"), many)
    assert [a.text for a in answers] == ["ok", "ok"] and len(fake.bodies) == 3


@pytest.mark.parametrize("status", [400, 404, 500, 418])
def test_a_key_that_an_endpoint_repeats_is_not_repeated(ask, monkeypatch, status):
    monkeypatch.setenv("SOME_KEY", "sk-secret-1")
    with pytest.raises((Unanswered, UserError)) as failure:
        ask(lambda n, body: (status, {"error": {"message": "bad sk-secret-1"}}), lambda o: o.chat("author", HELLO), api_key_env="SOME_KEY")
    assert "sk-secret-1" not in str(failure.value) and "[SOME_KEY]" in str(failure.value)


def test_what_an_endpoint_does_not_report_is_estimated_so_that_the_limit_holds(ask, tmp_path):
    ask(lambda n, body: answer("four score and seven years ago") | {"usage": None}, lambda o: o.chat("author", HELLO))
    [row] = ledger(tmp_path)
    assert row["tokens_in"] > 5 and row["tokens_out"] > 5 and row["usd"] > 0


@pytest.mark.parametrize("choices", NO_CHOICES, ids=repr)
def test_what_is_no_chat_completion_is_a_typed_failure(ask, choices):
    async def both(opened):
        for question in (opened.chat("author", HELLO), opened.structured("author", HELLO, Answer)):
            with pytest.raises(Unanswered, match="^model_api: not a chat completion: "):
                await question

    fake, _ = ask(lambda n, body: answer("") | {"choices": choices}, both, retries=1)
    assert len(fake.bodies) == 4


def test_text_in_parts_is_one_text(ask):
    parts = [{"type": "text", "text": '{"score": '}, {"type": "text", "text": "4}"}]
    assert ask(lambda n, body: answer(parts), lambda o: o.structured("author", HELLO, Answer))[1].score == 4


def test_usage_that_cannot_be_true_is_estimated_and_spending_only_grows(ask, tmp_path):
    spent = [0.0]

    async def many(opened):
        for i in range(len(NO_USAGES)):
            completion = await opened.chat("author", HELLO, sample=i)
            assert 5 < completion.tokens_in < 50 and 5 < completion.tokens_out < 50
            spent.append(opened.store.spent())

    ask(lambda n, body: answer("four score and seven years ago") | {"usage": NO_USAGES[n]}, many)
    assert spent == sorted(set(spent))


def test_an_answer_that_drips_ends_in_time(ask):
    class Drip(web.StreamResponse):
        async def prepare(self, request):
            await super().prepare(request)
            with contextlib.suppress(ConnectionError):
                for _ in range(100):
                    await self.write(b" ")
                    await asyncio.sleep(0.05)

    async def fails(opened):
        with pytest.raises(Unanswered, match="timeout: no answer within 0.3 s"):
            await opened.chat("author", HELLO)

    started = time.monotonic()
    ask(lambda n, body: Drip(), fails, timeout_s=0.3, retries=0)
    assert time.monotonic() - started < 4


def test_no_more_requests_in_flight_than_the_entry_allows(ask):
    async def slow(n, body):
        await asyncio.sleep(0.02)
        return answer("ok")

    async def many(opened):
        return await opened.map(lambda i: opened.chat("author", HELLO, sample=i), range(20))

    fake, answers = ask(slow, many, concurrency=3)
    assert len(answers) == 20 and fake.most_in_flight == 3


def test_a_users_mistake_is_one_clear_line(ask, tmp_path, monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(UserError, match=r"models\.author: the environment variable NO_SUCH_KEY is not set"):
        ask(lambda n, body: answer("x"), lambda o: o.chat("author", HELLO), api_key_env="NO_SUCH_KEY")
    with pytest.raises(UserError, match=r"models\.author: http://127\.0\.0\.1:9/v1: no connection after 2 tries"):
        ask(lambda n, body: answer("x"), lambda o: o.chat("author", HELLO), base_url="http://127.0.0.1:9/v1", retries=1)
    with pytest.raises(UserError, match="access refused"):
        ask(lambda n, body: (401, {"error": {"message": "bad key"}}), lambda o: o.chat("author", HELLO))
    with pytest.raises(UserError, match="correct base_url or model"):
        ask(lambda n, body: (404, {"error": {"message": "no such model"}}), lambda o: o.chat("author", HELLO))
    with pytest.raises(UserError, match="expected an entry judge, found author"):
        ask(lambda n, body: answer("x"), lambda o: o.chat("judge", HELLO))
    with pytest.raises(UserError, match="no such checkpoint|expected a checkpoint folder"):
        ask(lambda n, body: answer("x"), lambda o: o.chat("author", HELLO), base_url="checkpoint", model=str(tmp_path / "none"))
    (tmp_path / "c.sqlite").write_text("not a database, but long enough to be looked at as one" * 9)
    with pytest.raises(UserError, match="set spend.cache to another"):
        ask(lambda n, body: answer("x"), lambda o: o.chat("author", HELLO))


def test_the_key_goes_to_the_endpoint_and_nowhere_else(ask, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", "s3cret")
    fake, _ = ask(lambda n, body: answer("ok"), lambda o: o.chat("author", HELLO), api_key_env="MY_KEY")
    assert fake.headers[0]["Authorization"] == "Bearer s3cret"
    assert not any(b"s3cret" in path.read_bytes() for path in tmp_path.iterdir())


def test_many_lost_records_fail_the_job_and_few_do_not(tmp_path):
    opened = Client({}, Spend(cache=str(tmp_path / "c.sqlite")), "tasks")
    opened.require_answers([("refused", "no")] * 9 + [("model_api", "503")], 20)
    with pytest.raises(UserError, match="5 of 20 records got no answer"):
        opened.require_answers([("timeout", "slow")] * 5, 20)


def test_a_model_that_never_gives_a_usable_answer_fails_the_job(tmp_path):
    opened = Client({}, Spend(cache=str(tmp_path / "c.sqlite")), "tasks")
    with pytest.raises(UserError, match="tasks: none of 6 records got a usable answer .invalid_output: not JSON"):
        opened.require_answers([("refused", "no"), *[("invalid_output", "not JSON")] * 5], 6)
    opened.require_answers([("invalid_output", "not JSON")] * 5, 6)
    opened.require_answers([("duplicate", "same")] * 6, 6)
    opened.require_answers([("invalid_output", "not JSON")] * 4, 4)  # a small shard says little of a model


WRITER = """
import sys
from clawgym.client import Store
store = Store(sys.argv[1])
for i in range(100000):
    store.put(f"{sys.argv[2]}-{i}", "author", "m", {"text": "x" * 200})
    store.record_usage("tasks", "author", "m", calls=1)
    print(i, flush=True)
"""


def test_the_cache_survives_a_kill_and_serves_parallel_jobs(tmp_path):
    path = tmp_path / "c.sqlite"
    jobs = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(j)], stdout=subprocess.PIPE, text=True) for j in range(2)]
    written = [[job.stdout.readline() for _ in range(30)] for job in jobs]
    for job in jobs:
        os.kill(job.pid, signal.SIGKILL)
        job.communicate()
    store = Store(path)
    for j, lines in enumerate(written):
        assert all(store.get(f"{j}-{int(line)}") == {"text": "x" * 200} for line in lines)
    assert store.ledger()[0]["calls"] >= 60
    assert store.db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store.close()


def test_a_full_disk_under_the_cache_is_one_line_and_loses_no_answer(tmp_path):
    store = Store(tmp_path / "c.sqlite")
    store.put("first", "author", "m", {"text": "x"})
    pages = store.db.execute("PRAGMA page_count").fetchone()[0]
    store.db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(UserError, match=r"c\.sqlite: the response cache cannot be used \(database or disk is full\); free some space"):
        store.put("second", "author", "m", {"text": "x" * 100_000})
    store.db.execute("PRAGMA max_page_count = 100000")
    assert store.get("first") == {"text": "x"} and store.get("second") is None
    store.close()


def test_json_is_found_in_what_models_write_around_it():
    assert extract_json('<think>{"a": 0}</think>{"a": 1}') == {"a": 1}
    assert extract_json('Here you are:\n```json\n{"a": "```"}\n```\nGood luck!') == {"a": "```"}
    assert extract_json('The answer {is} {"a": {"b": 2}} as asked') == {"a": {"b": 2}}
    with pytest.raises(ValueError):
        extract_json("none")


def test_the_schema_is_in_the_strict_form():
    class Outer(BaseModel):
        inner: list[Answer] = []

    schema = strict_schema(Outer)
    assert schema["required"] == ["inner"] and schema["additionalProperties"] is False
    assert schema["$defs"]["Answer"]["required"] == ["score", "comment"] and "default" not in json.dumps(schema)


def test_entries_at_the_same_url_but_another_version_do_not_share_answers(tmp_path):
    from clawgym.client.endpoints import identity

    (tmp_path / "config.json").write_text("{}")
    entry = Model(base_url="checkpoint", model=str(tmp_path))
    before = identity(entry)
    (tmp_path / "model.safetensors").write_text("new weights")
    assert identity(entry) != before


def test_answers_of_a_model_gone_wild_are_invalid_and_no_crash(ask):
    async def both(opened):
        with pytest.raises(Unanswered, match="invalid_output"):
            await opened.structured("author", HELLO, Answer)
        return await opened.chat("author", [{"role": "user", "content": "and text?"}])

    _, completion = ask(lambda n, body: answer("[" * 5000 if n < 2 else "half a pair \ud83d"), both)
    assert completion.text == "half a pair ?"


def test_many_jobs_may_open_a_new_cache_at_the_same_moment(tmp_path):
    program = "import sys; from clawgym.client import Store; Store(sys.argv[1]).close()"
    for trial in range(3):
        jobs = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path / f"{trial}.sqlite")]) for _ in range(6)]
        assert [job.wait() for job in jobs] == [0] * 6
