"""What any OpenAI client relies on: the protocol, streamed and not, and errors it can show."""

import asyncio
import json

import openai
import pytest
from aiohttp.test_utils import TestClient, TestServer

from clawgym.offline.server import OWNER, create_app
from tests.offline import play

TASK = [{"role": "user", "content": "Read a.txt and write the value of chair to b.txt."}]


def with_server(use):
    """Run `use(test client, openai client)` against a served app."""

    async def main():
        async with TestClient(TestServer(create_app())) as http:
            async with openai.AsyncOpenAI(base_url=str(http.make_url("/v1")), api_key="none", max_retries=0) as client:
                return await use(http, client)

    return asyncio.run(main())


def test_streamed_and_whole_answers_say_the_same():
    block = {"request": "write_solution", "instruction": 'Save "x" in y.txt.', "files": [], "expected_outputs": ["y.txt"]}
    requests = [
        {"model": "offline/strong", "messages": TASK, "tools": play.tools()},
        {"model": "offline/solver", "messages": [{"role": "user", "content": play.prompt(block)}]},
    ]

    async def use(http, client):
        for request in requests:
            whole = await client.chat.completions.create(**request)
            stream = await client.chat.completions.create(**request, stream=True, stream_options={"include_usage": True})
            text, calls, reasons, usage = "", {}, [], None
            async for chunk in stream:
                usage = chunk.usage or usage
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    reasons += [choice.finish_reason] if choice.finish_reason else []
                    for part in choice.delta.tool_calls or []:
                        call = calls.setdefault(part.index, {"id": part.id, "name": part.function.name, "arguments": ""})
                        call["arguments"] += part.function.arguments or ""
            message = whole.choices[0].message
            made = [{"id": c.id, "name": c.function.name, "arguments": c.function.arguments} for c in message.tool_calls or []]
            assert (text or None, list(calls.values())) == (message.content, made)
            assert reasons == [whole.choices[0].finish_reason] == ["tool_calls" if made else "stop"]
            assert usage == whole.usage
            assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens > usage.completion_tokens > 0
        plain = await client.chat.completions.create(**requests[0], stream=True)
        assert all([chunk.choices and chunk.usage is None async for chunk in plain])

    with_server(use)


def test_it_says_what_it_is():
    async def use(http, client):
        models = [model async for model in client.models.list()]
        assert {"offline/strong", "offline/weak", "offline/author", "offline/judge"} <= {model.id for model in models}
        assert {model.owned_by for model in models} == {OWNER} and "not a language model" in OWNER
        assert (await (await http.get("/health")).json())["status"] == "ok"

    with_server(use)


@pytest.mark.parametrize(
    "change, param",
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].tool_call_id"),
        ({"tools": [{"type": "function"}]}, "tools"),
        ({"n": 3}, "n"),
        ({"stream": "yes"}, "stream"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"temperature": 9}, "temperature"),
    ],
)
def test_a_wrong_request_is_refused_with_its_parameter(change, param):
    async def use(http, client):
        response = await http.post("/v1/chat/completions", json={"model": "offline/strong", "messages": TASK} | change)
        error = (await response.json())["error"]
        assert response.status == 400 and error["param"] == param and error["type"] == "invalid_request_error"

    with_server(use)


def test_unknown_models_and_bodies_that_are_no_json():
    async def use(http, client):
        with pytest.raises(openai.NotFoundError, match="offline/gpt"):
            await client.chat.completions.create(model="offline/gpt", messages=TASK)
        response = await http.post("/v1/chat/completions", data=b"{")
        assert response.status == 400 and "not JSON" in (await response.json())["error"]["message"]

    with_server(use)


def test_a_token_limit_cuts_and_says_so():
    async def use(http, client):
        block = {"request": "write_solution", "instruction": 'Save "x" in y.txt.', "files": [], "expected_outputs": ["y.txt"]}
        short = await client.chat.completions.create(
            model="offline/solver", messages=[{"role": "user", "content": play.prompt(block)}], max_completion_tokens=20
        )
        assert short.choices[0].finish_reason == "length" and short.usage.completion_tokens == 20
        with pytest.raises(json.JSONDecodeError):
            json.loads(short.choices[0].message.content)
        call = await client.chat.completions.create(model="offline/strong", messages=TASK, tools=play.tools(), max_tokens=2)
        assert call.choices[0].finish_reason == "length" and not call.choices[0].message.tool_calls

    with_server(use)


def test_the_same_request_gets_the_same_answer_and_tool_choice_none_is_respected():
    async def use(http, client):
        request = {"model": "offline/weak", "messages": TASK, "tools": play.tools(), "seed": 3}
        first, second = [await client.chat.completions.create(**request) for _ in range(2)]
        assert first.choices == second.choices
        silent = await client.chat.completions.create(**request, tool_choice="none")
        assert not silent.choices[0].message.tool_calls

    with_server(use)
