# Shared by all .smk files: the settings, and functions for params and inputs.
import hashlib
import os
import shlex
import sys
from pathlib import Path

# The library next to the Snakefile is what the rules run, also in remote jobs and in runs started with -d.
ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT))

from clawgym.config import load, locate, select, variant as variant_config
from clawgym.errors import UserError

try:
    CONFIG = locate(load(config), ROOT)
except UserError as error:
    raise WorkflowError(str(error)) from None

# Rules call `python`: the one that runs Snakemake, whether or not its environment is activated.
shell.prefix(f"export PYTHONPATH={shlex.quote(str(ROOT))} PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH; ")

SHARDS = [str(shard) for shard in range(CONFIG.shards)]
TEACHERS = CONFIG.rollouts.teachers
VARIANTS = list(CONFIG.variants)


def settings(*paths, variant=None):
    """The named settings as JSON, for `params`: what uses them reruns when one of them changes, and only then."""
    return select(variant_config(CONFIG, variant) if variant else CONFIG, *paths)


def code(stage):
    """Hash of a stage's sources, for `params` where computing is cheap and deterministic: an edit reruns it."""
    digest = hashlib.sha256()
    for source in sorted((ROOT / "clawgym" / stage).rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


def persona_file(wildcards):
    """The user's persona file, if there is one; a wrong name gets its message from the script."""
    source = CONFIG.seeds.personas.source
    return [source] if source and Path(source).is_file() else []


def skill_files(wildcards):
    """Every SKILL.md of the skill folders, so that an edited, new or removed one annotates the skills again."""
    return [path for path in all_skill_files() if not set("{}") & set(path)]


def odd_skill_files():
    """Hash of the skills whose paths have braces, which are wildcards to Snakemake, so that they cannot be inputs."""
    digest = hashlib.sha256()
    for path in all_skill_files():
        if set("{}") & set(path):
            digest.update(path.encode(errors="surrogateescape"))
            digest.update(hashlib.sha256(Path(path).read_bytes()).digest())
    return digest.hexdigest()[:12]


def all_skill_files():
    found = [path for folder in CONFIG.seeds.skills.folders for path in Path(folder).rglob("*") if path.name.lower() == "skill.md"]
    # What cannot be read is no input; its row in the table of skills says so.
    return sorted({str(path) for path in found if os.path.isfile(path) and os.access(path, os.R_OK)})


def shard_tables(wc):
    return expand("results/rollouts/{model}/shards/{shard}/rollouts.parquet", model=wc.model, shard=SHARDS)
