"""Rule-based agents of two skill levels, `offline/strong` and `offline/weak`. They are not language models.

An agent knows only the messages of the request: it recognises the wording of a task family in the instruction, sees in the tool results
what it has read and done, and picks the next tool calls among the tools that the request offers. Nothing is kept between requests.
`weak` makes one of the mistakes agents make; which one follows from the instruction and the request's `seed` and `temperature`.
"""

import json
import random
import re
from dataclasses import dataclass, field
from typing import Any

from clawgym.offline.families import Family, Params, recognise
from clawgym.offline.texts import draws, text_of

Calls = list[tuple[str, dict[str, Any]]]

UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, IndexError, StopIteration)
_FAILED = re.compile(
    r"\s*(error\b|failed\b|failure\b|traceback|enoent|no such file|file not found|not found|cat: |ls: |permission denied|denied\b|"
    r"validation failed|\(?exit(ed)?( with)?( code| status)?:? *\(?[1-9]|\{\s*\"(error\"|status\": *\"(error|failed)))",
    re.I,
)


@dataclass(frozen=True)
class Reply:
    """What the agent answers: a text, or tool calls (name, arguments)."""

    text: str | None = None
    calls: Calls = field(default_factory=list)


@dataclass
class Seen:
    """What the tool results so far say."""

    files: dict[str, str | None] = field(default_factory=dict)
    """Path to content; None if reading failed."""
    listing: list[str] | None = None
    written: set[str] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)
    """Paths whose writing failed, once per try."""
    ran: bool | None = None
    """Did the program that does the whole task run? None: not tried."""
    last: str = ""
    turns: int = 0


class Tools:
    """The tools of the request by what they can do, with the argument names of their schemas."""

    def __init__(self, offered: list[dict[str, Any]]):
        self.arguments: dict[str, list[str]] = {}
        for tool in offered:
            function = tool["function"]
            properties = (function.get("parameters") or {}).get("properties") or {}
            self.arguments[function["name"]] = list(properties)

    def has(self, name: str) -> bool:
        return name in self.arguments

    def _named(self, tool: str, *candidates: str) -> str:
        return next((name for name in candidates if name in self.arguments[tool]), candidates[0])

    def read(self, path: str) -> Calls:
        if self.has("read"):
            return [("read", {self._named("read", "path", "file_path", "filename", "file"): path})]
        return self.run(f"cat {path}")

    def write(self, path: str, text: str) -> Calls:
        if self.has("write"):
            names = self._named("write", "path", "file_path", "filename", "file"), self._named("write", "content", "text", "contents")
            return [("write", {names[0]: path, names[1]: text})]
        folder = path.rpartition("/")[0]
        return self.run(
            (f"mkdir -p {folder}\n" if folder else "") + f"cat > {path} <<'END_OF_FILE'\n{text.removesuffix(chr(10))}\nEND_OF_FILE"
        )

    def run(self, command: str) -> Calls:
        """The command, or no call at all if no shell is offered."""
        return [("exec", {self._named("exec", "command", "cmd"): command})] if self.has("exec") else []

    def list(self, folder: str) -> Calls:
        return self.run(f"ls -1 {folder}") or self.read(folder)


def failed(result: str) -> bool:
    """Does a tool result report a failure? Judged by its beginning, since file contents may speak of errors too."""
    return bool(_FAILED.match(result))


def task_in(messages: list[dict[str, Any]]) -> tuple[int, tuple[Family, Params] | None]:
    """Index of the user message with the task and what it asks for.

    The last recognised wording counts: worked examples come before it, and some runtimes append user messages of their own.
    """
    users = [i for i, message in enumerate(messages) if message["role"] == "user"]
    for i in reversed(users):
        if found := recognise(text_of(messages[i])):
            return i, found
    return (users[0] if users else 0), None


def look_back(messages: list[dict[str, Any]]) -> Seen:
    """Read the tool calls after the task and their results. Ids are compared by their letters and digits: runtimes rewrite them."""
    seen, pending = Seen(), {}
    for message in messages:
        if message["role"] == "assistant":
            seen.turns += 1
            for call in message.get("tool_calls") or []:
                try:
                    arguments = json.loads(call["function"]["arguments"] or "{}")
                except ValueError:
                    arguments = {}
                pending[re.sub(r"\W|_", "", call.get("id") or "")] = (
                    call["function"]["name"],
                    arguments if isinstance(arguments, dict) else {},
                )
        elif message["role"] == "tool":
            key = re.sub(r"\W|_", "", message.get("tool_call_id") or "")
            name, arguments = pending.pop(key, None) or (pending.pop(next(iter(pending))) if pending else ("", {}))
            _note(seen, name, arguments, text_of(message))
    return seen


def _note(seen: Seen, name: str, arguments: dict[str, Any], result: str) -> None:
    seen.last = result
    values = [str(value) for value in arguments.values()]
    first = values[0] if values else ""
    if name == "exec":
        command = str(arguments.get("command", arguments.get("cmd", first)))
        if match := re.match(r"cat ([\w./-]+)$", command):
            seen.files[match[1]] = None if failed(result) else result
        elif command.startswith("ls -1 "):
            seen.listing = (
                [] if failed(result) else [line.strip() for line in result.splitlines() if re.fullmatch(r"[\w. -]+\.\w+", line.strip())]
            )
        elif match := re.search(r"cat > ([\w./-]+) <<", command):
            seen.refused.append(match[1]) if failed(result) else seen.written.add(match[1])
        elif command.startswith("python3"):
            seen.ran = "wrote " in result and not failed(result)
    elif name == "read":
        if "." in first.rsplit("/", 1)[-1]:
            seen.files[first] = None if failed(result) else result
        else:
            # some runtimes answer the names, some an error that carries them
            names = re.findall(r"^[\w-]+\.\w+$", result, re.M)
            seen.listing = names if names or failed(result) else re.findall(r"[\w-]+\.\w+", result)
    elif name == "write":
        path = str(next((arguments[k] for k in ("path", "file_path", "filename", "file") if k in arguments), first))
        seen.refused.append(path) if failed(result) else seen.written.add(path)


