"""The client of every model role: retries, bounded concurrency, structured output with one repair round, cache, ledger, spend limit.

What is asked goes out once per (role, endpoint, model, messages, sampling, schema, tools, sample): a rerun finds its answers in the cache.
A question that got no usable answer raises `Unanswered` with a typed kind; what a user must put right raises UserError.
"""

import asyncio
import email.utils
import json
import math
import os
import random
import re
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, TypeVar

import openai
from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from clawgym.client.endpoints import identity, is_local, serve
from clawgym.client.store import Store, Usage
from clawgym.config import Model, Spend
from clawgym.errors import UserError
from clawgym.tables import encodable, fingerprint

T = TypeVar("T", bound=BaseModel)
Row = TypeVar("Row")
Result = TypeVar("Result")
Message = dict[str, Any]

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 120.0
PROGRESS_S = 5.0
CHARS_PER_TOKEN = 3
MAX_TOKENS = 10**9  # of one call; an endpoint that reports more is not believed
MAX_UNANSWERED = 0.2
REPAIR = "Answer the same request again with the whole corrected JSON object, nothing else."
INFRASTRUCTURE = ("model_api", "timeout")
UNUSABLE = ("invalid_output", "empty", "refused")
FEWEST_TO_JUDGE = 5
RETRIED_4XX = (408, 409, 425, 429)
OUTPUT_MODES = ("json_schema", "json_object", "text")


class Unanswered(Exception):
    """A question without a usable answer.

    kind: `refused` (by the model or a content filter), `empty`, `invalid_output` (after the repair round), `timeout`, `model_api`
    (anything else the endpoint said). The last two are infrastructure: asked again, they may well be answered.
    """

    def __init__(self, kind: str, detail: str):
        super().__init__(f"{kind}: {detail}")
        self.kind, self.detail = kind, detail


@dataclass(frozen=True)
class Completion:
    """One answer: `message` as `checked_completion` gives it, its text, why it ended, its tokens, and whether it came from the cache."""

    message: Message
    finish_reason: str
    tokens_in: int
    tokens_out: int
    cached: bool = False

    @property
    def text(self) -> str:
        return self.message.get("content") or ""

    @property
    def tool_calls(self) -> list[dict]:
        return self.message.get("tool_calls") or []


def cost(model: Model, tokens_in: int, tokens_out: int) -> float:
    """US dollars of one call at the prices of its `models:` entry."""
    return (tokens_in * model.price_in + tokens_out * model.price_out) / 1e6


def respect_limit(store: Store, spend: Spend, model: Model) -> None:
    """Before a call to a model with a price: raises UserError if the limit is reached. Calls in flight may still go over it."""
    if (model.price_in or model.price_out) and (spent := store.spent()) >= spend.limit_usd:
        raise UserError(
            f"spend.limit_usd: {spent:.4f} of {spend.limit_usd:.2f} US dollars are spent; raise spend.limit_usd and run the "
            f"same command again: every answer so far is kept in {spend.cache}"
        )


def retry_after(headers: Any) -> float | None:
    """Seconds that a reply asks to wait (`retry-after-ms`, or `retry-after` as seconds or as a date); None if it names no finite time."""
    seconds = math.nan
    try:
        if value := headers.get("retry-after-ms"):
            seconds = float(value) / 1000
        elif value := headers.get("retry-after"):
            dated = not re.fullmatch(r"[\d.]+", value)
            seconds = email.utils.mktime_tz(email.utils.parsedate_tz(value)) - time.time() if dated else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) else None


