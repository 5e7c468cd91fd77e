# Code checks on the snapshots, rubric rules by the judge; failures are typed and never zero.


rule grade_rollouts:
    input:
        tasks="results/quality/tasks.parquet",
        verifiers="results/verifiers/verifiers.parquet",
        rollouts="results/rollouts/{model}/rollouts.parquet",
        captures="results/rollouts/{model}/captures",
        snapshots="results/rollouts/{model}/snapshots",
        prompt=f"{CONFIG.prompts}/judge_rule.j2",
    output:
        grades="results/grades/{model}/grades.parquet",
        scores="results/grades/{model}/scores.parquet",
    log:
        "results/logs/grades/grade_rollouts.{model}.log",
    benchmark:
        "results/logs/grades/grade_rollouts.{model}.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 4000 * attempt,
        runtime=lambda wc, attempt: 120 * attempt,
    params:
        settings=settings("grades", "models.judge", "prompts", "sandbox", "spend"),
        code=code("grades"),
    message:
        "Grading the rollouts of {wildcards.model}"
    shell:
        "python -m scripts.grade_rollouts --tasks {input.tasks:q} --verifiers {input.verifiers:q}"
        " --rollouts {input.rollouts:q} --settings {params.settings:q}"
        " --grades {output.grades:q} --scores {output.scores:q} > {log:q} 2>&1"


rule grades:
    input:
        expand("results/grades/{model}/{table}.parquet", model=TEACHERS, table=["grades", "scores"]),
    localrule: True
