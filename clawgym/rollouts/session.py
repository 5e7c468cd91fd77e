"""The agent's tools for Python: a persistent sandboxed process per workspace, a few milliseconds per call. Used by RL episodes."""

import json
import select
import time
from pathlib import Path

from clawgym import config
from clawgym.rollouts import toolbox
from clawgym.sandbox import Sandbox

INSIDE = "/opt/clawgym/toolbox.py"
CALL_S = toolbox.MAX_EXEC_S + 10


class ToolSession:
    """`read write edit exec process` on a workspace: `ToolSession(settings["sandbox"], folder).call("write", {"path": …, "content": …})`.

    The same tools, limits and answers as the `lite` agent has. One call at a time. Works as a context manager.
    wall_s: life of the session; calls after it are answered with an error, and so are calls after the sandbox was killed for using
    too much (`failure_kind` says for what; `killed`: by one of its own commands).
    """

    def __init__(self, settings: config.Sandbox | Sandbox, workspace: Path, wall_s: float = 3600.0):
        sandbox = settings if isinstance(settings, Sandbox) else Sandbox.from_settings(settings)
        self.deadline = time.monotonic() + wall_s
        self.process = sandbox.popen(
            ["python3", "-E", "-s", "-S", INSIDE, "serve"], workspace=workspace, readonly={Path(toolbox.__file__): INSIDE}
        )
        self.buffer = b""
        self.failure_kind: str | None = None

    def call(self, name: str, arguments: dict) -> str:
        """The answer of one tool call; what goes wrong is answered as `error: …`."""
        problem = toolbox.problem_with(name, arguments)
        if problem or self.failure_kind:
            return problem or f"error: the tools have ended ({self.failure_kind})"
        try:
            self.process.stdin.write(json.dumps({"name": name, "arguments": arguments}).encode() + b"\n")
            self.process.stdin.flush()
            return json.loads(self._line())["answer"]
        except (BrokenPipeError, EOFError, TimeoutError) as error:
            self.failure_kind = self.process.failure_kind or ("time_limit" if isinstance(error, TimeoutError) else "killed")
            self.close()
            return f"error: the tools have ended ({self.failure_kind})"

    def _line(self) -> bytes:
        limit = min(self.deadline, time.monotonic() + CALL_S)
        while b"\n" not in self.buffer:
            if not select.select([self.process.stdout], [], [], max(0.0, limit - time.monotonic()))[0]:
                raise TimeoutError
            data = self.process.stdout.read1(65536)
            if not data:
                raise EOFError
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

    def close(self) -> None:
        """End the session and every process it started."""
        self.process.kill()

    def __enter__(self) -> "ToolSession":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()
