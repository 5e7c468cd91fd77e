"""What rollouts rely on: every call recorded as it happens, budgets kept, the key on this side only, failures typed."""

import asyncio
import contextlib
import json
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from clawgym.config import Model, Spend
from clawgym.errors import UserError
from clawgym.proxy import Budget, Proxy
from clawgym.proxy.records import Assembly
from clawgym.tables import read_jsonl
from tests.client.fake import NO_CHOICES, NO_USAGES

ASK = {"messages": [{"role": "user", "content": "hello"}], "model": "whatever", "temperature": 1.9, "logprobs": True}
ROOMY = Budget(5, 1000, 60)
USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


def completion(text="hi", **more) -> dict:
    message = {"role": "assistant", "content": text, **more}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if more else "stop"}
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": USAGE}


@asynccontextmanager
async def endpoint(answer):
    """An upstream whose handler is `answer(body, number of the request)`; gives (base_url, requests seen)."""
    seen: list[dict] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        seen.append({"body": body, "key": request.headers.get("Authorization")})
        return await answer(request, body, len(seen))

    app = web.Application()
    app.router.add_post("/v1/chat/completions", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1", seen
    finally:
        await runner.cleanup()


async def whole(request, body, number):
    return web.json_response(completion())


def chunks() -> list[dict]:
    head = {"id": "s1", "created": 1, "model": "m", "object": "chat.completion.chunk"}
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "wri", "arguments": ""}}
    deltas = [
        {"role": "assistant", "content": "wörk"},
        {"content": "ing"},
        {"tool_calls": [call]},
        {"tool_calls": [{"index": 0, "function": {"name": "te", "arguments": '{"path": '}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '"a"}'}}]},
    ]
    parts = [head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    parts.append(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    return [*parts, head | {"choices": [], "usage": USAGE}]


def streaming(cut: int | None = None):
    async def answer(request, body, number):
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for chunk in chunks()[:cut]:
            await response.write(f"data: {json.dumps(chunk)}\r\n\r\n".encode())
        if cut is None:
            await response.write(b"data: [DONE]\n\n")
        return response

    return answer


class Play:
    """One session on a Unix socket and its HTTP client."""

    def __init__(self, tmp_path: Path, answer=whole, budget=ROOMY, **model):
        self.tmp_path, self.answer, self.budget = tmp_path, answer, budget
        self.model = Model(**({"base_url": "http://x/v1", "model": "real-model", "retries": 1, "price_in": 1e4} | model))
        self.capture = tmp_path / "captures" / "r.jsonl.zst"

    async def __aenter__(self) -> "Play":
        self.endpoint = endpoint(self.answer)
        url, self.seen = await self.endpoint.__aenter__()
        self.proxy = Proxy("strong", self.model, url, Spend(cache=str(self.tmp_path / "spend.sqlite"), limit_usd=1), "rollouts")
        await self.proxy.__aenter__()
        self.opened = self.proxy.session(self.tmp_path / "s.sock", self.capture, self.budget, 11, {"rollout_id": "r"})
        self.session = await self.opened.__aenter__()
        self.http = aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(self.tmp_path / "s.sock")))
        return self

    async def __aexit__(self, *failure) -> None:
        await self.http.close()
        await self.opened.__aexit__(None, None, None)
        await self.proxy.__aexit__(None, None, None)
        await self.endpoint.__aexit__(None, None, None)

    async def ask(self, body=ASK, token: str | None = None) -> tuple[int, str]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.session.token if token is None else token}"}
        async with self.http.post("http://proxy/v1/chat/completions", data=data, headers=headers) as reply:
            return reply.status, await reply.text()

    @property
    def records(self) -> list[dict]:
        return read_jsonl(self.capture)


def play(scenario, tmp_path, **settings):
    async def run():
        async with Play(tmp_path, **settings) as one:
            await scenario(one)

    asyncio.run(run())


