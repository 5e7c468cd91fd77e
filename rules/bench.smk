# Items: held-out tasks that the strong model solves and the weak one often fails. Then every model on every item, graded and summarised.
from clawgym.bench import models as bench_models

BENCH_MODELS = bench_models.names(CONFIG)
ABLATED_MODELS = bench_models.ablated(CONFIG)
CALIBRATION = [CONFIG.bench.calibration.strong, CONFIG.bench.calibration.weak]


rule list_candidates:
    input:
        tasks="results/quality/tasks.parquet",
    output:
        candidates="results/bench/candidates.parquet",
    log:
        "results/logs/bench/list_candidates.log",
    benchmark:
        "results/logs/bench/list_candidates.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 2000 * attempt,
        runtime=15,
    params:
        settings=settings("bench.calibration", "bench.heldout_items", "bench.unseen_items", "seed"),
        code=bench_models.source("items.py"),
    message:
        "Listing bench candidates"
    shell:
        "python -m scripts.list_candidates --tasks {input.tasks:q}"
        " --settings {params.settings:q} --candidates {output.candidates:q} > {log:q} 2>&1"


rule run_calibration:
    input:
        tasks="results/bench/candidates.parquet",
    output:
        rollouts="results/bench/calibration/{model}/rollouts.parquet",
        captures=directory("results/bench/calibration/{model}/captures"),
        snapshots=directory("results/bench/calibration/{model}/snapshots"),
    log:
        "results/logs/bench/run_calibration.{model}.log",
    benchmark:
        "results/logs/bench/run_calibration.{model}.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 4000 * attempt,
        runtime=lambda wc, attempt: 120 * attempt,
    params:
        settings=lambda wc: bench_models.calibration_settings(CONFIG, wc.model),
    message:
        "Calibrating bench candidates with {wildcards.model}"
    shell:
        "mkdir -p {output.captures:q} {output.snapshots:q} && "
        "python -m scripts.run_rollouts --tasks {input.tasks:q} --model {wildcards.model}"
        " --stage bench --series calibration --work results/.work/calibration"
        " --settings {params.settings:q} --out {output.rollouts:q} > {log:q} 2>&1"


rule grade_calibration:
    input:
        tasks="results/bench/candidates.parquet",
        verifiers="results/verifiers/verifiers.parquet",
        rollouts="results/bench/calibration/{model}/rollouts.parquet",
        captures="results/bench/calibration/{model}/captures",
        snapshots="results/bench/calibration/{model}/snapshots",
        prompt=f"{CONFIG.prompts}/judge_rule.j2",
    output:
        grades="results/bench/calibration/{model}/grades.parquet",
        scores="results/bench/calibration/{model}/scores.parquet",
    log:
        "results/logs/bench/grade_calibration.{model}.log",
    benchmark:
        "results/logs/bench/grade_calibration.{model}.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 4000 * attempt,
        runtime=lambda wc, attempt: 60 * attempt,
    params:
        settings=settings("grades", "models.judge", "prompts", "sandbox", "spend"),
        code=code("grades"),
    message:
        "Grading the calibration of {wildcards.model}"
    shell:
        "python -m scripts.grade_rollouts --tasks {input.tasks:q} --verifiers {input.verifiers:q} --rollouts {input.rollouts:q}"
        " --settings {params.settings:q} --grades {output.grades:q} --scores {output.scores:q} > {log:q} 2>&1"


rule select_items:
    input:
        tasks="results/quality/tasks.parquet",
        verifiers="results/verifiers/verifiers.parquet",
        scores=expand("results/bench/calibration/{model}/scores.parquet", model=CALIBRATION),
    output:
        bench_items="results/bench/items.parquet",
        tasks="results/bench/tasks.parquet",
    log:
        "results/logs/bench/select_items.log",
    benchmark:
        "results/logs/bench/select_items.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 2000 * attempt,
        runtime=15,
    params:
        settings=settings("bench.calibration", "bench.heldout_items", "bench.unseen_items", "seed"),
        code=bench_models.source("items.py"),
    message:
        "Choosing the bench items"
    shell:
        "python -m scripts.select_items --tasks {input.tasks:q} --verifiers {input.verifiers:q} --scores {input.scores:q}"
        " --settings {params.settings:q} --items {output.bench_items:q} --kept-tasks {output.tasks:q} > {log:q} 2>&1"


