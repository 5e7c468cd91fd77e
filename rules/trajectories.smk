rule build_trajectories:
    input:
        tasks="results/quality/tasks.parquet",
        rollouts=expand("results/rollouts/{model}/rollouts.parquet", model=TEACHERS),
        captures=expand("results/rollouts/{model}/captures", model=TEACHERS),
        scores=expand("results/grades/{model}/scores.parquet", model=TEACHERS),
    output:
        trajectories="results/trajectories/{variant}/trajectories.parquet",
        stats="results/trajectories/{variant}/stats.parquet",
    log:
        "results/logs/trajectories/build_trajectories.{variant}.log",
    benchmark:
        "results/logs/trajectories/build_trajectories.{variant}.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 2000 * attempt,
        runtime=60,
    params:
        settings=lambda wc: settings("trajectories", variant=wc.variant),
        code=code("trajectories"),
    message:
        "Selecting trajectories ({wildcards.variant})"
    shell:
        "python -m scripts.build_trajectories"
        " --tasks {input.tasks:q} --rollouts {input.rollouts:q} --scores {input.scores:q} --settings {params.settings:q}"
        " --trajectories {output.trajectories:q} --stats {output.stats:q} > {log:q} 2>&1"


rule trajectories:
    input:
        expand("results/trajectories/{variant}/{table}.parquet", variant=VARIANTS, table=["trajectories", "stats"]),
    localrule: True
