"""Scripted models for rollouts: an endpoint on loopback that answers what a test says, and plans against it."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from aiohttp import web

from clawgym.config import Limits, Model, Rollouts, Spend
from clawgym.config import Sandbox as SandboxSettings
from clawgym.rollouts.run import Plan, publish, run_all

Script = Callable[[dict], dict | web.Response]


def say(text: str | None = None, *calls: tuple[str, dict | str], reason: str | None = None) -> dict:
    """A completion with a text and tool calls (name, arguments)."""
    made = [
        {
            "id": f"call_{i}",
            "type": "function",
            "function": {"name": name, "arguments": args if isinstance(args, str) else json.dumps(args)},
        }
        for i, (name, args) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": text} | ({"tool_calls": made} if made else {})
    choice = {"index": 0, "message": message, "finish_reason": reason or ("tool_calls" if made else "stop")}
    return {"id": "c", "object": "chat.completion", "choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}


def turns(*answers: dict) -> Script:
    """A model that gives these answers one after the other, the last one for ever."""

    def script(body: dict) -> dict:
        done = sum(message["role"] == "assistant" for message in body["messages"])
        return answers[min(done, len(answers) - 1)]

    return script


def task(task_id: str = "t1", **changes) -> dict:
    files = [{"path": "in/data.txt", "type": "txt", "spec": "", "content": "seven\n", "sha256": None}]
    return {"task_id": task_id, "instruction": f"Do {task_id}.", "files": files, "may_modify": [], "expected_outputs": []} | changes


class Stage:
    """Runs tasks against a scripted model; `asked` counts the requests the model saw."""

    def __init__(self, folder: Path):
        self.folder, self.asked, self.bodies = folder, 0, []
        self.sandbox = SandboxSettings(limits=Limits(memory_mb=256, total_memory_mb=400, processes=60, disk_mb=16))

    def run(self, script: Script, tasks: list[dict] | None = None, *, prefix: list[dict] | None = None, **rollouts) -> list[dict]:
        settings = Rollouts(**({"retries": 0, "max_turns": 6, "wall_s": 20.0} | rollouts))

        async def handle(request: web.Request) -> web.Response:
            body = await request.json()
            self.asked += 1
            self.bodies.append(body)
            answer = script(body)
            return web.json_response(answer) if isinstance(answer, dict) else answer

        async def serve() -> list[dict]:
            app = web.Application()
            app.router.add_post("/v1/chat/completions", handle)
            runner = web.AppRunner(app, shutdown_timeout=0.1)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            try:
                url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
                # The port differs from run to run, the endpoint that a fingerprint names must not.
                plan = ScriptedPlan(
                    name="m",
                    model=Model(base_url=url, model="scripted", retries=0, concurrency=2),
                    rollouts=settings,
                    sandbox=self.sandbox,
                    spend=Spend(cache=str(self.folder / "spend.sqlite")),
                    seed=1,
                    prefix=prefix or [],
                )
                return await run_all(plan, tasks or [task()], self.folder / "work")
            finally:
                await runner.cleanup()

        return publish(asyncio.run(serve()), self.folder / "out")


class ScriptedPlan(Plan):
    def fingerprint(self, task: dict, attempt: int) -> str:
        fixed = Plan(**(vars(self) | {"model": self.model.model_copy(update={"base_url": "http://scripted/v1"})}))
        return fixed.fingerprint(task, attempt)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)