rule build_fewshot:
    input:
        tasks="results/quality/tasks.parquet",
        trajectories="results/trajectories/baseline/trajectories.parquet",
    output:
        prefix="results/bench/fewshot.jsonl",
    log:
        "results/logs/bench/build_fewshot.log",
    benchmark:
        "results/logs/bench/build_fewshot.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 2000 * attempt,
        runtime=15,
    params:
        settings=settings("bench.fewshot"),
        code=bench_models.source("items.py"),
    message:
        "Choosing worked examples for the base model"
    shell:
        "python -m scripts.build_fewshot --tasks {input.tasks:q} --trajectories {input.trajectories:q}"
        " --settings {params.settings:q} --out {output.prefix:q} > {log:q} 2>&1"


rule run_bench:
    input:
        unpack(lambda wc: bench_models.files(wc.model)),
        tasks="results/bench/tasks.parquet",
    output:
        rollouts="results/bench/rollouts/{model}/rollouts.parquet",
        captures=directory("results/bench/rollouts/{model}/captures"),
        snapshots=directory("results/bench/rollouts/{model}/snapshots"),
    log:
        "results/logs/bench/run_bench.{model}.log",
    benchmark:
        "results/logs/bench/run_bench.{model}.bench.jsonl"
    # A served checkpoint takes all the cores there are: two at once would only halve each other.
    threads: lambda wc: 16 if bench_models.checkpoint(wc.model) else 1
    resources:
        mem_mb=lambda wc, attempt: 6000 * attempt,
        runtime=lambda wc, attempt: 240 * attempt,
    params:
        settings=lambda wc: bench_models.rollout_settings(CONFIG, wc.model),
        prefix=lambda wc: "--prefix results/bench/fewshot.jsonl" if wc.model == "base_fewshot" else "",
    message:
        "Running {wildcards.model} on the bench"
    shell:
        "mkdir -p {output.captures:q} {output.snapshots:q} && "
        "python -m scripts.run_rollouts --tasks {input.tasks:q} --model {wildcards.model} {params.prefix}"
        " --stage bench --work results/.work/bench --settings {params.settings:q} --out {output.rollouts:q} > {log:q} 2>&1"


rule grade_bench:
    input:
        tasks="results/bench/tasks.parquet",
        verifiers="results/verifiers/verifiers.parquet",
        rollouts="results/bench/rollouts/{model}/rollouts.parquet",
        captures="results/bench/rollouts/{model}/captures",
        snapshots="results/bench/rollouts/{model}/snapshots",
        prompt=f"{CONFIG.prompts}/judge_rule.j2",
    output:
        grades="results/bench/grades/{model}/grades.parquet",
        scores="results/bench/grades/{model}/scores.parquet",
    log:
        "results/logs/bench/grade_bench.{model}.log",
    benchmark:
        "results/logs/bench/grade_bench.{model}.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 4000 * attempt,
        runtime=lambda wc, attempt: 60 * attempt,
    params:
        settings=settings("grades", "models.judge", "prompts", "sandbox", "spend"),
        code=code("grades"),
    message:
        "Grading {wildcards.model} on the bench"
    shell:
        "python -m scripts.grade_rollouts --tasks {input.tasks:q} --verifiers {input.verifiers:q} --rollouts {input.rollouts:q}"
        " --settings {params.settings:q} --grades {output.grades:q} --scores {output.scores:q} > {log:q} 2>&1"


