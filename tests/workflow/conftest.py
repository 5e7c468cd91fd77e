"""One small real run of the whole workflow that several tests look at, in a working directory of its own."""

import shutil
from pathlib import Path

import pytest

from tests.workflow.runs import ROOT, Run, snakemake


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
