"""What a GRPO rollout acts in: a workspace of a task with the agent's tools in the sandbox, scored by the task's code checks.

TRL makes the tools from the public methods of the class and calls them; the model is shown the schemas of the `lite` runtime instead, so
that its prompts are those of rollouts and bench.
"""

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from clawgym import workspaces
from clawgym.grades.code import run_code
from clawgym.rollouts.session import ToolSession
from clawgym.sandbox import Sandbox


class Episode:
    """One rollout: `reset` lays out the task's files, the tools work on them, `_score` grades what is there."""

    sandbox: Sandbox
    tasks: Mapping[str, dict[str, Any]]
    """task_id → task with `code`, the source of its grader."""
    wall_s: float
    """Seconds for all tool calls of a rollout."""
    grade_s: float
    """Seconds for its grader."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._tools: ToolSession | None = None

    def reset(self, task_id: str, **row: Any) -> None:
        """A fresh workspace of the task."""
        self._close()
        self._task = self.tasks[task_id]
        self._folder = Path(tempfile.mkdtemp(prefix="clawgym-"))
        workspaces.materialise(self._task, self._folder / "workspace")
        self._tools = ToolSession(self.sandbox, self._folder / "workspace", self.wall_s)

    def _call(self, name: str, **arguments: Any) -> str:
        return self._tools.call(name, arguments)

    async def _score(self) -> float | None:
        """Mean of the code checks, or null where nothing was measured: sandbox or grader failed, or the tree is too deep to be graded."""
        failed = self._tools.failure_kind == "sandbox" or not workspaces.spacious(self._folder)
        self._tools.close()
        if failed:
            return None
        try:
            workspaces.overlay_inputs(self._task, self._folder / "workspace")
        except ValueError:
            return None
        result = await run_code(self.sandbox, self._task["code"], self._folder / "workspace", [], self.grade_s)
        return None if result.scores is None else fmean(result.scores.values())

    def _close(self) -> None:
        if self._tools is not None:
            self._tools.close()
        if self._folder is not None:
            workspaces.discard(self._folder)
        self._folder = self._tools = None


def read(self: Episode, path: str) -> str:
    """Read a file

    Args:
        path: File to read.

    Returns:
        Its text.
    """
    return self._call("read", path=path)


def write(self: Episode, path: str, content: str) -> str:
    """Write a file

    Args:
        path: File to write.
        content: Its new text.

    Returns:
        What was written.
    """
    return self._call("write", path=path, content=content)


def edit(self: Episode, path: str, old: str, new: str) -> str:
    """Replace text in a file

    Args:
        path: File to change.
        old: Text that occurs once in it.
        new: Text to put there.

    Returns:
        What was changed.
    """
    return self._call("edit", path=path, old=old, new=new)


def exec(self: Episode, command: str) -> str:  # noqa: A001 - the tool's name
    """Run a shell command

    Args:
        command: The command.

    Returns:
        Its output and exit code.
    """
    return self._call("exec", command=command)


def process(self: Episode, action: str, command: str = "", id: str = "") -> str:  # noqa: A002 - the tool's argument
    """Manage a background command

    Args:
        action: start, poll, log, kill or list.
        command: Command to start.
        id: Command to poll, show or kill.

    Returns:
        Its state.
    """
    return self._call("process", action=action, **{name: value for name, value in {"command": command, "id": id}.items() if value})


TOOLS = {function.__name__: function for function in (read, write, edit, exec, process)}


def episode_class(tools: list[str], sandbox: Sandbox, tasks: Mapping[str, dict[str, Any]], wall_s: float, grade_s: float) -> type[Episode]:
    """The environment class for `environment_factory`, with these tools only."""
    members = {"sandbox": sandbox, "tasks": tasks, "wall_s": wall_s, "grade_s": grade_s}
    return type("Episode", (Episode,), members | {name: TOOLS[name] for name in tools})


def reward_function(parallel: int) -> Callable[..., Any]:
    """TRL reward function: the score of each rollout's episode, at most `parallel` graders at a time.

    Null for a rollout that could not be scored; TRL leaves it out of its group. `unscored` is logged with every batch.
    """

    async def code_checks(environments: list[Episode], log_metric: Callable[[str, float], None], **row: Any) -> list[float | None]:
        free = asyncio.Semaphore(parallel)

        async def one(episode: Episode) -> float | None:
            async with free:
                return await episode._score()

        scores = list(await asyncio.gather(*map(one, environments)))
        log_metric("unscored", float(sum(score is None for score in scores)))
        return scores

    return code_checks


def identity(episodes: type[Episode]) -> list[Any]:
    """What the rewards of a run depend on beside its prompts: files and graders of the tasks, and the limits. For its fingerprint."""
    tasks = [[task_id, task["files"], list(task["may_modify"]), task["code"]] for task_id, task in sorted(episodes.tasks.items())]
    return [tasks, episodes.wall_s, episodes.grade_s, episodes.sandbox.limits.model_dump()]
