"""Reading messages: their text, the machine-readable request at the end of a prompt, token counts, and draws that follow from a request."""

import hashlib
import json
import random
import re
from typing import Any


def text_of(message: dict[str, Any]) -> str:
    """Text of a message; of a list of content parts, the text parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content or ""


def block_of(messages: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The JSON object in the last fenced ```json block of the last user message that has a readable one with a `request`."""
    for message in reversed(messages):
        if message["role"] == "user":
            text = text_of(message)
            for start in reversed([match.end() for match in re.finditer(r"^```json[ \t]*\n", text, re.M)]):
                try:  # decoded from its start, so that a fence inside a JSON string does not end the block
                    value, _ = json.JSONDecoder().raw_decode(text[start:].lstrip())
                except ValueError:
                    continue
                if isinstance(value, dict) and isinstance(value.get("request"), str):
                    return value
    return None


def tokens(text: str) -> int:
    """Words and signs: what the stand-in bills. No tokenizer is involved, real counts differ."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def draws(*parts: Any) -> random.Random:
    """Random draws that depend on the given parts alone; of a request dict, on `seed` and `temperature`."""
    plain = [{k: part.get(k) for k in ("seed", "temperature")} if isinstance(part, dict) else part for part in parts]
    digest = hashlib.sha256(json.dumps(plain, ensure_ascii=False, sort_keys=True).encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))
