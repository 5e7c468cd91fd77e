"""Containers through the Docker API (Docker, Podman's socket): for machines with a daemon and without user namespaces.

The same limits as under bubblewrap; processes and memory are bounded by the container's cgroup, disk by a watch over the workspace.
Containers carry the label `clawgym.sandbox=<pid of the job>`; what a killed job left behind is removed when the next one starts.
"""

import asyncio
import os
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from clawgym import config
from clawgym.errors import UserError
from clawgym.sandbox.base import ENVIRONMENT, MAX_ENTRIES, WORKSPACE, Capped, Completed, Process, Sandbox, usage

LABEL = "clawgym.sandbox"
WATCH_S = 0.5


class Containers(Sandbox):
    def __init__(self, settings: config.Sandbox):
        import docker
        from docker.errors import DockerException, ImageNotFound

        self.limits, self.image = settings.limits, settings.image
        self.threads = ThreadPoolExecutor(max_workers=1024, thread_name_prefix="container")
        try:
            self.client = docker.from_env()
            self.client.ping()
        except DockerException as error:
            raise UserError(
                f"sandbox.backend: no Docker daemon answers ({str(error)[:200]}); start it, set DOCKER_HOST, or set sandbox.backend: bwrap"
            ) from None
        try:
            self.client.images.get(self.image)
        except ImageNotFound:
            raise UserError(f"sandbox.image: {self.image} is not on this machine; `docker pull {self.image}` or set another") from None
        self._reap()

    def _reap(self) -> None:
        """Remove containers of jobs of this machine that are no longer alive."""
        from docker.errors import APIError

        for container in self.client.containers.list(all=True, filters={"label": LABEL}):
            host, _, pid = container.labels[LABEL].partition("/")
            if host == socket.gethostname() and not Path("/proc", pid).exists():
                try:
                    container.remove(force=True)
                except APIError:
                    continue  # another job is removing it

    def _start(
        self,
        argv: list[str],
        workspace: Path,
        limits: config.Limits,
        readonly: dict[Path, str] | None = None,
        writable: bool = True,
        sockets: dict[Path, str] | None = None,
        env: dict[str, str] | None = None,
    ) -> "_Container":
        from docker.types import Mount, Ulimit

        mounts = [Mount(WORKSPACE, str(workspace.resolve()), type="bind", read_only=not writable)]
        mounts += [Mount(inside, str(source.resolve()), type="bind", read_only=True) for source, inside in (readonly or {}).items()]
        mounts += [Mount(inside, str(source.resolve()), type="bind") for source, inside in (sockets or {}).items()]
        scratch = f"rw,nosuid,nodev,exec,size={limits.disk_mb * 2**20 // 4},mode=1777"
        file_bytes = limits.file_mb * 2**20
        container = self.client.containers.create(
            self.image,
            argv,
            entrypoint=[],
            network_mode="none",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            read_only=True,
            init=True,
            user=f"{os.getuid()}:{os.getgid()}",
            working_dir=WORKSPACE,
            environment=ENVIRONMENT | (env or {}),
            tmpfs={"/tmp": scratch, "/home": scratch},
            mounts=mounts,
            mem_limit=f"{limits.total_memory_mb}m",
            memswap_limit=f"{limits.total_memory_mb}m",
            pids_limit=limits.processes,
            ulimits=[
                Ulimit(name="cpu", soft=limits.cpu_s, hard=limits.cpu_s),
                Ulimit(name="fsize", soft=file_bytes, hard=file_bytes),
                Ulimit(name="core", soft=0, hard=0),
                Ulimit(name="nofile", soft=1024, hard=1024),
            ],
            labels={LABEL: f"{socket.gethostname()}/{os.getpid()}"},
            stdin_open=True,
        )
        try:
            return _Container(container, workspace if writable else None, limits)
        except BaseException:
            container.remove(force=True)
            raise

    async def run(
        self,
        argv: list[str],
        *,
        workspace: Path,
        readonly: dict[Path, str] | None = None,
        writable: bool = True,
        sockets: dict[Path, str] | None = None,
        stdin: bytes = b"",
        env: dict[str, str] | None = None,
        limits: config.Limits | None = None,
    ) -> Completed:
        limits = limits or self.limits
        stop = threading.Event()

        def blocking() -> Completed:
            from docker.errors import APIError, DockerException

            started = time.monotonic()
            try:
                container = self._start(argv, workspace, limits, readonly, writable, sockets, env)
            except APIError as error:
                # The daemon reports a program that does not exist as an error of its own; for a shell it is exit code 127.
                if "executable file not found" in str(error):
                    return Completed(127, b"", str(error).encode(), False, time.monotonic() - started)
                return Completed(-1, b"", str(error).encode(), False, time.monotonic() - started, "sandbox")
            except DockerException as error:
                return Completed(-1, b"", str(error).encode(), False, time.monotonic() - started, "sandbox")
            return container.finish(stdin, started, stop)

        # Threads of our own: sandboxes waiting for a model would use up those that the rest of the job (the stand-in) needs to answer.
        task = asyncio.get_running_loop().run_in_executor(self.threads, blocking)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            stop.set()
            await task
            raise

    def popen(
        self, argv: list[str], *, workspace: Path, readonly: dict[Path, str] | None = None, limits: config.Limits | None = None
    ) -> Process:
        return _Running(self._start(argv, workspace, limits or self.limits, readonly))


