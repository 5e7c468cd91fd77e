"""Rollouts: an agent works on a task in a sandbox, its model calls are recorded, and what it leaves is kept.

A rollout is done once: it lands whole in a working folder under a fingerprint of everything it depends on, and a job that was killed
takes up where it was. What came of it follows from the proxy's session, the sandbox and the workspace, never from the agent's word.
"""

import asyncio
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clawgym import config, workspaces
from clawgym.client.endpoints import identity, serve
from clawgym.errors import UserError
from clawgym.proxy import Budget, Proxy, Session
from clawgym.rollouts import toolbox
from clawgym.sandbox import Completed, Sandbox
from clawgym.tables import fingerprint, read_jsonl, replacing

SYSTEM = "You work on files in the current folder with the tools. When done, answer briefly."
SOCKET = "/run/model.sock"
INSIDE = "/opt/clawgym"
AGENT = [Path(__file__).with_name(name) for name in ("lite.py", "toolbox.py")]
FIRST_PAUSE_S = 1.0


@dataclass(frozen=True)
class Plan:
    """How the rollouts of one job are run.

    name: the model's name in the tables. stage: where the ledger counts them. series: tells the ids of two
    runs of one model on the same tasks apart. prefix: messages before every task (worked examples).
    dtype, arguments, log: of the server of a checkpoint; log receives its output.
    """

    name: str
    model: config.Model
    rollouts: config.Rollouts
    sandbox: config.Sandbox
    spend: config.Spend
    seed: int
    stage: str = "rollouts"
    series: str = ""
    prefix: list[dict] = field(default_factory=list)
    dtype: str = "auto"
    arguments: tuple[str, ...] = ()
    log: Path | None = None

    def fingerprint(self, task: dict, attempt: int) -> str:
        """Hash of all that a rollout depends on."""
        model = self.model.model_dump(exclude={"concurrency", "timeout_s", "retries", "price_in", "price_out", "api_key_env"})
        limits = self.rollouts.model_dump(exclude={"teachers", "attempts", "retries", "max_infrastructure_failures"})
        inputs = {key: task.get(key) for key in ("task_id", "instruction", "files")}
        agent = hashlib.sha256(b"".join(source.read_bytes() for source in AGENT)).hexdigest()
        bounds = self.sandbox.limits.model_dump()
        server = [self.dtype, *self.arguments] if self.model.base_url == "checkpoint" else []
        return fingerprint(
            [self.name, identity(self.model), server, model, limits, bounds, inputs, attempt, self.seed, self.prefix, SYSTEM, agent]
        )


def rollout_id(task_id: str, plan: Plan, attempt: int) -> str:
    """The same for every try of a rollout, another for every rollout of a working copy."""
    return "-".join([task_id, plan.name, *([plan.series] if plan.series else []), str(attempt)])


def ended(session: Session, done: Completed, tools: Sequence[str]) -> tuple[str, str | None, str | None]:
    """(status, failure_kind, detail) of a rollout: from the sandbox and the proxy's session."""
    if done.failure_kind == "sandbox":
        return "failed", "sandbox", done.stderr.decode(errors="replace")[-500:]
    if session.failure:
        return "failed", session.failure, session.detail
    if done.failure_kind == "time_limit" or session.limit == "time_limit":
        return "time_limit", None, None
    if done.failure_kind:
        return "killed", None, f"the sandbox used too much: {done.failure_kind}"
    if session.limit:
        return session.limit, None, None
    if session.last is None:
        return "failed", "agent_crash", "no model call; " + done.stderr.decode(errors="replace")[-500:]
    choice = session.last["choices"][0]
    calls = choice["message"].get("tool_calls") or []
    if not calls:
        return ("token_limit" if choice.get("finish_reason") == "length" else "finished"), None, None
    if all(toolbox.parse(call, tools)[2] for call in calls) and done.exit_code == 0:
        return "malformed", None, None
    if done.exit_code == 128 + 9:
        return "killed", None, "the agent was killed while it carried out its tool calls"
    return "failed", "agent_crash", f"exit code {done.exit_code}; " + done.stderr.decode(errors="replace")[-500:]


