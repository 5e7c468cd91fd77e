"""Real Snakemake runs: one small run of the whole workflow that several tests look at, in a working directory of its own."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Run:
    """One call of Snakemake."""

    code: int
    output: str

    @property
    def planned(self) -> dict[str, int]:
        """Jobs per rule, from the job table Snakemake prints."""
        tables = re.findall(r"^job +count\n-+ +-+\n((?:\S+ +\d+\n)+)", self.output, re.MULTILINE)
        return {rule: int(count) for rule, count in (line.split() for line in (tables[0].splitlines() if tables else []))}


def snakemake(folder: Path, *arguments: str, timeout: float = 900, **environment: str) -> Run:
    """Run the repository's workflow in `folder`."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "-d", str(folder), *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout
    )
    return Run(done.returncode, done.stdout)


@pytest.fixture(scope="session")
def small(tmp_path_factory) -> tuple[Path, Run]:
    """Working directory and output of one small run of `all`; tests must leave the folder as they found it."""
    if not shutil.which("bwrap"):
        pytest.fail("bubblewrap is missing; run `make env` or install it")
    folder = tmp_path_factory.mktemp("small")
    run = snakemake(folder, "--profile", str(ROOT / "local"), "--configfile", str(Path(__file__).parent / "small.yaml"), "--", "all")
    assert run.code == 0, run.output[-6000:]
    return folder, run


@pytest.fixture
def plan(small):
    """Plans a run in the finished folder: `plan()` with the small configuration, `plan(more.yaml)` with settings over it."""
    folder, _ = small

    def planned(*configfiles: Path) -> Run:
        files = [str(Path(__file__).parent / "small.yaml"), *map(str, configfiles)]
        run = snakemake(folder, "--profile", str(ROOT / "local"), "-n", "--configfile", *files, "--", "all")
        assert run.code == 0, run.output[-3000:]
        return run

    return planned
