"""A small OpenAI-compatible server on loopback whose replies the test writes: what a provider does on good and on bad days."""

import asyncio
import itertools
from contextlib import asynccontextmanager

from aiohttp import web

from clawgym.config import Model

# What endpoints give as a choice and as usage on their worst days.
NO_CHOICES = [
    "abc", {}, [], None, float("nan"), ["x"], [None], [{"index": 0}],
    *([{"message": message}] for message in (None, "hi", [])),
    *([{"message": {"content": content}}] for content in (5, {"a": 1}, ["x"], [{"type": "reasoning", "text": "x"}])),
    *([{"message": {"tool_calls": calls}}] for calls in ("x", {"a": 1}, ["x"], [None], [{"function": "read"}])),
    [{"message": {"tool_calls": [{"id": "1", "function": {"name": "read", "arguments": [1]}}]}}],
    [{"message": {"content": "x"}, "finish_reason": ["stop"]}],
]  # fmt: skip
NO_USAGES = [
    None, [1], "many", {},
    *({"prompt_tokens": count, "completion_tokens": 5} for count in (None, "10", 1.5, -(10**6), 10**9, 10**30, True, float("nan"))),
]  # fmt: skip


def answer(content, finish_reason="stop", **message):
    """A chat completion with 10 prompt and 5 completion tokens."""
    return {
        "id": "1", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", "content": content} | message}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }  # fmt: skip


class Fake:
    """`reply(n, body)` gives the n-th reply (from 0): a dict (200), (status, dict), (status, dict, headers) or `reset`."""

    def __init__(self, reply):
        self.reply, self.bodies, self.headers = reply, [], []
        self.in_flight = self.most_in_flight = 0
        self.numbers = itertools.count()

    async def handle(self, request):
        body = await request.json()
        self.bodies.append(body)
        self.headers.append(request.headers)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            reply = self.reply(next(self.numbers), body)
            if asyncio.iscoroutine(reply):
                reply = await reply
        finally:
            self.in_flight -= 1
        if reply == "reset":
            request.transport.abort()
            return web.Response()
        if isinstance(reply, web.StreamResponse):
            return reply
        if isinstance(reply, str):
            return web.Response(text=reply, content_type="text/html")
        status, payload, headers = (*reply, None)[:3] if isinstance(reply, tuple) else (200, reply, None)
        return web.json_response(payload, status=status, headers=headers)


@asynccontextmanager
async def provider(reply):
    """The server; yields (fake, model entry that points at it)."""
    fake = Fake(reply)
    app = web.Application()
    app.router.add_post("/v1/chat/completions", fake.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield fake, Model(base_url=f"http://{host}:{port}/v1", model="m", price_in=1e5, price_out=2e5, timeout_s=5)
    finally:
        await runner.cleanup()