rule collect_results:
    input:
        bench_items="results/bench/items.parquet",
        rollouts=bench_models.tables("rollouts", BENCH_MODELS),
        scores=bench_models.tables("scores", BENCH_MODELS),
    output:
        results="results/bench/results.parquet",
    log:
        "results/logs/bench/collect_results.log",
    benchmark:
        "results/logs/bench/collect_results.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 2000 * attempt,
        runtime=15,
    params:
        settings=settings("bench.attempts"),
        models=BENCH_MODELS,
        code=bench_models.source("stats.py", "tables.py"),
    message:
        "Collecting the results of {params.models}"
    shell:
        "python -m scripts.collect_results --items {input.bench_items:q} --models {params.models:q}"
        " --rollouts {input.rollouts:q} --scores {input.scores:q}"
        " --settings {params.settings:q} --results {output.results:q} > {log:q} 2>&1"


rule summarise_bench:
    input:
        results="results/bench/results.parquet",
    output:
        summary="results/bench/summary.parquet",
        paired="results/bench/paired.parquet",
        kinds="results/bench/kinds.parquet",
    log:
        "results/logs/bench/summarise_bench.log",
    benchmark:
        "results/logs/bench/summarise_bench.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 2000 * attempt,
        runtime=15,
    params:
        settings=settings("bench.resamples", "seed"),
        models=BENCH_MODELS,
        code=bench_models.source("stats.py", "tables.py"),
    message:
        "Summarising the bench"
    shell:
        "python -m scripts.summarise_bench --results {input.results:q} --models {params.models:q}"
        " --settings {params.settings:q} --summary {output.summary:q} --paired {output.paired:q} --kinds {output.kinds:q} > {log:q} 2>&1"


# The same two steps over all variants' students: the table of an ablation, beside the baseline's.
use rule collect_results as collect_ablations with:
    input:
        bench_items="results/bench/items.parquet",
        rollouts=bench_models.tables("rollouts", ABLATED_MODELS),
        scores=bench_models.tables("scores", ABLATED_MODELS),
    output:
        results="results/bench/ablations/results.parquet",
    log:
        "results/logs/bench/collect_ablations.log",
    benchmark:
        "results/logs/bench/collect_ablations.bench.jsonl"
    params:
        settings=settings("bench.attempts"),
        models=ABLATED_MODELS,
        code=bench_models.source("stats.py", "tables.py"),


use rule summarise_bench as summarise_ablations with:
    input:
        results="results/bench/ablations/results.parquet",
    output:
        summary="results/bench/ablations/summary.parquet",
        paired="results/bench/ablations/paired.parquet",
        kinds="results/bench/ablations/kinds.parquet",
    log:
        "results/logs/bench/summarise_ablations.log",
    benchmark:
        "results/logs/bench/summarise_ablations.bench.jsonl"
    params:
        settings=settings("bench.resamples", "seed"),
        models=ABLATED_MODELS,
        code=bench_models.source("stats.py", "tables.py"),


rule bench:
    input:
        "results/bench/candidates.parquet",
        expand("results/bench/calibration/{model}/{table}.parquet", model=CALIBRATION, table=["rollouts", "grades", "scores"]),
        expand("results/bench/calibration/{model}/{folder}", model=CALIBRATION, folder=["captures", "snapshots"]),
        expand("results/bench/rollouts/{model}/{folder}", model=BENCH_MODELS, folder=["captures", "snapshots"]),
        "results/bench/items.parquet",
        "results/bench/tasks.parquet",
        "results/bench/fewshot.jsonl" if "base_fewshot" in BENCH_MODELS else [],
        bench_models.tables("rollouts", BENCH_MODELS),
        bench_models.tables("grades", BENCH_MODELS),
        bench_models.tables("scores", BENCH_MODELS),
        "results/bench/results.parquet",
        "results/bench/summary.parquet",
        "results/bench/paired.parquet",
        "results/bench/kinds.parquet",
    localrule: True


rule ablations:
    input:
        expand("results/bench/ablations/{table}.parquet", table=["results", "summary", "paired", "kinds"]),
    localrule: True
