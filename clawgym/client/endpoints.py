"""Where a model answers: a URL that is served already, the embedded stand-in, or a checkpoint folder served for the time of a job."""

import asyncio
import ctypes
import os
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

import psutil

from clawgym.config import Model
from clawgym.errors import UserError
from clawgym.tables import fingerprint

PR_SET_PDEATHSIG = 1
SERVER = Path(__file__).with_name("serve.py")


@cache
def _stand_in_version() -> str:
    sources = sorted((Path(__file__).parent.parent / "offline").rglob("*.py"))
    return fingerprint([source.read_text() for source in sources])


def identity(model: Model) -> str:
    """What stands for the endpoint in a cache key. It changes when the same name would answer differently:
    another version of the stand-in, other files in a checkpoint folder."""
    if model.base_url == "offline":
        return f"offline:{_stand_in_version()}"
    if model.base_url == "checkpoint":
        files = sorted(path for path in Path(model.model).glob("*") if path.is_file())
        return "checkpoint:" + fingerprint([[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in files])
    return model.base_url.rstrip("/")


def is_local(base_url: str) -> bool:
    """Is it this machine? Then a proxy named in the environment must not be asked for it."""
    return base_url.startswith(("http://127.0.0.1", "http://localhost", "http://[::1]"))


@asynccontextmanager
async def serve(
    model: Model, *, log: Path | None = None, dtype: str = "auto", arguments: Sequence[str] = (), start_s: float = 600.0
) -> AsyncIterator[str]:
    """The base URL at which `model` answers while the context is open.

    `offline` starts the stand-in in this process on a free loopback port; `checkpoint` starts `transformers serve` on the folder
    `model.model` with its output in `log` and waits up to `start_s` seconds for its health; any other base_url is given back unchanged.
    arguments: further arguments of `transformers serve`.
    Raises UserError if the folder is missing or the server does not come up.
    """
    if model.base_url == "offline":
        async with _stand_in() as url:
            yield url
    elif model.base_url == "checkpoint":
        async with _checkpoint(Path(model.model), log, dtype, arguments, start_s) as url:
            yield url
    else:
        yield model.base_url


@asynccontextmanager
async def _stand_in() -> AsyncIterator[str]:
    from aiohttp import web

    from clawgym.offline.server import create_app

    runner = web.AppRunner(create_app(), access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}/v1"
    finally:
        await runner.cleanup()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _listens(pid: int, port: int) -> bool:
    """Is it this process that answers there? Another program may have taken the port since it was found free."""
    try:
        return any(c.status == psutil.CONN_LISTEN and c.laddr.port == port for c in psutil.Process(pid).net_connections("tcp"))
    except psutil.NoSuchProcess:
        return False


def _tail(path: Path) -> str:
    lines = [line for line in path.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no output"


@asynccontextmanager
async def _checkpoint(folder: Path, log: Path | None, dtype: str, arguments: Sequence[str], start_s: float) -> AsyncIterator[str]:
    if not (folder / "config.json").is_file():
        raise UserError(f"{folder}: expected a checkpoint folder with config.json; run the training stage or correct model: of this entry")
    if log is None:
        log = Path(tempfile.mkstemp(prefix="transformers-serve-", suffix=".log")[1])
    port = _free_port()
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        sink = open(log, "ab")
    except OSError as error:
        raise UserError(f"{log}: the log of transformers serve cannot be written ({error.strerror}); move what is there away") from None
    with sink:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", str(SERVER), "serve", str(folder),
            "--host", "127.0.0.1", "--port", str(port), "--dtype", dtype, *arguments,
            stdin=asyncio.subprocess.DEVNULL, stdout=sink, stderr=sink,
            # Spinning threads stand still on a core that an agent's process needs: a step then takes many times as long.
            env=os.environ | {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_WAIT_POLICY": "PASSIVE"},
            start_new_session=True, preexec_fn=_die_with_parent if sys.platform == "linux" else None,
        )  # fmt: skip
    try:
        await _healthy(process, port, log, start_s)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                await asyncio.wait_for(process.wait(), 10)
            except TimeoutError:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()


async def _healthy(process: asyncio.subprocess.Process, port: int, log: Path, start_s: float) -> None:
    import httpx2

    loop = asyncio.get_running_loop()
    deadline = loop.time() + start_s
    async with httpx2.AsyncClient(trust_env=False, timeout=5) as http:
        while loop.time() < deadline:
            if process.returncode is not None:
                raise UserError(f"transformers serve ended with code {process.returncode} ({_tail(log)}); its output is in {log}")
            try:
                if (await http.get(f"http://127.0.0.1:{port}/health")).status_code == 200 and _listens(process.pid, port):
                    return
            except httpx2.HTTPError:
                pass  # not listening yet: asked again until the deadline
            await asyncio.sleep(0.3)
    raise UserError(f"transformers serve did not answer within {start_s:.0f} s; its output is in {log}")
