rule embed_tasks:
    input:
        tasks="results/tasks/tasks.parquet",
    output:
        "results/quality/embeddings.parquet",
    log:
        "results/logs/quality/embed_tasks.log",
    benchmark:
        "results/logs/quality/embed_tasks.bench.jsonl"
    threads: 2
    resources:
        mem_mb=lambda wc, attempt: 3000 * attempt,
        runtime=60,
    params:
        settings=settings("embedder"),
    message:
        "Embedding the instructions"
    shell:
        "python -m scripts.embed_tasks --tasks {input.tasks:q} --settings {params.settings:q} --out {output:q} > {log:q} 2>&1"


rule filter_novelty:
    input:
        embeddings="results/quality/embeddings.parquet",
    output:
        "results/quality/novelty.parquet",
    log:
        "results/logs/quality/filter_novelty.log",
    benchmark:
        "results/logs/quality/filter_novelty.bench.jsonl"
    threads: 2
    resources:
        mem_mb=lambda wc, attempt: 2000 * attempt,
        runtime=30,
    params:
        settings=settings("quality.novelty"),
        code=code("quality"),
    message:
        "Looking for near copies among all tasks"
    shell:
        "python -m scripts.filter_novelty"
        " --embeddings {input.embeddings:q} --settings {params.settings:q} --out {output:q} > {log:q} 2>&1"


rule judge_tasks:
    input:
        tasks="results/resources/tasks.parquet",
        verifiers="results/verifiers/verifiers.parquet",
        cards="results/verifiers/cards.parquet",
        novelty="results/quality/novelty.parquet",
        prompt=f"{CONFIG.prompts}/judge_task.j2",
    output:
        "results/quality/shards/{shard}/judgements.parquet",
    log:
        "results/logs/quality/judge_tasks.{shard}.log",
    benchmark:
        "results/logs/quality/judge_tasks.{shard}.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 1000 * attempt,
        runtime=240,
    params:
        settings=settings("models.judge", "prompts", "quality.gates", "spend"),
        shards=len(SHARDS),
    message:
        "Judging the tasks of shard {wildcards.shard}"
    shell:
        "python -m scripts.judge_tasks"
        " --tasks {input.tasks:q} --verifiers {input.verifiers:q} --cards {input.cards:q} --novelty {input.novelty:q}"
        " --shard {wildcards.shard} --shards {params.shards} --settings {params.settings:q} --out {output:q} > {log:q} 2>&1"


rule collect_judgements:
    input:
        shards=expand("results/quality/shards/{shard}/judgements.parquet", shard=SHARDS),
    output:
        "results/quality/judgements.parquet",
    log:
        "results/logs/quality/collect_judgements.log",
    benchmark:
        "results/logs/quality/collect_judgements.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 500 * attempt,
        runtime=10,
    message:
        "Collecting the judgements"
    shell:
        "python -m scripts.collect_judgements --shards {input.shards:q} --out {output:q} > {log:q} 2>&1"


rule decide_tasks:
    input:
        seeds="results/seeds/seeds.parquet",
        personas="results/seeds/personas.parquet",
        skills="results/seeds/skills.parquet",
        tasks="results/tasks/tasks.parquet",
        filled_tasks="results/resources/tasks.parquet",
        verifiers="results/verifiers/verifiers.parquet",
        cards="results/verifiers/cards.parquet",
        novelty="results/quality/novelty.parquet",
        judgements="results/quality/judgements.parquet",
        rejects=[
            "results/tasks/rejects.parquet",
            "results/resources/rejects.parquet",
            "results/verifiers/rejects.parquet",
        ],
    output:
        decisions="results/quality/decisions.parquet",
        funnel="results/quality/funnel.parquet",
        kept="results/quality/tasks.parquet",
    log:
        "results/logs/quality/decide_tasks.log",
    benchmark:
        "results/logs/quality/decide_tasks.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 2000 * attempt,
        runtime=20,
    params:
        settings=settings("quality.gates", "quality.split"),
        code=code("quality"),
    message:
        "Deciding which tasks stay"
    shell:
        "python -m scripts.decide_tasks"
        " --seeds {input.seeds:q} --personas {input.personas:q} --skills {input.skills:q}"
        " --tasks {input.tasks:q} --filled-tasks {input.filled_tasks:q}"
        " --verifiers {input.verifiers:q} --cards {input.cards:q}"
        " --novelty {input.novelty:q} --judgements {input.judgements:q} --rejects {input.rejects:q}"
        " --settings {params.settings:q}"
        " --decisions {output.decisions:q} --funnel {output.funnel:q} --kept {output.kept:q} > {log:q} 2>&1"


rule quality:
    input:
        "results/quality/embeddings.parquet",
        "results/quality/novelty.parquet",
        "results/quality/judgements.parquet",
        "results/quality/decisions.parquet",
        "results/quality/funnel.parquet",
        "results/quality/tasks.parquet",
    localrule: True