class _Container:
    """A started container with its streams."""

    def __init__(self, container: Any, workspace: Path | None, limits: config.Limits):
        self.container, self.workspace, self.limits = container, workspace, limits
        self.stream = container.attach_socket(params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        self.socket: socket.socket = self.stream._sock
        self.socket.settimeout(None)
        container.start()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def frames(self):
        """(1 stdout or 2 stderr, data) until the container has ended; the socket's framing is 8 bytes: stream, 0, 0, 0, length."""
        while head := self._exactly(8):
            kind, length = struct.unpack(">BxxxL", head)
            while length:
                data = self.socket.recv(min(length, 65536))
                if not data:
                    return
                length -= len(data)
                yield kind, data

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                return b""
            data += part
        return data

    def disk(self) -> str | None:
        if self.workspace is None:
            return None
        size, entries = usage(self.workspace)
        return "disk" if size > self.limits.disk_mb * 2**20 or entries > MAX_ENTRIES else None

    def kill(self) -> None:
        from docker.errors import APIError

        try:
            self.container.kill()
        except APIError:
            return  # it has ended

    def remove(self) -> None:
        self.stream.close()
        self.container.remove(force=True, v=True)

    def finish(self, stdin: bytes, started: float, stop: threading.Event) -> Completed:
        """Feed and read it to its end or its limits, then remove it."""
        out, err = Capped(self.limits.output_bytes), Capped(self.limits.output_bytes)
        failure: str | None = None
        ended = threading.Event()

        def guard() -> None:
            nonlocal failure
            while not ended.wait(WATCH_S if self.workspace else 0.05):
                late = time.monotonic() - started > self.limits.wall_s
                kind = "time_limit" if late else self.disk()
                if kind or stop.is_set():
                    failure = kind
                    self.kill()
                    return

        def feed() -> None:
            try:
                self.send(stdin)
                self.socket.shutdown(socket.SHUT_WR)
            except OSError:
                return  # it ended without reading its input

        threads = [threading.Thread(target=target, daemon=True) for target in (guard, feed)]
        try:
            for thread in threads:
                thread.start()
            for kind, data in self.frames():
                (err if kind == 2 else out).feed(data)
            code = self.container.wait()["StatusCode"]
            ended.set()
            self.container.reload()
            if failure is None and self.container.attrs["State"].get("OOMKilled"):
                failure = "memory"
            failure = failure or self.disk()
            return Completed(code, out.value(), err.value(), failure == "time_limit", time.monotonic() - started, failure)
        finally:
            ended.set()
            threads[0].join()
            self.remove()


class _Running(Process):
    """A container that is talked to: a thread takes its stdout out of the frames into a pipe."""

    def __init__(self, container: _Container):
        self.container, self.ended = container, threading.Event()
        source, sink = os.pipe()
        self.stdout = os.fdopen(source, "rb")
        self.stdin = container.socket.makefile("wb")
        self.threads = [threading.Thread(target=self._pump, args=(sink,), daemon=True), threading.Thread(target=self._guard, daemon=True)]
        for thread in self.threads:
            thread.start()

    def _pump(self, sink: int) -> None:
        with os.fdopen(sink, "wb", buffering=0) as pipe:
            try:
                for kind, data in self.container.frames():
                    if kind == 1:
                        pipe.write(data)
            except OSError:
                return  # closed on one of the two sides

    def _guard(self) -> None:
        while not self.ended.wait(WATCH_S):
            if kind := self.container.disk():
                self.failure_kind = kind
                self.container.kill()
                return

    def kill(self) -> None:
        if self.ended.is_set():
            return
        self.ended.set()
        self.threads[1].join()
        self.container.kill()
        self.stdout.close()
        try:
            self.stdin.close()
        except OSError:
            pass  # buffered bytes for a container that has gone
        self.container.remove()
