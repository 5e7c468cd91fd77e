from clawgym.imports.listing import listing


rule read_imports:
    output:
        tasks="results/imports/tasks.parquet",
        verifiers="results/imports/verifiers.parquet",
        rejects="results/imports/rejects.parquet",
    log:
        "results/logs/imports/read_imports.log",
    benchmark:
        "results/logs/imports/read_imports.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 1000 * attempt,
        runtime=20,
    params:
        settings=settings("imports", "resources"),
        files=lambda wc: listing([CONFIG.imports.clawgym, CONFIG.imports.pinchbench]),
        code=code("imports"),
    message:
        "Reading tasks of other projects"
    shell:
        "python -m scripts.read_imports --settings {params.settings:q}"
        " --tasks {output.tasks:q} --verifiers {output.verifiers:q} --rejects {output.rejects:q} > {log:q} 2>&1"


rule run_import_cards:
    input:
        tasks="results/imports/tasks.parquet",
        verifiers="results/imports/verifiers.parquet",
    output:
        "results/imports/cards.parquet",
    log:
        "results/logs/imports/run_import_cards.log",
    benchmark:
        "results/logs/imports/run_import_cards.bench.jsonl"
    threads: 2
    resources:
        mem_mb=lambda wc, attempt: 2500 * attempt,
        runtime=240,
    params:
        settings=settings("grades", "sandbox"),
    message:
        "Running the imported graders on the untouched and the empty workspace"
    shell:
        "python -m scripts.run_cards --tasks {input.tasks:q} --verifiers {input.verifiers:q}"
        " --settings {params.settings:q} --cards {output:q} > {log:q} 2>&1"


rule decide_imports:
    input:
        tasks="results/imports/tasks.parquet",
        verifiers="results/imports/verifiers.parquet",
        rejects="results/imports/rejects.parquet",
        cards="results/imports/cards.parquet",
    output:
        decisions="results/imports/decisions.parquet",
        kept="results/imports/kept.parquet",
    log:
        "results/logs/imports/decide_imports.log",
    benchmark:
        "results/logs/imports/decide_imports.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 1000 * attempt,
        runtime=10,
    params:
        settings=settings("quality.gates"),
        code=code("imports") + code("quality"),
    message:
        "Deciding which imported tasks can be rolled out"
    shell:
        "python -m scripts.decide_imports --tasks {input.tasks:q} --verifiers {input.verifiers:q}"
        " --rejects {input.rejects:q} --cards {input.cards:q} --settings {params.settings:q}"
        " --decisions {output.decisions:q} --kept {output.kept:q} > {log:q} 2>&1"


rule import_tasks:
    input:
        "results/imports/tasks.parquet",
        "results/imports/verifiers.parquet",
        "results/imports/rejects.parquet",
        "results/imports/cards.parquet",
        "results/imports/decisions.parquet",
        "results/imports/kept.parquet",
    localrule: True


rule run_import_rollouts:
    input:
        tasks="results/imports/kept.parquet",
    output:
        "results/imports/rollouts/{model}/shards/{shard}/rollouts.parquet",
    log:
        "results/logs/imports/run_import_rollouts.{model}.{shard}.log",
    benchmark:
        "results/logs/imports/run_import_rollouts.{model}.{shard}.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 4000 * attempt,
        runtime=lambda wc, attempt: 240 * attempt,
    params:
        settings=lambda wc: settings("rollouts", "sandbox", "spend", "seed", f"models.{wc.model}"),
        shards=len(SHARDS),
    message:
        "Rolling out {wildcards.model} on shard {wildcards.shard} of the imported tasks"
    shell:
        "python -m scripts.run_rollouts --tasks {input.tasks:q} --model {wildcards.model} --stage imports"
        " --shard {wildcards.shard} --shards {params.shards} --settings {params.settings:q} --out {output:q} > {log:q} 2>&1"


rule collect_import_rollouts:
    input:
        shards=lambda wc: expand("results/imports/rollouts/{model}/shards/{shard}/rollouts.parquet", model=wc.model, shard=SHARDS),
    output:
        rollouts="results/imports/rollouts/{model}/rollouts.parquet",
        captures=directory("results/imports/rollouts/{model}/captures"),
        snapshots=directory("results/imports/rollouts/{model}/snapshots"),
    log:
        "results/logs/imports/collect_import_rollouts.{model}.log",
    benchmark:
        "results/logs/imports/collect_import_rollouts.{model}.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 2000 * attempt,
        runtime=30,
    message:
        "Collecting the rollouts of {wildcards.model} on imported tasks"
    shell:
        "python -m scripts.collect_rollouts --shards {input.shards:q} --out {output.rollouts:q}"
        " --captures {output.captures:q} --snapshots {output.snapshots:q} > {log:q} 2>&1"


rule grade_import_rollouts:
    input:
        tasks="results/imports/kept.parquet",
        verifiers="results/imports/verifiers.parquet",
        rollouts="results/imports/rollouts/{model}/rollouts.parquet",
        captures="results/imports/rollouts/{model}/captures",
        snapshots="results/imports/rollouts/{model}/snapshots",
        prompt=f"{CONFIG.prompts}/judge_rule.j2",
    output:
        grades="results/imports/grades/{model}/grades.parquet",
        scores="results/imports/grades/{model}/scores.parquet",
    log:
        "results/logs/imports/grade_import_rollouts.{model}.log",
    benchmark:
        "results/logs/imports/grade_import_rollouts.{model}.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 4000 * attempt,
        runtime=lambda wc, attempt: 120 * attempt,
    params:
        settings=settings("grades", "models.judge", "prompts", "sandbox", "spend"),
        code=code("grades"),
    message:
        "Grading the rollouts of {wildcards.model} on imported tasks"
    shell:
        "python -m scripts.grade_rollouts --tasks {input.tasks:q} --verifiers {input.verifiers:q}"
        " --rollouts {input.rollouts:q} --settings {params.settings:q}"
        " --grades {output.grades:q} --scores {output.scores:q} > {log:q} 2>&1"


rule rollout_imports:
    input:
        rules.import_tasks.input,
        expand("results/imports/rollouts/{model}/{artefact}", model=TEACHERS, artefact=["rollouts.parquet", "captures", "snapshots"]),
        expand("results/imports/grades/{model}/{table}.parquet", model=TEACHERS, table=["grades", "scores"]),
    localrule: True
