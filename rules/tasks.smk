rule write_tasks:
    input:
        seeds="results/seeds/seeds.parquet",
        skills="results/seeds/skills.parquet",
        taxonomy=multiext(f"{CONFIG.seeds.taxonomy}/", "scenarios.yaml", "operations.yaml", "skill_categories.yaml"),
        prompt=f"{CONFIG.prompts}/write_task.j2",
    output:
        tasks="results/tasks/shards/{shard}/tasks.parquet",
        rejects="results/tasks/shards/{shard}/rejects.parquet",
    log:
        "results/logs/tasks/write_tasks.{shard}.log",
    benchmark:
        "results/logs/tasks/write_tasks.{shard}.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 1000 * attempt,
        runtime=480,
    params:
        settings=settings("models.author", "prompts", "seeds.taxonomy", "spend", "tasks"),
        shards=len(SHARDS),
    message:
        "Writing the tasks of shard {wildcards.shard}"
    shell:
        "python -m scripts.write_tasks --seeds {input.seeds:q} --skills {input.skills:q}"
        " --shard {wildcards.shard} --shards {params.shards} --settings {params.settings:q}"
        " --tasks {output.tasks:q} --rejects {output.rejects:q} > {log:q} 2>&1"


rule collect_tasks:
    input:
        tasks=expand("results/tasks/shards/{shard}/tasks.parquet", shard=SHARDS),
        rejects=expand("results/tasks/shards/{shard}/rejects.parquet", shard=SHARDS),
    output:
        tasks="results/tasks/tasks.parquet",
        rejects="results/tasks/rejects.parquet",
    log:
        "results/logs/tasks/collect_tasks.log",
    benchmark:
        "results/logs/tasks/collect_tasks.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 1000 * attempt,
        runtime=10,
    message:
        "Collecting the tasks"
    shell:
        "python -m scripts.collect_tasks"
        " --task-shards {input.tasks:q} --reject-shards {input.rejects:q}"
        " --tasks {output.tasks:q} --rejects {output.rejects:q} > {log:q} 2>&1"


rule tasks:
    input:
        "results/tasks/tasks.parquet",
        "results/tasks/rejects.parquet",
    localrule: True
