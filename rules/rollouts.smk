# Teachers work on the training tasks, one job per shard; captures and snapshots are collected beside the table.


rule run_rollouts:
    input:
        tasks="results/quality/tasks.parquet",
    output:
        rollouts="results/rollouts/{model}/shards/{shard}/rollouts.parquet",
    log:
        "results/logs/rollouts/run_rollouts.{model}.{shard}.log",
    benchmark:
        "results/logs/rollouts/run_rollouts.{model}.{shard}.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 4000 * attempt,
        runtime=lambda wc, attempt: 240 * attempt,
    params:
        settings=lambda wc: settings("rollouts", "sandbox", "spend", "seed", f"models.{wc.model}"),
        shards=len(SHARDS),
    message:
        "Rolling out {wildcards.model} on shard {wildcards.shard} of the training tasks"
    shell:
        "python -m scripts.run_rollouts --tasks {input.tasks:q} --split train --model {wildcards.model}"
        " --shard {wildcards.shard} --shards {params.shards} --settings {params.settings:q}"
        " --out {output.rollouts:q} > {log:q} 2>&1"


rule collect_rollouts:
    input:
        shards=shard_tables,
    output:
        rollouts="results/rollouts/{model}/rollouts.parquet",
        captures=directory("results/rollouts/{model}/captures"),
        snapshots=directory("results/rollouts/{model}/snapshots"),
    log:
        "results/logs/rollouts/collect_rollouts.{model}.log",
    benchmark:
        "results/logs/rollouts/collect_rollouts.{model}.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 2000 * attempt,
        runtime=30,
    message:
        "Collecting the rollouts of {wildcards.model}"
    shell:
        "python -m scripts.collect_rollouts --shards {input.shards:q} --out {output.rollouts:q}"
        " --captures {output.captures:q} --snapshots {output.snapshots:q} > {log:q} 2>&1"


rule rollouts:
    input:
        expand("results/rollouts/{model}/rollouts.parquet", model=TEACHERS),
        expand("results/rollouts/{model}/captures", model=TEACHERS),
        expand("results/rollouts/{model}/snapshots", model=TEACHERS),
    localrule: True
