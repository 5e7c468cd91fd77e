rule write_files:
    input:
        tasks="results/tasks/tasks.parquet",
        prompt=f"{CONFIG.prompts}/write_file.j2",
    output:
        tasks="results/resources/shards/{shard}/tasks.parquet",
        rejects="results/resources/shards/{shard}/rejects.parquet",
    log:
        "results/logs/resources/write_files.{shard}.log",
    benchmark:
        "results/logs/resources/write_files.{shard}.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 1500 * attempt,
        runtime=480,
    params:
        settings=settings("models.author", "prompts", "resources", "spend"),
        shards=len(SHARDS),
    message:
        "Writing the input files of shard {wildcards.shard}"
    shell:
        "python -m scripts.write_files --tasks {input.tasks:q}"
        " --shard {wildcards.shard} --shards {params.shards} --settings {params.settings:q}"
        " --filled-tasks {output.tasks:q} --rejects {output.rejects:q} > {log:q} 2>&1"


rule collect_files:
    input:
        tasks=expand("results/resources/shards/{shard}/tasks.parquet", shard=SHARDS),
        rejects=expand("results/resources/shards/{shard}/rejects.parquet", shard=SHARDS),
    output:
        tasks="results/resources/tasks.parquet",
        rejects="results/resources/rejects.parquet",
    log:
        "results/logs/resources/collect_files.log",
    benchmark:
        "results/logs/resources/collect_files.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 1500 * attempt,
        runtime=10,
    message:
        "Collecting the tasks with their files"
    shell:
        "python -m scripts.collect_files"
        " --task-shards {input.tasks:q} --reject-shards {input.rejects:q}"
        " --tasks {output.tasks:q} --rejects {output.rejects:q} > {log:q} 2>&1"


rule resources:
    input:
        "results/resources/tasks.parquet",
        "results/resources/rejects.parquet",
    localrule: True
