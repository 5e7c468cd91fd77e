"""Bubblewrap: rootless namespaces, no daemon, about 20 ms per run. Works for root and for ordinary users.

Limits come from three places: rlimits for one process (memory, CPU, file size), a watchdog for what the sandbox uses as a whole
(processes, resident memory, disk; rlimits on processes bind neither root nor a shared account on older kernels), and the wall clock.
Killing bubblewrap kills its PID namespace, so nothing that was started inside survives.
"""

import asyncio
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from clawgym import config
from clawgym.errors import UserError
from clawgym.sandbox.base import ENVIRONMENT, MAX_ENTRIES, WORKSPACE, Capped, Completed, Process, Sandbox, usage

WATCH_S = 0.1
REMEDY = "or set sandbox.backend: docker"
# Since 5.14 the kernel counts RLIMIT_NPROC per user namespace; before, a busy account would make every fork in the sandbox fail.
COUNTS_PER_NAMESPACE = tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2]) >= (5, 14)


@cache
def _system() -> tuple[str, ...]:
    """Mounts of the read-only system: /usr, this Python's own prefix without its installed packages, and nothing of /etc or a home."""
    prefix = Path(sys.base_prefix).resolve()
    mounts = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        path = Path("/", name)
        if path.is_symlink():
            mounts += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            mounts += ["--ro-bind", str(path), str(path)]
    for path in ("/etc/alternatives", "/etc/ld.so.cache"):  # awk and the like are links into the former
        mounts += ["--ro-bind-try", path, path]
    if not prefix.is_relative_to("/usr"):
        mounts += ["--ro-bind", str(prefix), str(prefix)]
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    installed = [prefix / "lib" / version / "site-packages", Path("/usr/lib/python3/dist-packages")]
    installed.append(Path("/usr/local/lib", version, "dist-packages"))
    for packages in installed:
        if packages.is_dir():
            mounts += ["--tmpfs", str(packages), "--remount-ro", str(packages)]
    return (*mounts, "--setenv", "PATH", f"{prefix}/bin:/usr/local/bin:/usr/bin:/bin")


@cache
def _program() -> tuple[str, ...]:
    """`bwrap` with the options this version has. Raises UserError, with what to do, if sandboxes cannot be started here."""
    bwrap = shutil.which("bwrap")
    if not bwrap:
        raise UserError(f"sandbox.backend: bwrap is not installed; install bubblewrap (`apt-get install bubblewrap`) {REMEDY}")
    if not shutil.which("prlimit"):
        raise UserError(f"sandbox.backend: bwrap needs prlimit; install util-linux {REMEDY}")
    options = subprocess.run([bwrap, "--help"], capture_output=True, text=True).stdout
    if "--size" not in options:
        raise UserError(f"sandbox.backend: this bwrap cannot bound a tmpfs; install bubblewrap 0.7 or later {REMEDY}")
    nested = [["--unshare-user", "--disable-userns"]] if "--disable-userns" in options else []
    for extra in [*nested, []]:
        program = (bwrap, "--unshare-all", *extra, "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL")
        trial = subprocess.run([*program, *_system(), "--proc", "/proc", "--dev", "/dev", "--", "true"], capture_output=True, text=True)
        if trial.returncode == 0:
            return program
    raise UserError(
        f"sandbox.backend: bwrap cannot start a sandbox here ({trial.stderr.strip()[:200]});"
        f" allow unprivileged user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns) {REMEDY}"
    )


class Bwrap(Sandbox):
    def __init__(self, settings: config.Sandbox):
        self.limits = settings.limits
        _program()

    def command(
        self,
        argv: list[str],
        *,
        workspace: Path,
        status_fd: int,
        limits: config.Limits,
        readonly: dict[Path, str] | None = None,
        writable: bool = True,
        sockets: dict[Path, str] | None = None,
        env: dict[str, str] | None = None,
    ) -> list[str]:
        """The bubblewrap command line of one run."""
        command = [*_program(), "--json-status-fd", str(status_fd), *_system(), "--proc", "/proc", "--dev", "/dev"]
        scratch = str(limits.disk_mb * 2**20 // 4)
        for folder, size in (("/tmp", scratch), ("/home", scratch), ("/dev/shm", str(16 * 2**20))):
            command += ["--size", size, "--tmpfs", folder]
        command += ["--bind" if writable else "--ro-bind", str(workspace.resolve()), WORKSPACE]
        for source, inside in (readonly or {}).items():
            command += ["--ro-bind", str(source.resolve()), inside]
        for source, inside in (sockets or {}).items():
            command += ["--bind", str(source.resolve()), inside]
        # Read-only /proc matters when root starts the sandbox: kernel settings below /proc/sys belong to the host's root, mapped or not.
        for folder in ("/proc", "/dev", "/"):
            command += ["--remount-ro", folder]
        command += ["--chdir", WORKSPACE]
        for name, value in (ENVIRONMENT | (env or {})).items():
            command += ["--setenv", name, value]
        bounds = [f"--as={limits.memory_mb * 2**20}", f"--cpu={limits.cpu_s}", f"--fsize={limits.file_mb * 2**20}"]
        bounds += ["--core=0", "--nofile=1024"]
        if COUNTS_PER_NAMESPACE:
            bounds.append(f"--nproc={limits.processes}")
        return [*command, "--", "prlimit", *bounds, "--", *argv]

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
        started = time.monotonic()
        status, status_fd = os.pipe()
        try:
            command = self.command(
                argv,
                workspace=workspace,
                status_fd=status_fd,
                limits=limits,
                readonly=readonly,
                writable=writable,
                sockets=sockets,
                env=env,
            )
            try:
                process = await asyncio.create_subprocess_exec(
                    *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=(status_fd,), env={}
                )
            finally:
                os.close(status_fd)
            watch = _Watch(status, workspace if writable else None, limits)
            out, err = Capped(limits.output_bytes), Capped(limits.output_bytes)
            failure = None

            async def guard() -> None:
                nonlocal failure
                while failure is None:
                    await asyncio.sleep(WATCH_S)
                    failure = watch.violation()
                watch.kill(process)

            guarding = asyncio.create_task(guard())
            streams = asyncio.gather(_feed(process.stdin, stdin), _drain(process.stdout, out), _drain(process.stderr, err))
            try:
                # Shielded: the pipes are read to their end even after the kill, or asyncio never reports the exit.
                await asyncio.wait_for(asyncio.shield(streams), limits.wall_s)
            except TimeoutError:
                failure = "time_limit"
            finally:
                guarding.cancel()
                if failure or not streams.done():
                    watch.kill(process)
                await streams
                await process.wait()
            if failure is None and writable:
                failure = watch.disk()
            if failure is None and process.returncode != 0 and watch.exit_code() is None:
                failure = "sandbox"
            wall_s = time.monotonic() - started
            return Completed(process.returncode, out.value(), err.value(), failure == "time_limit", wall_s, failure)
        finally:
            os.close(status)

    def popen(
        self, argv: list[str], *, workspace: Path, readonly: dict[Path, str] | None = None, limits: config.Limits | None = None
    ) -> Process:
        limits = limits or self.limits
        status, status_fd = os.pipe()
        try:
            command = self.command(argv, workspace=workspace, status_fd=status_fd, limits=limits, readonly=readonly)
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, pass_fds=(status_fd,), env={}
            )
        except BaseException:
            os.close(status)
            raise
        finally:
            os.close(status_fd)
        return _Running(process, _Watch(status, workspace, limits), status)


