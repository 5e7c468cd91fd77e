"""Captures: every model call of a rollout as it happened, one zstd frame per record, so that a crash loses only the call in flight."""

import json
from pathlib import Path
from typing import Any

import zstandard

from clawgym.client.client import arguments_text, join_parts
from clawgym.tables import code_version


class Capture:
    """An open capture file; `clawgym.tables.read_jsonl` reads it, finished or not.

    Records: `{"kind": "call", "index", "request" (as the agent sent it), "response" (the chat.completion as `checked_completion` gives
    it, or null), "status", "error" (null if answered), "started" (unix seconds), "wall_s", "tries"}`, `{"kind": "refused", "status",
    "error", "request"}` for requests that never went out, and last `{"kind": "end", …}`.
    """

    def __init__(self, path: Path, provenance: dict[str, Any]):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file = open(path, "wb")
        self.compressor = zstandard.ZstdCompressor(level=3)
        self.write({"provenance": {"code": code_version()} | provenance})

    def write(self, record: dict) -> None:
        # A lone surrogate in what an agent sent cannot be encoded; it is kept as its escape.
        line = json.dumps(record, ensure_ascii=False).encode("utf-8", errors="backslashreplace") + b"\n"
        self.file.write(self.compressor.compress(line))
        self.file.flush()

    def close(self) -> None:
        self.file.close()


class Assembly:
    """A chat.completion put together from its streamed chunks."""

    def __init__(self) -> None:
        self.head: dict[str, Any] = {}
        self.message: dict[str, Any] = {"role": "assistant", "content": None}
        self.calls: dict[int, dict] = {}
        self.finish_reason: str | None = None
        self.usage: dict | None = None

    def add(self, chunk: dict) -> None:
        """Raises ValueError if it is not a chunk of a chat.completion."""
        try:
            self._add(chunk)
        except (AttributeError, TypeError) as error:
            raise ValueError(f"{error}, in {str(chunk)[:300]}") from None

    def _add(self, chunk: dict) -> None:
        self.head = {key: chunk[key] for key in ("id", "created", "model") if chunk.get(key) is not None} | self.head
        self.usage = chunk.get("usage") or self.usage
        for choice in chunk.get("choices") or []:
            if choice.get("index", 0) != 0:
                continue
            delta = choice.get("delta") or {}
            for key, value in delta.items():
                value = join_parts(value) if key == "content" else value
                if key == "tool_calls":
                    for call in value or []:
                        self._call(call)
                elif key != "role" and isinstance(value, str):
                    self.message[key] = (self.message.get(key) or "") + value
                elif key == "content" and value is not None:
                    raise TypeError("content is not text")
            self.finish_reason = choice.get("finish_reason") or self.finish_reason

    def _call(self, part: dict) -> None:
        index = part.get("index")
        if not isinstance(index, int):  # some servers leave it out: an id begins the next call, what has none continues the last
            index = len(self.calls) if part.get("id") or not self.calls else len(self.calls) - 1
        call = self.calls.setdefault(index, {"id": None, "type": "function", "function": {"name": "", "arguments": ""}})
        call["id"] = part.get("id") or call["id"]
        function = part.get("function") or {}
        call["function"]["name"] += function.get("name") or ""
        call["function"]["arguments"] += arguments_text(function.get("arguments")) or ""

    @property
    def complete(self) -> bool:
        return self.finish_reason is not None

    def completion(self) -> dict:
        message = dict(self.message)
        if self.calls:
            message["tool_calls"] = [self.calls[index] for index in sorted(self.calls)]
        choice = {"index": 0, "message": message, "finish_reason": self.finish_reason}
        return {**self.head, "object": "chat.completion", "choices": [choice]} | ({"usage": self.usage} if self.usage else {})
