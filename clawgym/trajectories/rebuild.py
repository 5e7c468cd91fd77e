"""From the proxy's record of a rollout back to one conversation.

Each request of a rollout repeats the conversation so far, so the requests are prefixes of one another and the last one holds all but
the last answer. What a harness sends back as the model's words can differ from them (trimmed text, reordered JSON); training needs the
words, so assistant messages are taken from the recorded responses and everything else from the requests.
"""

import json
from dataclasses import dataclass
from typing import Any


class Unusable(ValueError):
    """The capture is no whole conversation that could be trained on; the message says why."""


@dataclass(frozen=True)
class Conversation:
    """messages, tools: as in a chat request, arguments as JSON strings; tokens_out: completion tokens of all answers."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    tokens_out: int

    @property
    def answers(self) -> list[dict[str, Any]]:
        return [message for message in self.messages if message["role"] == "assistant"]

    @property
    def calls(self) -> list[dict[str, Any]]:
        return [call for answer in self.answers for call in answer.get("tool_calls", [])]


def text_of(content: Any) -> str:
    """Message content as text: null is empty, a list of parts is their texts.

    Raises Unusable for parts that are not text.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    parts = [part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None for part in content]
    if None in parts:
        raise Unusable("a message has parts that are not text")
    return "".join(parts)


def _call(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    arguments = function.get("arguments")
    arguments = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    try:
        valid = isinstance(json.loads(arguments or "{}"), dict)
    except (ValueError, RecursionError):
        valid = False
    if not valid:
        raise Unusable(f"a call of {function['name']} has arguments that are not a JSON object")
    return {"id": call.get("id") or "", "type": "function", "function": {"name": function["name"], "arguments": arguments or "{}"}}


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    """A message with the fields a chat template reads, content as text."""
    plain: dict[str, Any] = {"role": message["role"], "content": text_of(message.get("content"))}
    if message.get("tool_calls"):
        plain["tool_calls"] = [_call(call) for call in message["tool_calls"]]
    for name in ("tool_call_id", "name", "reasoning_content"):
        if message.get(name):
            plain[name] = message[name]
    return plain


def rebuild(records: list[dict[str, Any]]) -> Conversation:
    """The conversation of one capture.

    records: `{"kind": "call", "index", "request", "response", "status", …}` in any order; failed calls are passed over.
    Raises Unusable if no call succeeded, the model did not have the last word, or a request does not continue the one before it
    (the harness edited the history).
    """
    calls = sorted((r for r in records if r.get("kind") == "call" and r.get("status") == 200), key=lambda record: record["index"])
    if not calls:
        raise Unusable("no model call succeeded")
    messages: list[dict[str, Any]] = []
    sent: list[dict[str, Any]] = []
    tools, tokens_out = calls[0]["request"].get("tools") or [], 0
    for call in calls:
        request, response = call["request"], call["response"]
        if (request.get("tools") or []) != tools:
            raise Unusable("the offered tools changed during the rollout")
        now = request["messages"]
        if sent and (now[: len(sent)] != sent or len(now) <= len(sent) or now[len(sent)]["role"] != "assistant"):
            raise Unusable(f"request {call['index']} does not continue the one before it")
        messages += [_plain(message) for message in now[len(sent) + 1 if sent else 0 :]]
        answer = response["choices"][0]["message"]
        messages.append(_plain(answer | {"role": "assistant"}))
        sent = now
        tokens_out += (response.get("usage") or {}).get("completion_tokens") or 0
    if not messages[-1]["content"] and not messages[-1].get("tool_calls"):
        raise Unusable("the last answer is empty")
    return Conversation(messages, tools, tokens_out)