class _Running(Process):
    """A process with a thread beside it that enforces the limits of the sandbox as a whole."""

    def __init__(self, process: subprocess.Popen, watch: "_Watch", status: int):
        self.process, self.watch, self.status = process, watch, status
        self.stdin, self.stdout = process.stdin, process.stdout
        self.ended = threading.Event()
        self.guard = threading.Thread(target=self._guard, daemon=True)
        self.guard.start()

    def _guard(self) -> None:
        while not self.ended.wait(WATCH_S) and self.process.poll() is None:
            if kind := self.watch.violation():
                self.failure_kind = kind
                self.watch.kill(self.process)
                return

    def kill(self) -> None:
        if self.ended.is_set():
            return
        self.ended.set()
        self.guard.join()
        self.watch.kill(self.process)
        self.process.wait()
        for pipe in (self.stdin, self.stdout):
            try:
                pipe.close()
            except BrokenPipeError:  # buffered bytes for a process that has gone
                continue
        os.close(self.status)


class _Watch:
    """What a running sandbox uses as a whole."""

    def __init__(self, status: int, workspace: Path | None, limits: config.Limits):
        os.set_blocking(status, False)
        self.status, self.workspace, self.limits = status, workspace, limits
        self.report = b""
        self.proc: str | None = None
        self.next_disk = 0.0

    def _events(self) -> dict:
        try:
            while data := os.read(self.status, 65536):
                self.report += data
        except BlockingIOError:
            pass  # nothing new yet
        events: dict = {}
        for line in self.report.splitlines():
            events |= json.loads(line)
        return events

    def exit_code(self) -> int | None:
        """The exit code bubblewrap reports of the process inside; null if it never came to run."""
        return self._events().get("exit-code")

    def kill(self, process: subprocess.Popen | asyncio.subprocess.Process) -> None:
        """End the sandbox by its first process: bubblewrap then ends after the last of them is gone, so that none can still write."""
        with suppress(ProcessLookupError):  # it ended a moment ago
            if process.returncode is None and (child := self._events().get("child-pid")) and "exit-code" not in self._events():
                os.kill(child, signal.SIGKILL)
            else:
                process.kill()

    def violation(self) -> str | None:
        """The limit that is exceeded now, if any."""
        if self.proc is None and (child := self._events().get("child-pid")):
            self.proc = f"/proc/{child}/root/proc"
        if self.proc:
            try:
                # Until bubblewrap has entered its new root, the path shows the host's processes.
                if os.stat(self.proc + "/..").st_dev == os.stat("/").st_dev:
                    return None
                running = [name for name in os.listdir(self.proc) if name.isdigit()]
            except OSError:
                return None  # it has just ended
            if len(running) > self.limits.processes:
                return "processes"
            if self._resident(running) > self.limits.total_memory_mb * 2**20:
                return "memory"
        now = time.monotonic()
        if now >= self.next_disk:
            kind = self.disk()
            self.next_disk = now + max(0.5, 20 * (time.monotonic() - now))
            return kind
        return None

    def _resident(self, running: list[str]) -> int:
        pages = 0
        for name in running:
            try:
                with open(f"{self.proc}/{name}/statm") as statm:
                    pages += int(statm.read().split()[1])
            except (OSError, IndexError):
                continue  # ended since the listing
        return pages * os.sysconf("SC_PAGE_SIZE")

    def disk(self) -> str | None:
        if self.workspace is None:
            return None
        size, entries = usage(self.workspace)
        return "disk" if size > self.limits.disk_mb * 2**20 or entries > MAX_ENTRIES else None


async def _feed(pipe: asyncio.StreamWriter, data: bytes) -> None:
    try:
        pipe.write(data)
        await pipe.drain()
        pipe.close()
        await pipe.wait_closed()
    except (BrokenPipeError, ConnectionResetError):
        return  # it ended without reading its input


async def _drain(stream: asyncio.StreamReader, sink: Capped) -> None:
    while data := await stream.read(65536):
        sink.feed(data)