def test_a_call_is_made_with_our_key_and_sampling_and_recorded_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("TEST_KEY", "sk-real")

    async def scenario(one: Play):
        status, text = await one.ask()
        assert status == 200 and json.loads(text)["choices"][0]["message"]["content"] == "hi"
        sent = one.seen[0]
        assert sent["key"] == "Bearer sk-real"
        assert sent["body"] == {"messages": ASK["messages"], "model": "real-model", "temperature": 0.5, "max_tokens": 100, "seed": 11}
        (record,) = one.records  # while the session is still open
        assert record["request"] == ASK and record["response"] == completion() and record["status"] == 200 and record["wall_s"] > 0
        assert (one.session.tokens_in, one.session.tokens_out) == (7, 5) and one.session.cost_usd == pytest.approx(0.07)
        (row,) = one.proxy.store.ledger()
        assert (row["stage"], row["role"], row["calls"], row["tokens_in"], row["usd"]) == ("rollouts", "strong", 1, 7, pytest.approx(0.07))

    play(scenario, tmp_path, api_key_env="TEST_KEY", temperature=0.5, max_tokens=100)
    records = read_jsonl(tmp_path / "captures" / "r.jsonl.zst")
    assert records[-1]["kind"] == "end" and "sk-real" not in json.dumps(records)
    assert not (tmp_path / "s.sock").exists()


def test_a_stream_is_passed_on_and_recorded_whole(tmp_path):
    async def scenario(one: Play):
        status, text = await one.ask(ASK | {"stream": True})
        events = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
        assert status == 200 and [json.loads(event) for event in events[:-1]] == chunks() and events[-1] == "[DONE]"
        assert one.seen[0]["body"]["stream_options"] == {"include_usage": True}
        answer = one.records[0]["response"]
        assert answer["usage"] == USAGE and answer["choices"][0]["finish_reason"] == "tool_calls"
        assert answer["choices"][0]["message"] == {
            "role": "assistant",
            "content": "wörking",
            "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "write", "arguments": '{"path": "a"}'}}],
        }

    play(scenario, tmp_path, answer=streaming())


def test_half_a_stream_is_an_error_for_the_agent_and_in_the_record(tmp_path):
    async def scenario(one: Play):
        with pytest.raises(aiohttp.ClientError):
            await one.ask(ASK | {"stream": True})
        await asyncio.sleep(0.1)
        assert one.session.failure == "model_api" and one.records[0]["response"] is None and "finish_reason" in one.records[0]["error"]

    play(scenario, tmp_path, answer=streaming(cut=2))


@pytest.mark.parametrize(
    ("budget", "limit"), [(Budget(2, 1000, 60), "turn_limit"), (Budget(9, 20, 60), "token_limit"), (Budget(9, 1000, 0.0), "time_limit")]
)
def test_a_used_up_budget_is_a_clean_error(tmp_path, budget, limit):
    async def scenario(one: Play):
        replies = [await one.ask() for _ in range(3)]
        status, text = replies[-1]
        assert status == 403 and json.loads(text)["error"]["code"] == limit
        assert one.session.limit == limit and len(one.seen) == (0 if limit == "time_limit" else 2)
        assert one.records[-1]["kind"] == "refused"

    play(scenario, tmp_path, budget=budget)


def test_the_spend_limit_stops_the_whole_job(tmp_path):
    async def scenario(one: Play):
        for _ in range(2):
            await one.ask()  # 0.07 of 1 dollar each
        one.proxy.store.record_usage("tasks", "author", "m", usd=5.0)
        status, text = await one.ask()
        assert status == 403 and json.loads(text)["error"]["code"] == "spend_limit"
        assert isinstance(one.proxy.fatal, UserError) and "spend.limit_usd" in str(one.proxy.fatal) and len(one.seen) == 2

    play(scenario, tmp_path)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"\xff\xfe", b'{"messages": []}', b'{"messages": "x"}', b'{"messages": [1]}', b"[" * 100_000]
)
def test_malformed_bodies_are_refused_and_the_session_goes_on(tmp_path, body):
    async def scenario(one: Play):
        status, text = await one.ask(body)
        assert status == 400 and json.loads(text)["error"]["type"] == "invalid_request_error"
        assert (await one.ask())[0] == 200 and one.session.calls == 1

    play(scenario, tmp_path)


def test_a_lone_surrogate_survives_the_capture(tmp_path):
    async def scenario(one: Play):
        await one.ask(b'{"messages": [{"role": "user", "content": "a\\ud800b"}]}')
        assert one.records[0]["request"]["messages"][0]["content"].startswith("a")

    play(scenario, tmp_path)


def test_a_foreign_token_gets_nothing(tmp_path):
    async def scenario(one: Play):
        assert (await one.ask(token="guess"))[0] == 401
        assert (await one.ask(token="ü"))[0] == 401
        async with one.http.get("http://proxy/v1/models", headers={"Authorization": f"Bearer {one.session.token}"}) as reply:
            assert [model["id"] for model in (await reply.json())["data"]] == ["strong"]
        assert not one.seen

    play(scenario, tmp_path)


