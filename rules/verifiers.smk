rule write_verifiers:
    input:
        tasks="results/resources/tasks.parquet",
        prompts=multiext(f"{CONFIG.prompts}/", "write_verifier.j2", "write_solution.j2"),
    output:
        verifiers="results/verifiers/shards/{shard}/verifiers.parquet",
        rejects="results/verifiers/shards/{shard}/rejects.parquet",
    log:
        "results/logs/verifiers/write_verifiers.{shard}.log",
    benchmark:
        "results/logs/verifiers/write_verifiers.{shard}.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 1500 * attempt,
        runtime=480,
    params:
        settings=settings("models.author", "models.solver", "prompts", "spend", "verifiers"),
        shards=len(SHARDS),
    message:
        "Writing the verifiers of shard {wildcards.shard}"
    shell:
        "python -m scripts.write_verifiers --tasks {input.tasks:q}"
        " --shard {wildcards.shard} --shards {params.shards} --settings {params.settings:q}"
        " --verifiers {output.verifiers:q} --rejects {output.rejects:q} > {log:q} 2>&1"


rule run_cards:
    input:
        tasks="results/resources/tasks.parquet",
        verifiers="results/verifiers/shards/{shard}/verifiers.parquet",
    output:
        "results/verifiers/shards/{shard}/cards.parquet",
    log:
        "results/logs/verifiers/run_cards.{shard}.log",
    benchmark:
        "results/logs/verifiers/run_cards.{shard}.bench.jsonl"
    threads: 2
    resources:
        mem_mb=lambda wc, attempt: 2500 * attempt,
        runtime=240,
    params:
        settings=settings("grades", "sandbox", "verifiers"),
        shards=len(SHARDS),
        code=code("verifiers"),
    message:
        "Running the graders of shard {wildcards.shard} on known states"
    shell:
        "python -m scripts.run_cards --tasks {input.tasks:q} --verifiers {input.verifiers:q}"
        " --shard {wildcards.shard} --shards {params.shards} --settings {params.settings:q}"
        " --cards {output:q} > {log:q} 2>&1"


rule collect_verifiers:
    input:
        verifiers=expand("results/verifiers/shards/{shard}/verifiers.parquet", shard=SHARDS),
        cards=expand("results/verifiers/shards/{shard}/cards.parquet", shard=SHARDS),
        rejects=expand("results/verifiers/shards/{shard}/rejects.parquet", shard=SHARDS),
    output:
        verifiers="results/verifiers/verifiers.parquet",
        cards="results/verifiers/cards.parquet",
        rejects="results/verifiers/rejects.parquet",
    log:
        "results/logs/verifiers/collect_verifiers.log",
    benchmark:
        "results/logs/verifiers/collect_verifiers.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 1000 * attempt,
        runtime=10,
    message:
        "Collecting verifiers and cards"
    shell:
        "python -m scripts.collect_verifiers --verifier-shards {input.verifiers:q}"
        " --card-shards {input.cards:q} --reject-shards {input.rejects:q}"
        " --verifiers {output.verifiers:q} --cards {output.cards:q} --rejects {output.rejects:q} > {log:q} 2>&1"


rule verifiers:
    input:
        "results/verifiers/verifiers.parquet",
        "results/verifiers/cards.parquet",
        "results/verifiers/rejects.parquet",
    localrule: True
