"""The agent's tools: read, write, edit, exec, process, on the files of the working directory. Standard library only.

One implementation for both uses: the `lite` agent imports this file inside the sandbox, and `clawgym.rollouts.session.ToolSession` runs
it there as `toolbox.py serve`, one JSON line per call. It protects nothing by itself; the sandbox around it does.
A tool never raises: what goes wrong is the answer, beginning with `error:`.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

MAX_ANSWER = 8000  # characters of one tool result
EXEC_S = 30.0
MAX_EXEC_S = 300.0
TEXT = {"type": "string"}


def _schema(name, description, required, **optional):
    """One tool in the form of a chat request; terse, since every word is in every prompt."""
    properties = {argument: TEXT for argument in required} | optional
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


SCHEMAS = {
    "read": _schema("read", "Read a file", ["path"]),
    "write": _schema("write", "Write a file", ["path", "content"]),
    "edit": _schema("edit", "Replace old, which must occur once, by new", ["path", "old", "new"]),
    "exec": _schema("exec", "Run a shell command", ["command"]),
    "process": _schema(
        "process",
        "Background command: start (command), poll, log, kill (id), list",
        ["action"],
        command=TEXT,
        id=TEXT,
    ),
}


def schemas(names):
    """The `tools` of a chat request, in the order given."""
    return [SCHEMAS[name] for name in names]


def shorten(text, limit=MAX_ANSWER):
    """The text, or its beginning and end with a note of what is missing."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


