"""The embedded stand-in as an OpenAI-compatible server: `/v1/chat/completions`, `/v1/models`, `/health`.

Its answers come from rules, not from a language model, and it says so wherever it names itself. It sees nothing but the HTTP request and
keeps nothing between requests, so the same request always gets the same answer. Left out on purpose: log probabilities, several
choices, images, and real token counts (words and signs are counted instead).
"""

import asyncio
import hashlib
import json
import time
from typing import Any

from aiohttp import web

from clawgym.offline.agents import Reply, act
from clawgym.offline.answers import CannotAnswer, answer
from clawgym.offline.texts import block_of, draws, text_of, tokens

OWNER = "clawgym rule-based stand-in, not a language model"
AGENTS = ("strong", "weak")
ROLES = ("author", "annotator", "solver", "judge")
MODELS = tuple(f"offline/{name}" for name in (*ROLES, *AGENTS))
CREATED = 1_750_000_000
CHUNK = 48


class BadRequest(Exception):
    """A request the protocol does not allow."""

    def __init__(self, message: str, param: str | None = None, status: int = 400, code: str | None = None):
        super().__init__(message)
        self.param, self.status, self.code = param, status, code


def _error(problem: BadRequest) -> web.Response:
    body = {"error": {"message": str(problem), "type": "invalid_request_error", "param": problem.param, "code": problem.code}}
    return web.json_response(body, status=problem.status)


def check(body: Any) -> dict[str, Any]:
    """The request, if it is one. Raises BadRequest with the offending parameter."""
    if not isinstance(body, dict):
        raise BadRequest("the body must be a JSON object")
    if body.get("model") not in MODELS:
        raise BadRequest(
            f"model {body.get('model')!r} does not exist here; use one of {', '.join(MODELS)}", "model", 404, "model_not_found"
        )
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadRequest("messages must be a list of at least one message", "messages")
    for i, message in enumerate(messages):
        if not isinstance(message, dict) or message.get("role") not in ("system", "developer", "user", "assistant", "tool"):
            raise BadRequest(
                f"messages[{i}] must be an object with a role: system, developer, user, assistant or tool", f"messages[{i}].role"
            )
        if not isinstance(message.get("content"), str | list | None):
            raise BadRequest(f"messages[{i}].content must be a text, a list of parts or null", f"messages[{i}].content")
        if message["role"] == "tool" and not isinstance(message.get("tool_call_id"), str):
            raise BadRequest(f"messages[{i}] needs the tool_call_id it answers", f"messages[{i}].tool_call_id")
        calls = message.get("tool_calls") or []
        if not isinstance(calls, list) or not all(
            isinstance(call, dict) and isinstance(call.get("function"), dict) and isinstance(call["function"].get("name"), str)
            and isinstance(call["function"].get("arguments"), str) for call in calls
        ):  # fmt: skip
            raise BadRequest(
                f"messages[{i}].tool_calls need function.name and function.arguments (a JSON text)", f"messages[{i}].tool_calls"
            )
    tools = body.get("tools") or []
    if not isinstance(tools, list) or not all(
        isinstance(tool, dict) and isinstance(tool.get("function"), dict) and isinstance(tool["function"].get("name"), str)
        for tool in tools
    ):
        raise BadRequest("tools must be a list of {type: function, function: {name, parameters}}", "tools")
    if body.get("n") not in (None, 1):
        raise BadRequest("only n = 1 is supported", "n")
    if not isinstance(body.get("stream"), bool | None):
        raise BadRequest("stream must be true or false", "stream")
    for name in ("max_tokens", "max_completion_tokens"):
        if (limit := body.get(name)) is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
            raise BadRequest(f"{name} must be a whole number of at least 1", name)
    temperature = body.get("temperature")
    if temperature is not None and (not isinstance(temperature, int | float) or not 0 <= temperature <= 2):
        raise BadRequest("temperature must be a number from 0 to 2", "temperature")
    return body