def act(skill: str, messages: list[dict[str, Any]], tools: list[dict[str, Any]], request: dict[str, Any]) -> Reply:
    """The next step of agent `strong` or `weak`."""
    hands = Tools(tools)
    at, found = task_in(messages)
    seen = look_back(messages[at + 1 :])
    rng = draws(skill, text_of(messages[at]) if messages else "", request)
    if found is None:
        return _unknown(text_of(messages[at]), hands, seen)
    if not (hands.has("write") or hands.has("exec")) or not (hands.has("read") or hands.has("exec")):
        return Reply("I cannot do this: it needs tools to read and write files.")
    family, params = found
    mistake = _mistake(family, rng) if skill == "weak" else None
    return _read(family, params, hands, seen, mistake) or _work(family, params, hands, seen, mistake, rng)


def _mistake(family: Family, rng: random.Random) -> str | None:
    """None, `slip` (one of the family's own mistakes) or one that any work allows."""
    roll = rng.random()
    if roll < family.weak_right:
        return None
    if roll < family.weak_right + (1 - family.weak_right) * family.weak_slips:
        return "slip"
    return rng.choice(("wrong_name", "gives_up", "chat_only", "prose"))


def _read(family: Family, params: Params, hands: Tools, seen: Seen, mistake: str | None) -> Reply | None:
    """Calls that fetch inputs, or a last word if they cannot be had; None once everything is known."""
    folder = family.folder_of(params)
    if folder and seen.listing is None:
        return Reply(calls=hands.list(folder))
    if folder and not seen.listing:
        return Reply(f"I cannot see any files in {folder}, so I stop here.")
    wanted = family.inputs(params) + ([f"{folder}/{name}" for name in seen.listing or []] if folder else [])
    if missing := [path for path in wanted if path not in seen.files]:
        return Reply(calls=[call for path in missing for call in hands.read(path)])
    optional = {params[name] for name in family.optional}
    gone = [path for path in wanted if seen.files[path] is None]
    if gone and (mistake or set(gone) - optional):
        return Reply(f"I stopped because {gone[0]} cannot be read: {seen.last.strip()[:80]}")
    return None


def _work(family: Family, params: Params, hands: Tools, seen: Seen, mistake: str | None, rng: random.Random) -> Reply:
    """Write the outputs, or say that it is done."""
    if mistake == "gives_up":
        return Reply("I looked at it, but I cannot finish this right now.")
    files = seen.files if family.sources or family.folder else {}
    files = {path: text for path, text in files.items() if path in family.inputs(params) or family.folder}
    try:
        outputs = rng.choice(family.slips)(rng, params, files) if mistake == "slip" else family.solve(params, files)
    except UNREADABLE:
        return Reply("I cannot do this: the files do not have the form that the task describes.")
    if mistake == "chat_only":
        return Reply("Here is the result:\n\n" + "\n".join(outputs.values())[:400])
    if mistake == "wrong_name":
        outputs = {_misnamed(path): text for path, text in outputs.items()}
    if mistake == "prose":
        outputs = {path: f"Sure! Here is what you asked for:\n\n{text}\nI hope this helps." for path, text in outputs.items()}
    if seen.ran:
        return Reply(_done(list(outputs), family.terse))
    if lost := [path for path in outputs if seen.refused.count(path) >= 2]:
        return Reply(f"I could not write {lost[0]}: {seen.last.strip()[:80]}")
    left = {path: text for path, text in outputs.items() if path not in seen.written}
    if not left:
        return Reply(_done(list(outputs), family.terse))
    whole = not (family.terse or mistake or seen.written or seen.refused) and hands.has("exec")
    if whole and seen.ran is None and (family.folder or not hands.has("write") or rng.random() < 0.4):
        return Reply(calls=hands.run(f"python3 - <<'END_OF_PROGRAM'\n{family.program(params)}END_OF_PROGRAM"))
    return Reply(calls=[call for path, text in left.items() for call in hands.write(path, text)])


def _misnamed(path: str) -> str:
    stem, _, extension = path.rpartition(".")
    return f"{stem}_result.{extension}" if "/" in path else f"output/{path}"


def _done(paths: list[str], terse: bool) -> str:
    return "Done." if terse else f"Done: {', '.join(paths[:3])}{' and more' if len(paths) > 3 else ''}."


def _unknown(instruction: str, hands: Tools, seen: Seen) -> Reply:
    """Wording of no family: look around once, then say honestly that the task was not done."""
    if seen.turns == 0:
        named = re.findall(r"\b[\w-]+(?:/[\w-]+)*\.(?:csv|json|txt|md|log|ya?ml|py)\b", instruction)
        calls = hands.run("ls -R . | head -n 60") or (hands.read(named[0]) if named and hands.has("read") else [])
        if calls:
            return Reply(calls=calls)
    return Reply("I looked at the workspace, but I cannot do this task: I only know some fixed kinds of work, and this is none of them.")
