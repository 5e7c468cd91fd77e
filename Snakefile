from snakemake.utils import min_version

min_version("9.14.8")


include: "rules/common.smk"


# Used with --software-deployment-method apptainer only; envs/Dockerfile builds the image.
container: CONFIG.container


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
    localrule: True
