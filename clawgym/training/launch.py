"""One process or several: a training script starts itself again under torchrun where the settings ask for it."""

import os
import subprocess
import sys

from clawgym.config import Rl, Sft


def under_torchrun(settings: Sft | Rl, argv: list[str]) -> int | None:
    """Run this script in `processes` processes and return their exit code; null if this process is to do the work itself.

    DeepSpeed needs torchrun's environment with one process too. On a machine without a GPU the processes talk over gloo.
    """
    if "LOCAL_RANK" in os.environ or (settings.processes == 1 and not settings.deepspeed):
        return None
    import torch

    env = dict(os.environ)
    if not torch.cuda.is_available():
        env["DS_ACCELERATOR"] = "cpu"
        threads = max(1, int(env.get("OMP_NUM_THREADS") or os.cpu_count() or 1) // settings.processes)
        env["OMP_NUM_THREADS"] = str(threads)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(settings.processes)]
    return subprocess.run([*command, sys.argv[0], *argv], env=env).returncode


def spare_deepspeed_build() -> None:
    """On a CPU, let DeepSpeed talk over gloo instead of compiling kernels for shared memory first, which takes minutes."""
    import torch

    if not torch.cuda.is_available():
        import deepspeed.ops

        deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False


def is_first() -> bool:
    """Is this the process that writes?"""
    return os.environ.get("RANK", "0") == "0"
