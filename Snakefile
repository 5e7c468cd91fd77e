import hashlib
import os
import sys
from pathlib import Path

from snakemake.utils import min_version

min_version("9.14.8")

# The library next to this file is what the rules run, also in remote jobs and in runs started with -d.
ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT))
os.environ["PYTHONPATH"] = str(ROOT)
# Rules call `python`: the one that runs Snakemake, whether or not its environment is activated.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

from clawgym.config import load, locate, select, variant as variant_config
from clawgym.errors import UserError

try:
    CONFIG = locate(load(config), ROOT)
except UserError as error:
    raise WorkflowError(str(error)) from None

SHARDS = [str(shard) for shard in range(CONFIG.shards)]
TEACHERS = CONFIG.rollouts.teachers
VARIANTS = list(CONFIG.variants)


def settings(*paths, variant=None):
    """The named settings as JSON for a rule's `params`: the rule reruns when one of them changes, and only then."""
    return select(variant_config(CONFIG, variant) if variant else CONFIG, *paths)


def code(stage):
    """Hash of a stage's sources, for `params` of cheap deterministic rules: an edit reruns them."""
    digest = hashlib.sha256()
    for source in sorted((ROOT / "clawgym" / stage).rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


wildcard_constraints:
    shard=r"\d+",
    model=r"[a-z0-9][a-z0-9._-]*",
    variant=r"[a-z0-9][a-z0-9._-]*",


include: "rules/seeds.smk"
include: "rules/tasks.smk"
include: "rules/resources.smk"
include: "rules/verifiers.smk"
include: "rules/quality.smk"
include: "rules/imports.smk"
include: "rules/rollouts.smk"
include: "rules/grades.smk"
include: "rules/trajectories.smk"
include: "rules/training.smk"
include: "rules/bench.smk"
include: "rules/report.smk"


rule all:
    default_target: True
    localrule: True
    input:
        rules.seeds.input,
        rules.tasks.input,
        rules.resources.input,
        rules.verifiers.input,
        rules.quality.input,
        rules.rollouts.input,
        rules.grades.input,
        rules.trajectories.input,
        rules.training.input,
        rules.bench.input,
        rules.report.input,
