"""The proxy between agents and models: records every call, adds the key, keeps the budgets.

Each rollout has a session of its own: a Unix socket that is bind-mounted into its sandbox, a token, a capture file and a budget. The
agent sees an OpenAI-compatible endpoint (`/v1/chat/completions`, streamed or not, `/v1/models`); which model answers, with which key and
sampling, is decided here. How a rollout ended is read from its session, never from the agent.
"""

import asyncio
import hmac
import json
import os
import random
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from clawgym.client import Store, cost, respect_limit
from clawgym.client.client import FIRST_PAUSE_S, LONGEST_PAUSE_S, RETRIED_4XX, checked_completion, retry_after, usage_of
from clawgym.client.endpoints import is_local
from clawgym.config import Model, Spend
from clawgym.errors import UserError
from clawgym.proxy.records import Assembly, Capture

MAX_BODY = 64 * 2**20
# Fields of a request that the agent may choose; the model, its sampling and its limits come from the configuration.
PASSED_ON = ("messages", "tools", "tool_choice", "parallel_tool_calls", "response_format", "stop", "stream")


@dataclass(frozen=True)
class Budget:
    """What one session may use: model calls, prompt and completion tokens together, seconds."""

    calls: int
    tokens: int
    wall_s: float


class Upstream(Exception):
    """The endpoint gave no usable answer. status: what the agent is told."""

    def __init__(self, detail: str, status: int = 502, context_overflow: bool = False):
        super().__init__(detail)
        self.status, self.context_overflow = status, context_overflow


@dataclass
class Session:
    """One rollout's way to its model, and what is known of it.

    limit: the budget that ended it (`turn_limit`, `token_limit`, `time_limit`), null if none did. failure: `model_api` if a call got no
    answer in spite of all tries. last: the last chat.completion, checked.
    """

    socket: Path
    token: str
    budget: Budget
    seed: int
    capture: Capture
    started: float = field(default_factory=time.monotonic)
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    limit: str | None = None
    failure: str | None = None
    detail: str = ""
    last: dict | None = None

    def exceeded(self) -> str | None:
        """The budget that allows no further call, if any."""
        if self.calls >= self.budget.calls:
            return "turn_limit"
        if self.tokens_in + self.tokens_out >= self.budget.tokens:
            return "token_limit"
        if time.monotonic() - self.started >= self.budget.wall_s:
            return "time_limit"
        return None


def _error(status: int, message: str, kind: str, code: str | None = None) -> web.Response:
    return web.json_response({"error": {"message": message, "type": kind, "param": None, "code": code}}, status=status)


def outgoing(body: dict, model: Model, seed: int, tokens_left: int, dropped: frozenset[str] = frozenset()) -> dict:
    """The request that goes to the endpoint. dropped: parameters it has refused."""
    request = {key: body[key] for key in PASSED_ON if body.get(key) is not None}
    most = max(1, min(model.max_tokens, tokens_left))
    request |= {"model": model.model, "seed": seed, "max_tokens": most}
    if model.temperature is not None:
        request["temperature"] = model.temperature
    if request.get("stream"):
        request["stream_options"] = {"include_usage": True}
    if "max_tokens" in dropped:
        request["max_completion_tokens"] = request.pop("max_tokens")
    return {key: value for key, value in (request | model.extra_body).items() if key not in dropped}