def parse(call, names):
    """(name, arguments, error) of one tool call as the model wrote it; error is null if it can be carried out."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return None, None, "error: a tool call needs function.name and function.arguments"
    name, raw = function["name"], function.get("arguments")
    if name not in names:
        return name, None, f"error: there is no tool {name[:40]}; use one of {', '.join(names)}"
    try:
        arguments = json.loads(raw or "{}") if isinstance(raw, str) or raw is None else raw
    except (ValueError, RecursionError) as problem:
        return name, None, f"error: the arguments of {name} are not JSON ({problem})"
    return name, arguments, problem_with(name, arguments)


def problem_with(name, arguments):
    """What is wrong with the arguments of a tool, as an answer to the model, or null."""
    if name not in SCHEMAS:
        return f"error: there is no tool {str(name)[:40]}; use one of {', '.join(SCHEMAS)}"
    if not isinstance(arguments, dict):
        return f"error: the arguments of {name} are not a JSON object"
    required = SCHEMAS[name]["function"]["parameters"]["required"]
    for argument in required:
        if not isinstance(arguments.get(argument), str):
            return f"error: {name} needs {', '.join(required)} as text; {argument} is missing or not text"
    return None


class Toolbox:
    """The tools on the folder `root`, with the background processes of one agent."""

    def __init__(self, root):
        self.root = root
        self.background = {}  # id → (process, log file, command)

    def call(self, name, arguments):
        """The answer of one tool, at most MAX_ANSWER characters."""
        problem = problem_with(name, arguments)
        if problem:
            return problem
        try:
            answer = getattr(self, name)(**{key: arguments[key] for key in arguments if key in self._known(name)})
        except FileNotFoundError as error:
            answer = f"error: no such file or folder: {error.filename or arguments.get('path')}"
        except UnicodeDecodeError:
            answer = f"error: {arguments['path']} is not text"
        except Exception as error:  # of any type: optional arguments may be anything, a tool that fails must not end the agent
            answer = f"error: {type(error).__name__}: {error}"
        # Names of files need not be UTF-8, what goes into a request must be.
        return shorten(answer.encode("utf-8", "replace").decode())

    @staticmethod
    def _known(name):
        extra = {"exec": {"timeout"}}.get(name, set())
        return set(SCHEMAS[name]["function"]["parameters"]["properties"]) | extra

    def _path(self, path):
        return os.path.join(self.root, path)

    def read(self, path):
        place = self._path(path)
        if os.path.isdir(place):
            return "error: this is a folder; it has\n" + "\n".join(sorted(os.listdir(place)))
        if not os.path.isfile(place) and os.path.exists(place):
            return f"error: {path} is not a regular file"
        with open(place, "rb") as file:
            return file.read(16 * 2**20).decode("utf-8")

    def write(self, path, content):
        place = self._path(path)
        os.makedirs(os.path.dirname(place) or ".", exist_ok=True)
        with open(place, "w", encoding="utf-8", newline="") as file:
            file.write(content)
        return f"wrote {len(content.encode())} bytes to {path}"

    def edit(self, path, old, new):
        with open(self._path(path), encoding="utf-8", newline="") as file:
            text = file.read()
        found = text.count(old) if old else 0
        if found != 1:
            return f"error: old occurs {found} times in {path}; it must occur once"
        with open(self._path(path), "w", encoding="utf-8", newline="") as file:
            file.write(text.replace(old, new))
        return f"edited {path}"

    def exec(self, command, timeout=EXEC_S):
        limit = min(float(timeout), MAX_EXEC_S)
        # Into a file, not a pipe: a background child that keeps the pipe open would hold the agent until the time limit.
        with tempfile.TemporaryFile() as log:
            process = self._start(command, log)
            try:
                process.wait(limit)
            except subprocess.TimeoutExpired:
                self._kill(process)
                return self._log(log) + f"\nerror: stopped after {limit:g} s"
            text = self._log(log)
        code = process.returncode
        return text + (f"\n(exit code {code})" if code else "") if text or code else "(no output)"

    def process(self, action, command=None, id=None):
        if action == "start":
            if not isinstance(command, str):
                return "error: start needs command"
            name = str(len(self.background) + 1)
            log = tempfile.TemporaryFile()
            self.background[name] = [self._start(command, log), log, command, 0]
            return f"started {name}"
        if action == "list":
            return "\n".join(f"{name} {self._state(entry[0])}: {entry[2][:200]}" for name, entry in self.background.items()) or "none"
        entry = self.background.get(str(id))
        if entry is None:
            return f"error: no background process {id}; there are: {', '.join(self.background) or 'none'}"
        if action == "kill":
            self._kill(entry[0])
            return f"killed {id}"
        if action not in ("poll", "log"):
            return "error: action must be start, poll, log, kill or list"
        if action == "poll" and entry[0].poll() is None:
            try:
                entry[0].wait(1.0)  # a moment, so that a polling model does not spin
            except subprocess.TimeoutExpired:
                pass  # still running, which the answer says
        end = os.fstat(entry[1].fileno()).st_size
        start = entry[3] if action == "poll" else 0
        entry[3] = end if action == "poll" else entry[3]
        return f"{self._state(entry[0])}\n{self._log(entry[1], start)}".rstrip()

    def close(self):
        for process, log, _, _ in self.background.values():
            self._kill(process)
            log.close()

    def _start(self, command, log):
        return subprocess.Popen(
            ["/bin/bash", "-c", command], cwd=self.root, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )

    @staticmethod
    def _kill(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # ended by itself
        process.wait()

    @staticmethod
    def _state(process):
        code = process.poll()
        return "running" if code is None else f"ended with code {code}"

    @staticmethod
    def _log(log, start=0):
        """What was written from byte `start` on; of very much, the first and last part."""
        end = os.fstat(log.fileno()).st_size
        bound = 4 * MAX_ANSWER
        if end - start <= 2 * bound:
            data = os.pread(log.fileno(), end - start, start)
        else:
            data = os.pread(log.fileno(), bound, start) + b"\n" + os.pread(log.fileno(), bound, end - bound)
        return data.decode("utf-8", errors="replace")


def serve():
    """Answer tool calls: a JSON line {name, arguments} on stdin, a JSON line {answer, seconds} on the original stdout."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    toolbox = Toolbox(os.getcwd())
    for line in sys.stdin.buffer:
        request = json.loads(line)
        started = time.monotonic()
        answer = toolbox.call(request["name"], request["arguments"])
        out.write(json.dumps({"answer": answer, "seconds": round(time.monotonic() - started, 4)}) + "\n")
        out.flush()
    toolbox.close()


if __name__ == "__main__" and sys.argv[1:] == ["serve"]:
    serve()