def counts(capture: Path) -> dict[str, Any]:
    """What a capture says of a rollout: turns, tool_calls, tool_types, final_text."""
    answers = [r["response"]["choices"][0]["message"] for r in read_jsonl(capture) if r["kind"] == "call" and r["response"]]
    calls = [call for answer in answers for call in answer.get("tool_calls") or []]
    final = answers[-1].get("content") if answers and not answers[-1].get("tool_calls") else None
    return {
        "turns": len(answers),
        "tool_calls": len(calls),
        "tool_types": sorted({call["function"]["name"] for call in calls}),
        "final_text": final,
    }


async def roll_out(plan: Plan, proxy: Proxy, sandbox: Sandbox, task: dict, attempt: int, folder: Path) -> dict:
    """One try of one rollout. Leaves capture.jsonl.zst and snapshot.tar.zst in `folder` and gives its ROLLOUT row."""
    name = rollout_id(task["task_id"], plan, attempt)
    seed = int(hashlib.sha256(f"{plan.seed}:{name}".encode()).hexdigest()[:8], 16) % 2**31
    limits = plan.rollouts
    capture, archive = folder / "capture.jsonl.zst", folder / "snapshot.tar.zst"
    row = {"rollout_id": name, "task_id": task["task_id"], "model": plan.name, "attempt": attempt, "runtime": limits.runtime}
    with workspaces.scratch("clawgym-") as aside:  # short: the path of a Unix socket has at most 107 bytes
        workspace, socket = Path(aside, "workspace"), Path(aside, "model.sock")
        workspaces.materialise(task, workspace)
        budget = Budget(limits.max_turns, limits.max_tokens, limits.wall_s)
        origin = {"rollout_id": name, "task_id": task["task_id"], "model": plan.model.model, "runtime": limits.runtime, "seed": seed}
        async with proxy.session(socket, capture, budget, seed, origin) as session:
            messages = [{"role": "system", "content": SYSTEM}, *plan.prefix, {"role": "user", "content": task["instruction"]}]
            job = {"messages": messages, "tools": limits.tools, "socket": SOCKET, "token": session.token, "model": plan.name}
            done = await sandbox.run(
                ["python3", "-E", "-s", "-S", f"{INSIDE}/lite.py"],
                workspace=workspace,
                readonly={source: f"{INSIDE}/{source.name}" for source in AGENT},
                sockets={socket: SOCKET},
                stdin=json.dumps(job).encode(),
                limits=sandbox.limits.model_copy(update={"wall_s": limits.wall_s}),
            )
        status, failure_kind, detail = ended(session, done, limits.tools)
        if status != "failed" and not workspaces.spacious(aside):
            status, failure_kind, detail = "failed", "sandbox", f"the disk of {aside.parent} is full; free some space or set TMPDIR"
        kept: str | None = archive.name
        try:
            workspaces.snapshot(workspace, archive, sandbox.limits.disk_mb)
        except ValueError as error:
            status, failure_kind, detail, kept = *_too_large(status, failure_kind, error), None
    return row | {
        "status": status,
        "failure_kind": failure_kind,
        "detail": detail or None,
        "tokens_in": session.tokens_in,
        "tokens_out": session.tokens_out,
        "cost_usd": session.cost_usd,
        "wall_s": round(done.wall_s, 3),
        "capture": capture.name,
        "snapshot": kept,
        **counts(capture),
    }


def _too_large(status: str, failure_kind: str | None, error: ValueError) -> tuple[str, str | None, str]:
    """A workspace too large to keep is the agent's doing; it has no snapshot and counts as `killed`."""
    return (status, failure_kind, str(error)) if status == "failed" else ("killed", None, str(error))


async def finish(plan: Plan, proxy: Proxy, sandbox: Sandbox, task: dict, attempt: int, work: Path) -> dict:
    """The rollout from the working folder, or run now, with new tries after failures outside the agent. Gives its ROLLOUT row.

    A failed rollout is a row too, but is not taken from the working folder by the next run.
    """
    name = rollout_id(task["task_id"], plan, attempt)
    home = work / f"{name}.{plan.fingerprint(task, attempt)}"
    if (home / "row.json").exists():
        row = json.loads((home / "row.json").read_text())
        if row["status"] != "failed" and all((home / row[name]).is_file() for name in ("capture", "snapshot") if row[name]):
            return row | {"home": home}
    for trial in range(plan.rollouts.retries + 1):
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        try:
            row = await roll_out(plan, proxy, sandbox, task, attempt, home)
        except OSError as error:
            row = _lost(plan, task, attempt, "proxy", f"{type(error).__name__}: {error}")
        if proxy.fatal:
            raise proxy.fatal
        if row["status"] != "failed" or trial == plan.rollouts.retries:
            break
        await asyncio.sleep(FIRST_PAUSE_S * 2**trial)
    with replacing(home / "row.json") as sink:
        sink.write(json.dumps(row).encode())
    return row | {"home": home}


