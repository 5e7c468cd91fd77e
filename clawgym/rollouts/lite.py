"""The `lite` agent: ask the model, carry out its tool calls, until it answers without one. Standard library only; runs in the sandbox.

Its job comes as JSON on stdin: messages, tools (names), socket (the proxy's session, its only way out), token, model.
It decides nothing about how the rollout is judged: that follows from the proxy's records, the sandbox and the workspace.
Left out on purpose: planning, memory, compaction, streaming.
"""

import http.client
import json
import socket
import sys

from toolbox import Toolbox, parse, schemas

MAX_MALFORMED = 3  # answers in a row whose tool calls are all unusable; then the agent gives up


class Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=3600)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def ask(job, messages):
    """The assistant message of one completion, or null where the proxy says that it is over."""
    body = {"model": job["model"], "messages": messages, "tools": schemas(job["tools"])}
    connection = Connection(job["socket"])
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {job['token']}"}
    connection.request("POST", "/v1/chat/completions", json.dumps(body, ensure_ascii=False).encode(), headers)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    if response.status != 200:
        print(f"model call ended with {response.status}: {text[:500]!r}", file=sys.stderr)
        return None
    return json.loads(text)["choices"][0]["message"]


def sendable(call):
    """The call as the history repeats it. Servers read its arguments as a JSON object and fail on any other text, so that is wrapped."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        function = {"name": "unreadable", "arguments": json.dumps({"unreadable": str(call)})}
        call = {"id": None, "type": "function"}
    raw = function.get("arguments")
    try:
        value = json.loads(raw or "{}") if isinstance(raw, str | None) else raw
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        value, raw = {"unreadable": raw}, None
    arguments = raw if isinstance(raw, str) else json.dumps(value, ensure_ascii=False)
    return call | {"function": {"name": str(function.get("name")), "arguments": arguments}}


def main():
    job = json.load(sys.stdin)
    messages, toolbox, malformed = job["messages"], Toolbox("/workspace"), 0
    while (message := ask(job, messages)) is not None:
        calls = message.get("tool_calls") or []
        reply = {"role": "assistant", "content": message.get("content")}
        messages.append(reply | ({"tool_calls": [sendable(call) for call in calls]} if calls else {}))
        if not calls:
            break
        usable = False
        for index, call in enumerate(calls):
            name, arguments, problem = parse(call, job["tools"])
            usable = usable or problem is None
            answer = problem or toolbox.call(name, arguments)
            messages.append({"role": "tool", "tool_call_id": str(call.get("id") or index), "content": answer})
        malformed = 0 if usable else malformed + 1
        if malformed == MAX_MALFORMED:
            print(f"{MAX_MALFORMED} answers in a row with unusable tool calls", file=sys.stderr)
            break
    toolbox.close()


if __name__ == "__main__":
    main()