class Proxy:
    """All sessions of one job with one model: `async with Proxy(name, model, base_url, spend, stage) as proxy`.

    name: entry of `models:`. base_url: where it answers (`clawgym.client.endpoints.serve`).
    Raises UserError if the key is not set. fatal: what must stop the whole job (spend limit, refused key, full disk), null if nothing.
    """

    def __init__(self, name: str, model: Model, base_url: str, spend: Spend, stage: str):
        self.name, self.model, self.base_url, self.spend, self.stage = name, model, base_url.rstrip("/"), spend, stage
        self.fatal: UserError | None = None
        self.dropped: frozenset[str] = frozenset()
        self.slots = asyncio.Semaphore(model.concurrency)
        self.key = os.environ.get(model.api_key_env, "").strip() if model.api_key_env else "none"
        if not self.key:
            raise UserError(
                f"models.{name}: the environment variable {model.api_key_env} is not set; "
                f"export it with the key for {model.base_url}, or point models.{name} at another endpoint"
            )

    async def __aenter__(self) -> "Proxy":
        self.store = Store(self.spend.cache)
        timeout = aiohttp.ClientTimeout(total=self.model.timeout_s)
        # Connections are not kept: an endpoint that closed an idle one would look like a failure.
        connector = aiohttp.TCPConnector(limit=0, force_close=True)
        self.http = aiohttp.ClientSession(connector=connector, timeout=timeout, trust_env=not is_local(self.base_url))
        return self

    async def __aexit__(self, *failure: Any) -> None:
        await self.http.close()
        self.store.close()

    @asynccontextmanager
    async def session(self, socket: Path, capture: Path, budget: Budget, seed: int, provenance: dict) -> AsyncIterator[Session]:
        """Serve one rollout on the Unix socket `socket` while the context is open, recording to `capture`."""
        session = Session(socket, secrets.token_hex(16), budget, seed, Capture(capture, provenance))
        app = web.Application(client_max_size=MAX_BODY)

        async def chat(request: web.Request) -> web.StreamResponse:
            return await self._chat(session, request)

        async def models(request: web.Request) -> web.StreamResponse:
            return await self._models(session, request)

        app.router.add_post("/v1/chat/completions", chat)
        app.router.add_get("/v1/models", models)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=1)
        await runner.setup()
        try:
            await web.UnixSite(runner, str(socket)).start()
            socket.chmod(0o600)
            yield session
        finally:
            await runner.cleanup()
            socket.unlink(missing_ok=True)
            wall_s = round(time.monotonic() - session.started, 3)
            session.capture.write(
                {
                    "kind": "end",
                    "calls": session.calls,
                    "limit": session.limit,
                    "failure": session.failure,
                    "detail": session.detail,
                    "wall_s": wall_s,
                }
            )
            session.capture.close()

    def _authorised(self, session: Session, request: web.Request) -> bool:
        return hmac.compare_digest(request.headers.get("Authorization", "").encode(), f"Bearer {session.token}".encode())

    async def _models(self, session: Session, request: web.Request) -> web.Response:
        if not self._authorised(session, request):
            return _error(401, "unknown session token", "authentication_error")
        listed = {"id": self.name, "object": "model", "created": 0, "owned_by": "clawgym"}
        return web.json_response({"object": "list", "data": [listed]})

    async def _chat(self, session: Session, request: web.Request) -> web.StreamResponse:
        def refuse(status: int, message: str, kind: str, code: str | None = None, body: Any = None) -> web.Response:
            session.capture.write({"kind": "refused", "status": status, "error": message, "request": body})
            return _error(status, message, kind, code)

        if not self._authorised(session, request):
            return refuse(401, "unknown session token", "authentication_error")
        try:
            raw = await request.read()
            body = json.loads(raw)
            messages = body["messages"]
            if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages) or not messages:
                raise ValueError("messages must be a list of objects")
        except web.HTTPRequestEntityTooLarge:
            return refuse(413, f"the request has more than {MAX_BODY} bytes", "invalid_request_error")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            return refuse(400, f"not a chat completion request: {type(error).__name__}: {error}"[:300], "invalid_request_error")
        if limit := session.exceeded():
            session.limit = session.limit or limit
            return refuse(403, f"the budget of this session is used up ({limit})", "budget_exceeded", limit, body)
        if self.fatal:
            return refuse(403, "the job is being stopped", "budget_exceeded", "job_stopped", body)
        try:
            respect_limit(self.store, self.spend, self.model)
        except UserError as error:
            self.fatal = error
            return refuse(403, "the spend limit is reached", "budget_exceeded", "spend_limit", body)
        index, session.calls = session.calls, session.calls + 1
        return await self._record(session, request, body, index)

    async def _record(self, session: Session, request: web.Request, body: dict, index: int) -> web.StreamResponse:
        """Make one call and record it, whatever becomes of it."""
        record = {"kind": "call", "index": index, "request": body, "response": None, "status": 0, "error": None}
        record |= {"started": time.time(), "wall_s": 0.0, "tries": 0}
        clock = time.monotonic()
        try:
            async with self.slots:
                completion, response = await self._answer(session, request, body, record)
            asked, said = usage_of(completion, body)
            session.tokens_in += asked
            session.tokens_out += said
            dollars = cost(self.model, asked, said)
            session.cost_usd += dollars
            self._count(calls=1, tokens_in=asked, tokens_out=said, usd=dollars, retries=record["tries"] - 1)
            session.last = completion
            record |= {"response": completion, "status": 200}
            return response
        except Upstream as error:
            record |= {"status": error.status, "error": str(error)}
            self._count(failures=1, retries=max(0, record["tries"] - 1))
            if error.context_overflow:
                session.limit = session.limit or "token_limit"
            else:
                session.failure, session.detail = "model_api", str(error)
            return _error(error.status, str(error), "upstream_error", "token_limit" if error.context_overflow else None)
        except asyncio.CancelledError:
            record |= {"error": "the agent hung up"}
            raise
        except ConnectionError as error:
            record |= {"error": f"the agent hung up: {error}"}
            return web.Response(status=499)
        finally:
            record["wall_s"] = round(time.monotonic() - clock, 4)
            session.capture.write(record)

    def _count(self, **counts: float) -> None:
        """Add to the ledger. Where it cannot be written, the job stops, since the spend limit would not hold."""
        try:
            self.store.record_usage(self.stage, self.name, self.model.model, **counts)
        except UserError as error:
            self.fatal = error

    async def _answer(self, session: Session, request: web.Request, body: dict, record: dict) -> tuple[dict, web.StreamResponse]:
        """The whole completion and what the agent gets, after as many tries as the entry allows. Raises Upstream."""
        problem = Upstream("no try was made")
        for attempt in range(self.model.retries + 1):
            record["tries"] = attempt + 1
            wait: float | None = None
            try:
                left = session.budget.tokens - session.tokens_in - session.tokens_out
                while True:
                    sent = outgoing(body, self.model, session.seed, left, self.dropped)
                    headers = {"Authorization": f"Bearer {self.key}"}
                    async with self.http.post(f"{self.base_url}/chat/completions", json=sent, headers=headers) as reply:
                        if reply.status == 200 and sent.get("stream"):
                            return await self._streamed(request, reply)
                        text = await reply.text(errors="replace")
                        if reply.status == 200:
                            completion = checked_completion(json.loads(text))
                            return completion, web.json_response(completion)
                        refused = _refused_parameter(text) - self.dropped if reply.status in (400, 422) else frozenset()
                        if refused:
                            self.dropped |= refused
                            continue
                        problem, wait = self._problem(reply.status, text), retry_after(reply.headers)
                        if reply.status < 500 and reply.status not in RETRIED_4XX:
                            raise problem
                    break
            except aiohttp.ClientError as error:
                problem = Upstream(self._said(f"{type(error).__name__}: {error}"))
            except (ValueError, RecursionError) as error:
                problem = Upstream(self._said(f"not a chat completion: {error}"))
            except TimeoutError:
                problem = Upstream(f"no answer within {self.model.timeout_s:g} s", 504)
            if attempt < self.model.retries:
                pause = FIRST_PAUSE_S * 2**attempt * (0.5 + random.random()) if wait is None else wait
                await asyncio.sleep(min(max(pause, 0.0), LONGEST_PAUSE_S))
        raise problem

    def _said(self, text: str) -> str:
        """What the endpoint said, fit for the agent, the capture and the log: some gateways repeat the key they refuse."""
        return (text.replace(self.key, f"[{self.model.api_key_env}]") if self.model.api_key_env else text)[:500]

    def _problem(self, status: int, text: str) -> Upstream:
        text = self._said(text)
        if status in (401, 403, 404):
            what = "access refused; check the key and its rights" if status != 404 else "not found; correct base_url or model"
            self.fatal = UserError(f"models.{self.name}: {self.model.base_url}: {what} ({status}: {text[:200]!r})")
        lower = text.lower()
        overflow = status == 400 and "context" in lower and ("length" in lower or "window" in lower or "maximum" in lower)
        return Upstream(f"{status}: {text}", 400 if overflow else 502, overflow)

    async def _streamed(self, request: web.Request, reply: aiohttp.ClientResponse) -> tuple[dict, web.StreamResponse]:
        """Pass a stream on as it comes and put it together. Before its first event it can be tried again, after it no more."""
        assembly, response = Assembly(), web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        try:
            async for line in _events(reply):
                if line != b"[DONE]":
                    chunk = json.loads(line)
                    if not isinstance(chunk, dict) or "error" in chunk:
                        raise ValueError(f"error in the stream: {line[:300]!r}")
                    assembly.add(chunk)
                if not response.prepared:
                    await response.prepare(request)
                await response.write(b"data: " + line + b"\n\n")
            if not assembly.complete:
                raise ValueError("the stream ended without a finish_reason")
            completion = checked_completion(assembly.completion())
        except (aiohttp.ClientError, ValueError, RecursionError, TimeoutError) as error:
            if response.prepared:
                if request.transport is not None:
                    request.transport.close()  # the agent must not take half an answer for a whole one
                raise Upstream(self._said(f"the stream broke off: {type(error).__name__}: {error}")) from None
            raise
        await response.write_eof()
        return completion, response


def _refused_parameter(text: str) -> frozenset[str]:
    """Parameters of ours that an error message says the endpoint does not take."""
    if "max_completion_tokens" in text:
        return frozenset({"max_tokens"})
    return frozenset(name for name in ("seed", "stream_options", "temperature") if name in text)


async def _events(reply: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """The data of each server-sent event, lines of any length."""
    pending = b""
    async for data in reply.content.iter_any():
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                yield line[5:].strip()
    if pending.startswith(b"data:"):
        yield pending[5:].strip()