def reply_to(body: dict[str, Any]) -> Reply:
    """The stand-in's reply to a checked request; agents act through tools, all others answer the request block of the prompt."""
    name = body["model"].removeprefix("offline/")
    messages = body["messages"]
    tools = [] if body.get("tool_choice") == "none" else body.get("tools") or []
    if name in AGENTS and tools:
        return act(name, messages, tools, body)
    block = block_of(messages)
    if block is None:
        if name in AGENTS:
            return Reply("I cannot act: the request offers no tools.")
        return Reply("I cannot answer this: I am a rule-based stand-in and read only the fenced JSON request at the end of a prompt.")
    try:
        return Reply(json.dumps(answer(block, draws(name, [text_of(message) for message in messages], body)), ensure_ascii=False))
    except CannotAnswer as problem:
        return Reply(str(problem))


def _cut(text: str, limit: int) -> str:
    """The longest beginning with at most `limit` tokens."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens(text[:middle]) <= limit else (low, middle - 1)
    return text[:low]


def complete(body: dict[str, Any]) -> dict[str, Any]:
    """The `chat.completion` object for a checked request."""
    reply = reply_to(body)
    asked_for = {name: value for name, value in body.items() if not name.startswith("stream")}
    digest = hashlib.sha256(json.dumps(asked_for, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
    limit = body.get("max_completion_tokens") or body.get("max_tokens") or 1_000_000
    calls = [
        {
            "id": f"call_{digest[:12]}{i}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)},
        }
        for i, (name, arguments) in enumerate(reply.calls)
    ]
    text, spent = (
        reply.text,
        tokens(reply.text or "") + sum(tokens(call["function"]["name"] + call["function"]["arguments"]) for call in calls),
    )
    reason = "tool_calls" if calls else "stop"
    if spent > limit:  # a call that is cut in the middle cannot be made, so none is
        text, calls, spent, reason = _cut(text or "", limit), [], limit, "length"
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = calls
    asked = tokens(json.dumps(body["messages"], ensure_ascii=False)) + tokens(json.dumps(body.get("tools") or [], ensure_ascii=False))
    return {
        "id": f"chatcmpl-{digest[:24]}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": {"prompt_tokens": asked, "completion_tokens": spent, "total_tokens": asked + spent},
    }


def chunks(whole: dict[str, Any], include_usage: bool) -> list[dict[str, Any]]:
    """The same completion as `chat.completion.chunk` objects; with `include_usage`, a last one without choices carries the usage."""
    head = {key: whole[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    choice = whole["choices"][0]
    message = choice["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": "" if message["content"] is not None else None}]
    text = message["content"] or ""
    deltas += [{"content": text[i : i + CHUNK]} for i in range(0, len(text), CHUNK)]
    for index, call in enumerate(message.get("tool_calls", [])):
        arguments = call["function"]["arguments"]
        deltas.append({"tool_calls": [{"index": index, **call, "function": {"name": call["function"]["name"], "arguments": ""}}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": arguments[i : i + CHUNK]}}]} for i in range(0, len(arguments), CHUNK)
        ]
    usage = {"usage": None} if include_usage else {}
    out = [head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} | usage for delta in deltas]
    out.append(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]} | usage)
    if include_usage:
        out.append(head | {"choices": [], "usage": whole["usage"]})
    return out


async def _chat(request: web.Request) -> web.StreamResponse:
    try:
        try:
            body = check(json.loads(await request.text()))
        except (ValueError, UnicodeDecodeError):
            raise BadRequest("the body is not JSON") from None
    except BadRequest as problem:
        return _error(problem)
    whole = await asyncio.to_thread(complete, body)
    if not body.get("stream"):
        return web.json_response(whole)
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    for chunk in chunks(whole, bool((body.get("stream_options") or {}).get("include_usage"))):
        await response.write(f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode())
    await response.write(b"data: [DONE]\n\n")
    await response.write_eof()
    return response


async def _models(request: web.Request) -> web.Response:
    listed = [{"id": name, "object": "model", "created": CREATED, "owned_by": OWNER} for name in MODELS]
    return web.json_response({"object": "list", "data": listed})


async def _health(request: web.Request) -> web.Response:
    return web.json_response({"status": "ok", "served_by": OWNER})


def create_app() -> web.Application:
    """The aiohttp application; bodies up to 64 MiB, since a conversation may carry whole files."""
    app = web.Application(client_max_size=64 * 2**20)
    app.add_routes([web.post("/v1/chat/completions", _chat), web.get("/v1/models", _models), web.get("/health", _health)])
    return app
