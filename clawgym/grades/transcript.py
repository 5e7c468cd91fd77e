"""The conversation of a rollout, from its capture: as OpenAI messages, and as the events that graders of the published form read."""

import json
from typing import Any

Message = dict[str, Any]


def messages(records: list[dict], instruction: str) -> list[Message]:
    """The messages of the task itself, from the user message that holds the instruction to the last answer.

    records: of a capture. Worked examples and the system prompt before the task are left out, and so is whatever failed.
    """
    calls = [record for record in records if record.get("kind") == "call"]
    if not calls:
        return [{"role": "user", "content": instruction}]
    last = calls[-1]
    whole = [message for message in last["request"]["messages"] if isinstance(message, dict)]
    if last["response"]:
        whole = [*whole, last["response"]["choices"][0]["message"]]
    starts = [i for i, message in enumerate(whole) if message.get("role") == "user" and instruction in text(message)]
    return whole[starts[-1] :] if starts else [m for m in whole if m.get("role") not in ("system", "developer")]


def text(message: Message) -> str:
    """The text of a message, whose content may be a string, a list of parts or null."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def events(conversation: list[Message]) -> list[dict]:
    """OpenAI messages as `{"type": "message", "message": {"role", "content": [...]}}`.

    Roles: user, assistant (parts of type text and toolCall, its arguments under both names in use), toolResult. Messages that are events
    already are kept.
    """
    listed, names = [], {}
    for message in conversation:
        if message.get("type") == "message":
            listed.append(message)
            continue
        role = message.get("role")
        parts: list[dict] = [{"type": "text", "text": text(message)}] if text(message) else []
        entry: dict[str, Any] = {"role": role, "content": parts}
        if role == "assistant":
            for call in message.get("tool_calls") or []:
                function = call.get("function") or {}
                names[call.get("id")] = function.get("name")
                arguments = _arguments(function.get("arguments"))
                parts.append(
                    {"type": "toolCall", "id": call.get("id"), "name": function.get("name"), "arguments": arguments, "params": arguments}
                )
        elif role == "tool":
            answer = text(message)
            identity = message.get("tool_call_id")
            entry |= {
                "role": "toolResult",
                "toolCallId": identity,
                "toolName": names.get(identity),
                "isError": answer.startswith("error:"),
            }
        elif role != "user":
            continue
        listed.append({"type": "message", "message": entry})
    return listed


def _arguments(raw: Any) -> Any:
    if not isinstance(raw, str):
        return raw or {}
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return {"raw": raw}