@pytest.mark.parametrize(
    "bad", [{"status": 500}, {"status": 429, "headers": {"retry-after": "0"}}, {"text": '{"error": "overloaded"}'}, {"text": "<html>"}]
)
def test_passing_troubles_are_tried_again(tmp_path, bad):
    async def answer(request, body, number):
        return web.Response(**bad) if number == 1 else web.json_response(completion())

    async def scenario(one: Play):
        assert (await one.ask())[0] == 200
        assert len(one.seen) == 2 and one.records[0]["tries"] == 2 and one.session.failure is None

    play(scenario, tmp_path, answer=answer)


def test_lasting_trouble_is_typed(tmp_path):
    async def answer(request, body, number):
        return web.Response(status=503, text="down")

    async def scenario(one: Play):
        status, text = await one.ask()
        assert status == 502 and json.loads(text)["error"]["type"] == "upstream_error"
        assert one.session.failure == "model_api" and "down" in one.session.detail and one.records[0]["response"] is None

    play(scenario, tmp_path, answer=answer)


def test_an_overflowing_context_is_the_agents_limit_and_a_refused_key_stops_the_job(tmp_path):
    async def answer(request, body, number):
        if number == 1:
            return web.Response(status=400, text="This model's maximum context length is 8192 tokens")
        return web.Response(status=401, text="bad key")

    async def scenario(one: Play):
        assert (await one.ask())[0] == 400 and one.session.limit == "token_limit" and one.session.failure is None
        assert (await one.ask())[0] == 502 and "access refused" in str(one.proxy.fatal)

    play(scenario, tmp_path, answer=answer)


def test_parameters_an_endpoint_refuses_are_left_out_from_then_on(tmp_path):
    async def answer(request, body, number):
        if "seed" in body:
            return web.Response(status=400, text="Unknown parameter: seed")
        if "max_tokens" in body:
            return web.Response(status=400, text="Use 'max_completion_tokens' instead of max_tokens")
        return web.json_response(completion())

    async def scenario(one: Play):
        assert [(await one.ask())[0] for _ in range(2)] == [200, 200]
        assert len(one.seen) == 4 and one.seen[-1]["body"]["max_completion_tokens"] == 50

    play(scenario, tmp_path, answer=answer, max_tokens=50)


def test_missing_usage_is_estimated(tmp_path):
    async def answer(request, body, number):
        return web.json_response({key: value for key, value in completion().items() if key != "usage"})

    async def scenario(one: Play):
        await one.ask()
        assert one.session.tokens_in > 5 and one.session.tokens_out > 5

    play(scenario, tmp_path, answer=answer)


@pytest.mark.parametrize("choices", NO_CHOICES, ids=repr)
def test_what_is_no_chat_completion_is_tried_again_and_then_typed(tmp_path, choices):
    async def answer(request, body, number):
        return web.json_response(completion() | {"choices": choices} if number != 3 else completion())

    async def scenario(one: Play):
        status, text = await one.ask()
        assert status == 502 and "not a chat completion: choices" in json.loads(text)["error"]["message"] and len(one.seen) == 2
        assert one.session.failure == "model_api" and one.session.last is None and one.records[0]["response"] is None
        assert (await one.ask())[0] == 200

    play(scenario, tmp_path, answer=answer)


def test_what_an_answer_holds_reaches_the_agent_and_the_record_in_one_form(tmp_path):
    made = [
        {"id": 7, "type": "function", "function": {"name": "write", "arguments": {"path": "ä"}}},
        {"function": {"name": "process", "arguments": None}},
    ]

    async def answer(request, body, number):
        return web.json_response(completion([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], tool_calls=made))

    async def scenario(one: Play):
        _, text = await one.ask()
        message = json.loads(text)["choices"][0]["message"]
        assert message == one.records[0]["response"]["choices"][0]["message"] == one.session.last["choices"][0]["message"]
        assert message["content"] == "ab" and message["role"] == "assistant"
        assert [(call.get("id"), call["function"]["arguments"]) for call in message["tool_calls"]] == [("7", '{"path": "ä"}'), (None, "{}")]

    play(scenario, tmp_path, answer=answer)