def _lost(plan: Plan, task: dict, attempt: int, failure_kind: str, detail: str) -> dict:
    """The row of a rollout that left nothing."""
    return {
        "rollout_id": rollout_id(task["task_id"], plan, attempt),
        "task_id": task["task_id"],
        "model": plan.name,
        "attempt": attempt,
        "runtime": plan.rollouts.runtime,
        "status": "failed",
        "failure_kind": failure_kind,
        "detail": detail[:500],
        "turns": 0,
        "tool_calls": 0,
        "tool_types": [],
        "tokens_in": 0,
        "tokens_out": 0,
        "cost_usd": 0.0,
        "wall_s": 0.0,
        "capture": None,
        "snapshot": None,
        "final_text": None,
    }


async def run_all(plan: Plan, tasks: Iterable[dict], work: Path) -> list[dict]:
    """All rollouts of a job, `model.concurrency` in flight, in the order of tasks and attempts.

    Rows are ROLLOUT rows with `home`, the working folder that has their files.
    Raises UserError if the model cannot be asked at all, the spend limit is reached, or the sandbox cannot be started.
    """
    sandbox = Sandbox.from_settings(plan.sandbox)
    jobs = [(task, attempt) for task in tasks for attempt in range(plan.rollouts.attempts)]
    rows: list[dict] = [{} for _ in jobs]
    waiting, done, clock = iter(enumerate(jobs)), 0, time.monotonic()

    async def work_off(proxy: Proxy) -> None:
        nonlocal done, clock
        for index, (task, attempt) in waiting:
            rows[index] = await finish(plan, proxy, sandbox, task, attempt, work)
            done += 1
            if time.monotonic() - clock > 5:
                clock = time.monotonic()
                print(f"{plan.stage}: {done} of {len(jobs)} rollouts of {plan.name}", file=sys.stderr, flush=True)

    served = serve(plan.model, log=plan.log, dtype=plan.dtype, arguments=plan.arguments)
    async with served as base_url, Proxy(plan.name, plan.model, base_url, plan.spend, plan.stage) as proxy:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(plan.model.concurrency, len(jobs))):
                    group.create_task(work_off(proxy))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None  # the first, which stopped the others
    return rows


def publish(rows: list[dict], folder: Path) -> list[dict]:
    """Put captures and snapshots of finished rows below `folder` (hard links where possible) and give the ROLLOUT rows."""
    published = []
    for row in rows:
        row, home = dict(row), Path(row["home"])
        del row["home"]
        for column, subfolder, suffix in (("capture", "captures", ".jsonl.zst"), ("snapshot", "snapshots", ".tar.zst")):
            if row[column] is not None:
                path = f"{subfolder}/{row['rollout_id']}{suffix}"
                link(home / row[column], folder / path)
                row[column] = path
        published.append(row)
    return published


def link(source: Path, target: Path) -> None:
    """A hard link that replaces `target`; a copy where the file systems differ or know no links."""
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    aside.unlink(missing_ok=True)
    try:
        os.link(source, aside)
    except OSError:
        shutil.copyfile(source, aside)
    os.replace(aside, target)


def require_rollouts(rows: list[dict], most: float, where: str) -> None:
    """The gate of the stage. Raises UserError if more than the share `most` of the rollouts failed for reasons outside the agent."""
    failed = [row for row in rows if row["status"] == "failed"]
    if failed and len(failed) > most * len(rows):
        kinds = {kind: sum(row["failure_kind"] == kind for row in failed) for kind in sorted({row["failure_kind"] for row in failed})}
        listed = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        raise UserError(
            f"{where}: {len(failed)} of {len(rows)} rollouts failed for reasons outside the agent ({listed}; last: "
            f"{failed[-1]['detail']}); see to it and run again: finished rollouts are kept (limit: rollouts.max_infrastructure_failures)"
        )