def extract_json(text: str) -> Any:
    """The JSON value of an answer that may wrap it in a fence, in prose or behind a reasoning block.

    Raises ValueError if there is none.
    """
    text = re.sub(r"^\s*<think>.*?</think>", "", text, flags=re.DOTALL).strip()
    fenced = re.findall(r"^```(?:json)?\s*\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    for candidate in (text, *fenced):
        try:
            return json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
    decoder = json.JSONDecoder(strict=False)
    for start in (match.start() for match in re.finditer(r"[{\[]", text)):
        try:
            value, _ = decoder.raw_decode(text, start)
        except ValueError:
            continue
        except RecursionError:
            break  # thousands of brackets: each of them would be tried as deeply again
        if isinstance(value, dict) and value:
            return value
    raise ValueError("the answer is not a JSON object")


def strict_schema(model: type[BaseModel]) -> dict:
    """JSON schema of a Pydantic model in the strict form of structured outputs: closed objects, every key required, no defaults."""

    def close(node: Any) -> Any:
        if isinstance(node, list):
            return [close(item) for item in node]
        if not isinstance(node, dict):
            return node
        node = {key: close(value) for key, value in node.items() if key != "default" or isinstance(value, dict)}
        if node.get("type") == "object" and "properties" in node:
            node |= {"additionalProperties": False, "required": list(node["properties"])}
        return node

    return close(model.model_json_schema())


def _problem(error: Exception) -> str:
    """What is wrong with an answer, in the words the model is shown: one line per place, nothing of the answer repeated."""
    if isinstance(error, ValidationError):
        return "\n".join(f"- {'.'.join(map(str, e['loc'])) or 'answer'}: {e['msg']}" for e in error.errors()[:12])
    return f"- {error}"


@dataclass
class _Endpoint:
    """What a job learnt about one `models:` entry."""

    model: Model
    identity: str
    slots: asyncio.Semaphore
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    api: openai.AsyncOpenAI | None = None
    output_mode: int = 0  # index into OUTPUT_MODES: the first that the endpoint has not refused
    tokens_key: str = "max_tokens"
    answered: bool = False  # the key is right, then: a later 403 is about what was asked (some gateways moderate so)

    def said(self, text: object) -> str:
        """What the endpoint or the library said, fit for logs and tables: some gateways repeat the key they refuse."""
        key = self.api.api_key if self.api and self.model.api_key_env else ""
        return str(text).replace(key, f"[{self.model.api_key_env}]")[:1000] if key else str(text)[:1000]


class Client:
    """Ask the models of one stage: `async with Client(settings.models(), settings["spend"], "tasks") as client`.

    models: role → entry of `models:`. Endpoints are opened when the first question really has to go out.
    """

    def __init__(self, models: dict[str, Model], spend: Spend, stage: str):
        self.models, self.spend, self.stage = models, spend, stage
        self.usage: dict[str, Usage] = {role: Usage() for role in models}
        self._done = self._total = 0

    async def __aenter__(self) -> "Client":
        self.store = Store(self.spend.cache)
        self._stack = AsyncExitStack()
        self._urls: dict[tuple[str, str], str] = {}
        self._opening = asyncio.Lock()
        self._endpoints = {role: _Endpoint(m, identity(m), asyncio.Semaphore(m.concurrency)) for role, m in self.models.items()}
        return self

    async def __aexit__(self, *failure: Any) -> None:
        await self._stack.aclose()
        self.store.close()

    # -- asking ---------------------------------------------------------------------------------------------------------------

    async def chat(self, role: str, messages: list[Message], *, sample: int = 0, tools: list[dict] | None = None) -> Completion:
        """One answer of `role`. sample: index of the answer where several to the same question are wanted.

        Raises Unanswered (kinds refused, empty, timeout, model_api) and UserError (key, endpoint, spend limit).
        """
        completion = await self._ask(role, messages, sample=sample, tools=tools)
        self._raise_if_refused(role, completion)
        return completion

    async def structured(
        self, role: str, messages: list[Message], answer: type[T], *, sample: int = 0, check: Callable[[T], None] | None = None
    ) -> T:
        """One answer of `role` as a value of the Pydantic model `answer`.

        An answer that does not validate, or for which `check` raises ValueError, goes back once with what is wrong with it.
        Raises Unanswered (also `invalid_output`) and UserError.
        """
        schema = strict_schema(answer)
        problem: Exception | None = None
        for _ in range(2):
            completion = await self._ask(role, messages, sample=sample, schema=schema)
            try:
                self._raise_if_refused(role, completion, empty_is_failure=False)
                if completion.finish_reason == "length":
                    raise ValueError("the answer was cut off at the token limit; answer more briefly")
                value = answer.model_validate(extract_json(completion.text))
                if check:
                    check(value)
                return value
            except ValueError as error:  # pydantic's ValidationError is one
                problem = error
            wrong = f"That answer cannot be used:\n{_problem(problem)}\n{REPAIR}"
            messages = [*messages, {"role": "assistant", "content": completion.text or "(nothing)"}, {"role": "user", "content": wrong}]
        self._count(role, failures=1)
        if not completion.text.strip():
            raise Unanswered("empty", _problem(problem)[:1000])
        raise Unanswered("invalid_output", f"{_problem(problem)[:800].removeprefix('- ')}; it answered {completion.text[:200]!r}")

    async def map(self, ask: Callable[[Row], Awaitable[Result]], rows: Iterable[Row]) -> list[Result]:
        """`ask` of every row, in the order of the rows, with a progress line every few seconds.

        As many rows are in work as the models' concurrency allows. After the first exception no further row is taken up; those in work
        are finished, because their answers are being paid for, and then it is raised.
        """
        rows = list(rows)
        results: list[Any] = [None] * len(rows)
        self._done, self._total = 0, len(rows)
        waiting = iter(enumerate(rows))
        failures: list[Exception] = []

        async def work() -> None:
            for index, row in waiting:
                try:
                    results[index] = await ask(row)
                except Exception as error:
                    failures.append(error)
                if failures:
                    return
                self._done += 1

        width = min(len(rows), 2 * max((m.concurrency for m in self.models.values()), default=1))
        workers = [asyncio.create_task(work()) for _ in range(width)]
        async with self._progress():
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()  # only if this call was cancelled itself; otherwise they are done
        if failures:
            raise failures[0]
        return results

    def require_answers(self, failures: Iterable[tuple[str, str]], asked: int) -> None:
        """Fail the job if more than a fifth of `asked` records got no answer for reasons outside the model (kind, detail of each failure),
        or if a model gave no usable answer at all: a run on nothing would only look like one.

        What was answered is in the cache, so the next run only asks for the rest.
        Raises UserError.
        """
        failures = list(failures)
        unusable = [f"{kind}: {detail}" for kind, detail in failures if kind in UNUSABLE]
        if asked >= FEWEST_TO_JUDGE and len(unusable) == asked:
            raise UserError(
                f"{self.stage}: none of {asked} records got a usable answer ({unusable[-1][:400]}); "
                "point the role under models: at a model that follows the prompts in config/prompts"
            )
        lost = [detail for kind, detail in failures if kind in INFRASTRUCTURE]
        if lost and len(lost) > MAX_UNANSWERED * asked:
            raise UserError(
                f"{self.stage}: {len(lost)} of {asked} records got no answer ({lost[-1][:200]}); "
                "see to the endpoint and run again: the answers received are kept"
            )

    # -- one question -----------------------------------------------------------------------------------------------------------

    def _count(self, role: str, **counts: float) -> None:
        self.store.record_usage(self.stage, role, self.models[role].model, **counts)
        for name, value in counts.items():
            setattr(self.usage[role], name, getattr(self.usage[role], name) + value)

    def _raise_if_refused(self, role: str, completion: Completion, empty_is_failure: bool = True) -> None:
        refusal = completion.message.get("refusal")
        kind, detail = None, ""
        if refusal or completion.finish_reason == "content_filter":
            kind, detail = "refused", str(refusal or "content filter")
        elif empty_is_failure and not completion.text.strip() and not completion.tool_calls:
            kind, detail = "empty", f"finish_reason {completion.finish_reason}"
        if kind:
            self._count(role, failures=1)
            raise Unanswered(kind, detail)

    async def _ask(
        self, role: str, messages: list[Message], *, sample: int = 0, tools: list[dict] | None = None, schema: dict | None = None
    ) -> Completion:
        if role not in self._endpoints:
            raise UserError(f"models: expected an entry {role}, found {', '.join(self.models)}; add it")
        endpoint = self._endpoints[role]
        model = endpoint.model
        sampling = {"temperature": model.temperature, "max_tokens": model.max_tokens, "extra_body": model.extra_body}
        key = fingerprint([role, endpoint.identity, model.model, messages, sampling, schema, tools, sample])
        if (kept := self.store.get(key)) is not None:
            self._count(role, cache_hits=1)
            return Completion(**kept, cached=True)
        async with endpoint.slots:
            respect_limit(self.store, self.spend, model)
            completion = await self._send(role, endpoint, messages, tools, schema)
            self._count(
                role, calls=1, tokens_in=completion.tokens_in, tokens_out=completion.tokens_out,
                usd=cost(model, completion.tokens_in, completion.tokens_out),
            )  # fmt: skip
            if completion.text.strip() or completion.tool_calls:  # an empty answer may be a hiccup of the server
                kept = {name: getattr(completion, name) for name in ("message", "finish_reason", "tokens_in", "tokens_out")}
                self.store.put(key, role, model.model, kept)
        return completion

    async def _send(
        self, role: str, endpoint: _Endpoint, messages: list[Message], tools: list[dict] | None, schema: dict | None
    ) -> Completion:
        """The answer, after as many tries as the entry allows and, where the endpoint refuses a parameter, without that parameter."""
        api = await self._api(role, endpoint)
        mode, tokens_key = endpoint.output_mode, endpoint.tokens_key
        while True:
            request = _request(endpoint.model, messages, tools, schema, OUTPUT_MODES[mode], tokens_key)
            try:
                completion = await self._try_often(role, endpoint, api, request)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if tokens_key == "max_tokens" and "max_completion_tokens" in str(error):
                    tokens_key = "max_completion_tokens"
                elif schema is not None and mode + 1 < len(OUTPUT_MODES):
                    mode += 1
                else:
                    self._count(role, failures=1)
                    raise Unanswered("model_api", endpoint.said(f"{error.status_code} {error.message}")) from None
                continue
            endpoint.output_mode, endpoint.tokens_key = max(mode, endpoint.output_mode), tokens_key
            return completion

    async def _try_often(self, role: str, endpoint: _Endpoint, api: openai.AsyncOpenAI, request: dict) -> Completion:
        model = endpoint.model
        where = f"models.{role}: {model.base_url}"
        for attempt in range(model.retries + 1):
            wait: float | None = None
            try:
                async with asyncio.timeout(model.timeout_s):  # that of the library bounds each read, not the answer
                    reply = await api.chat.completions.with_raw_response.create(**request)
                completion = _completion(checked_completion(json.loads(reply.text)), request)
                endpoint.answered = True
                return completion
            except (openai.BadRequestError, openai.UnprocessableEntityError):
                raise
            except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
                if error.status_code == 403 and endpoint.answered:
                    failure = Unanswered("model_api", endpoint.said(f"403 {error.message}"))
                    break
                variable = model.api_key_env or "no key: set api_key_env"
                raise UserError(f"{where}: access refused ({error.status_code}); check the key ({variable}) and its rights") from None
            except openai.NotFoundError as error:
                said = endpoint.said(error.message)[:200]
                raise UserError(f"{where}: no model {model.model} (404: {said}); correct base_url or model") from None
            except (openai.APITimeoutError, TimeoutError):
                failure = Unanswered("timeout", f"no answer within {model.timeout_s:g} s")
            except openai.APIConnectionError as error:
                failure = Unanswered("unreachable", endpoint.said(error.__cause__ or error))
            except openai.APIStatusError as error:
                failure = Unanswered("model_api", endpoint.said(f"{error.status_code} {error.message}"))
                wait = retry_after(error.response.headers)
                if error.status_code < 500 and error.status_code not in RETRIED_4XX:
                    break
            except (openai.APIError, ValueError, RecursionError) as error:
                failure = Unanswered("model_api", endpoint.said(f"not a chat completion: {error}"))
            if attempt < model.retries:
                self._count(role, retries=1)
                pause = FIRST_PAUSE_S * 2**attempt * (0.5 + random.random()) if wait is None else wait + random.random() * 0.1
                await asyncio.sleep(min(max(pause, 0.0), LONGEST_PAUSE_S))
        self._count(role, failures=1)
        if failure.kind == "unreachable":
            raise UserError(
                f"{where}: no connection after {model.retries + 1} tries ({failure.detail[:200]}); check base_url and that the server runs"
            )
        raise failure

    async def _api(self, role: str, endpoint: _Endpoint) -> openai.AsyncOpenAI:
        """The API client of an endpoint, opened once; roles with the same endpoint share its server."""
        async with endpoint.lock:
            if endpoint.api is None:
                model = endpoint.model
                key = os.environ.get(model.api_key_env, "").strip() if model.api_key_env else "none"
                if not key:
                    raise UserError(
                        f"models.{role}: the environment variable {model.api_key_env} is not set; "
                        f"export it with the key for {model.base_url}, or point models.{role} at another endpoint"
                    )
                async with self._opening:
                    place = (model.base_url, model.model if model.base_url == "checkpoint" else "")
                    if place not in self._urls:
                        self._urls[place] = await self._stack.enter_async_context(serve(model))
                url = self._urls[place]
                http = openai.DefaultAsyncHttpx2Client(trust_env=not is_local(url))
                endpoint.api = openai.AsyncOpenAI(
                    base_url=url, api_key=key, timeout=model.timeout_s, max_retries=0, organization=None, project=None, http_client=http
                )
                self._stack.push_async_callback(endpoint.api.close)
            return endpoint.api

    # -- progress ---------------------------------------------------------------------------------------------------------------

    def progress_line(self) -> str:
        total = Usage()
        for usage in self.usage.values():
            for name in vars(total):
                setattr(total, name, getattr(total, name) + getattr(usage, name))
        return (
            f"{self.stage}: {self._done} of {self._total} records; {total.calls} calls, {total.cache_hits} from the cache, "
            f"{total.retries} retries, {total.failures} failures; {total.tokens_in + total.tokens_out} tokens, {total.usd:.4f} US dollars"
        )

    @asynccontextmanager
    async def _progress(self) -> AsyncIterator[None]:
        """A line every few seconds on stderr while the context is open, and one at its end; on a terminal one that renews itself."""

        async def tick(show: Callable[[str], Any]) -> None:
            while True:
                await asyncio.sleep(PROGRESS_S)
                show(self.progress_line())

        with ExitStack() as stack:
            show: Callable[[str], Any] = partial(print, file=sys.stderr, flush=True)
            if sys.stderr.isatty():
                from rich.console import Console

                show = stack.enter_context(Console(stderr=True).status(self.progress_line())).update
            ticker = asyncio.create_task(tick(show))
            try:
                yield
            finally:
                ticker.cancel()
        print(self.progress_line(), file=sys.stderr, flush=True)


def _request(
    model: Model, messages: list[Message], tools: list[dict] | None, schema: dict | None, mode: str, tokens_key: str
) -> dict[str, Any]:
    """Arguments of `chat.completions.create`. Where the endpoint does not take the schema itself, the system message carries it."""
    request: dict[str, Any] = {"model": model.model, "messages": messages, tokens_key: model.max_tokens}
    if model.temperature is not None:
        request["temperature"] = model.temperature
    if tools:
        request["tools"] = tools
    if model.extra_body:
        request["extra_body"] = model.extra_body
    if schema is not None:
        if mode == "json_schema":
            request["response_format"] = {"type": mode, "json_schema": {"name": "answer", "strict": True, "schema": schema}}
        else:
            wanted = f"Answer with one JSON object and nothing else. Its JSON schema:\n{json.dumps(schema, ensure_ascii=False)}"
            first = messages[0]
            if first["role"] == "system":
                request["messages"] = [first | {"content": f"{first['content']}\n\n{wanted}"}, *messages[1:]]
            else:
                request["messages"] = [{"role": "system", "content": wanted}, *messages]
            if mode == "json_object":
                request["response_format"] = {"type": mode}
    return request


def join_parts(content: Any) -> Any:
    """A list of text parts as one text; anything else as it is."""

    def is_text(part: Any) -> bool:
        return isinstance(part, dict) and part.get("type", "text") == "text" and isinstance(part.get("text"), str)

    return "".join(part["text"] for part in content) if isinstance(content, list) and all(map(is_text, content)) else content


def arguments_text(arguments: Any) -> Any:
    """An object of arguments as JSON text; anything else as it is."""
    return json.dumps(arguments, ensure_ascii=False) if isinstance(arguments, dict) else arguments


def _believable(usage: Any) -> dict | None:
    """The usage of a reply, or null if it is not two numbers of tokens."""
    counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")] if isinstance(usage, dict) else [None]
    return usage if all(type(count) is int and 0 <= count < MAX_TOKENS for count in counts) else None


class _Function(BaseModel, extra="allow"):
    name: str
    arguments: Annotated[str, BeforeValidator(lambda arguments: arguments_text({} if arguments is None else arguments))] = "{}"


class _ToolCall(BaseModel, extra="allow"):
    id: str | None = Field(None, coerce_numbers_to_str=True)
    function: _Function


class _Message(BaseModel, extra="allow"):
    content: Annotated[str | None, BeforeValidator(join_parts)] = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(BaseModel, extra="allow"):
    message: _Message
    finish_reason: str | None = None


class _Reply(BaseModel, extra="allow"):
    """What is read of a chat.completion; fields that nothing reads may be anything."""

    choices: list[_Choice] = Field(min_length=1)
    usage: Annotated[dict | None, BeforeValidator(_believable)] = None


def checked_completion(said: Any) -> dict[str, Any]:
    """A chat.completion, in one form: content is a text or null, arguments of tool calls are texts, usage is null unless it can be true.

    Raises ValueError if `said` is none (some gateways wrap errors in a 200).
    """
    try:
        whole = _Reply.model_validate(encodable(said)).model_dump(exclude_unset=True)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc'])) or 'answer'}: {first['msg']}, in {str(said)[:300]}") from None
    for choice in whole["choices"]:
        choice["message"]["role"] = "assistant"
    return whole


def usage_of(completion: dict, request: dict) -> tuple[int, int]:
    """(prompt, completion) tokens of a checked completion; estimated from the characters where the endpoint does not report them."""
    if usage := completion.get("usage"):
        return usage["prompt_tokens"], usage["completion_tokens"]
    asked, said = [request.get("messages"), request.get("tools")], completion["choices"][0]["message"]
    return len(json.dumps(asked)) // CHARS_PER_TOKEN, len(json.dumps(said)) // CHARS_PER_TOKEN


def _completion(reply: dict, request: dict) -> Completion:
    """The first choice of a checked completion."""
    choice, (tokens_in, tokens_out) = reply["choices"][0], usage_of(reply, request)
    message = {name: value for name, value in choice["message"].items() if value is not None}
    return Completion(message, choice.get("finish_reason") or "stop", tokens_in, tokens_out)