def test_usage_that_cannot_be_true_is_estimated_and_spending_only_grows(tmp_path):
    async def answer(request, body, number):
        return web.json_response(completion() | {"usage": NO_USAGES[number - 1]})

    async def scenario(one: Play):
        before = (0, 0, 0.0)
        for _ in NO_USAGES:
            assert (await one.ask())[0] == 200
            now = (one.session.tokens_in, one.session.tokens_out, one.proxy.store.spent())
            assert all(0 < after - first < 100 for first, after in zip(before, now, strict=True))
            before = now
        assert all(record["response"].get("usage") is None for record in one.records)

    play(scenario, tmp_path, answer=answer, budget=Budget(99, 10**6, 60), price_in=1.0)


DELTA = {"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}


@pytest.mark.parametrize(
    "chunk",
    [
        {"choices": "abc"}, {"choices": 5}, {"choices": [None]}, {"choices": ["x"]}, {"choices": [DELTA | {"delta": "x"}]},
        {"choices": [DELTA | {"finish_reason": ["stop"]}]},
        *({"choices": [DELTA | {"delta": {"content": content}}]} for content in (5, {"a": 1}, [{"type": "image"}])),
        *({"choices": [DELTA | {"delta": {"tool_calls": calls}}]} for calls in ("x", {"a": 1}, ["x"], [{"function": "read"}])),
    ],
    ids=repr,
)  # fmt: skip
def test_a_malformed_chunk_is_typed(tmp_path, chunk):
    async def answer(request, body, number):
        return web.Response(text=f"data: {json.dumps(chunk)}\n\n", content_type="text/event-stream")

    async def scenario(one: Play):
        with contextlib.suppress(aiohttp.ClientError):
            assert (await one.ask(ASK | {"stream": True}))[0] == 502
        await asyncio.sleep(0.1)
        assert one.session.failure == "model_api" and one.records[0]["response"] is None

    play(scenario, tmp_path, answer=answer, retries=0)


@pytest.mark.parametrize("status", [200, 400])
def test_a_full_disk_under_the_ledger_stops_the_job(tmp_path, status):
    async def answer(request, body, number):
        return web.json_response(completion(), status=status)

    async def scenario(one: Play):
        pages = one.proxy.store.db.execute("PRAGMA page_count").fetchone()[0]
        one.proxy.store.db.execute(f"PRAGMA max_page_count = {pages}")
        one.proxy.stage = "x" * 100_000  # a row that needs pages
        assert (await one.ask())[0] == (200 if status == 200 else 502)
        assert isinstance(one.proxy.fatal, UserError) and "disk is full); free some space" in str(one.proxy.fatal)
        told, text = await one.ask()
        assert told == 403 and json.loads(text)["error"]["code"] == "job_stopped" and len(one.seen) == 1

    play(scenario, tmp_path, answer=answer)


def test_a_capture_of_a_killed_job_holds_every_finished_call(tmp_path):
    async def scenario(one: Play):
        await one.ask()
        await one.ask()
        whole = one.capture.read_bytes()
        cut = tmp_path / "cut.jsonl.zst"
        cut.write_bytes(whole[:-7])  # the last record was being written
        assert [record["index"] for record in read_jsonl(cut)] == [0]

    play(scenario, tmp_path)


def test_a_key_that_is_not_set_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(UserError, match="NO_SUCH_KEY is not set"):
        Proxy("strong", Model(base_url="http://x/v1", model="m", api_key_env="NO_SUCH_KEY"), "http://x/v1", Spend(), "rollouts")


def test_chunks_without_an_index_still_make_one_call():
    assembly = Assembly()
    for chunk in chunks():
        for choice in chunk["choices"]:
            for call in choice["delta"].get("tool_calls", []):
                call.pop("index", None)
        assembly.add(chunk)
    (call,) = assembly.completion()["choices"][0]["message"]["tool_calls"]
    assert call["function"] == {"name": "write", "arguments": '{"path": "a"}'}


@pytest.mark.parametrize("status", [200, 400])
def test_a_key_that_the_endpoint_repeats_reaches_neither_agent_nor_records(tmp_path, monkeypatch, status):
    monkeypatch.setenv("TEST_KEY", "sk-real")

    async def answer(request, body, number):
        return web.json_response(status=status, data=f"bad request by {request.headers['Authorization']}")

    async def scenario(play):
        status, told = await play.ask()
        assert status == 502 and "sk-real" not in str(told) and "[TEST_KEY]" in str(told)
        assert "sk-real" not in str(read_jsonl(play.capture)) + play.session.detail

    play(scenario, tmp_path, answer=answer, api_key_env="TEST_KEY")
