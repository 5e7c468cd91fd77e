"""Calls of Snakemake on the repository's workflow."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

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
