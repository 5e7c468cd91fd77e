rule prepare_student:
    output:
        checkpoint=directory("results/training/base/checkpoint"),
    log:
        "results/logs/training/prepare_student.log",
    benchmark:
        "results/logs/training/prepare_student.bench.jsonl"
    threads: 2
    resources:
        mem_mb=lambda wc, attempt: 8000 * attempt,
        runtime=120,
    params:
        settings=settings("training.student"),
    message:
        "Preparing the base model"
    shell:
        "python -m scripts.prepare_student"
        " --settings {params.settings:q} --cache results/.cache/student --out {output.checkpoint:q} > {log:q} 2>&1"


rule train_sft:
    input:
        trajectories="results/trajectories/{variant}/trajectories.parquet",
        base="results/training/base/checkpoint",
    output:
        checkpoint=directory("results/training/{variant}/sft/checkpoint"),
        rows="results/training/{variant}/sft/rows.parquet",
        metrics="results/training/{variant}/sft/metrics.parquet",
    log:
        "results/logs/training/train_sft.{variant}.log",
    benchmark:
        "results/logs/training/train_sft.{variant}.bench.jsonl"
    threads: 8
    resources:
        mem_mb=lambda wc, attempt: 12000 * attempt,
        runtime=lambda wc, attempt: 1440 * attempt,
    params:
        settings=lambda wc: settings("training.sft", "seed", variant=wc.variant),
        work=lambda wc: f"{variant_config(CONFIG, wc.variant).training.work_dir}/{wc.variant}/sft",
    message:
        "Supervised fine-tuning ({wildcards.variant})"
    shell:
        "python -m scripts.train_sft --trajectories {input.trajectories:q} --base {input.base:q}"
        " --settings {params.settings:q} --work {params.work:q} --checkpoint {output.checkpoint:q}"
        " --rows {output.rows:q} --metrics {output.metrics:q} > {log:q} 2>&1"


rule train_rl:
    input:
        tasks="results/quality/tasks.parquet",
        verifiers="results/verifiers/verifiers.parquet",
        start="results/training/{variant}/sft/checkpoint",
    output:
        checkpoint=directory("results/training/{variant}/rl/checkpoint"),
        rows="results/training/{variant}/rl/rows.parquet",
        metrics="results/training/{variant}/rl/metrics.parquet",
    log:
        "results/logs/training/train_rl.{variant}.log",
    benchmark:
        "results/logs/training/train_rl.{variant}.bench.jsonl"
    threads: 8
    resources:
        mem_mb=lambda wc, attempt: 16000 * attempt,
        runtime=lambda wc, attempt: 1440 * attempt,
    params:
        settings=lambda wc: settings(
            "training.rl", "rollouts.tools", "rollouts.wall_s", "sandbox", "grades.wall_s", "seed", variant=wc.variant
        ),
        work=lambda wc: f"{variant_config(CONFIG, wc.variant).training.work_dir}/{wc.variant}/rl",
    message:
        "Reinforcement learning with code checks as reward ({wildcards.variant})"
    shell:
        "python -m scripts.train_rl --tasks {input.tasks:q} --verifiers {input.verifiers:q}"
        " --start {input.start:q} --settings {params.settings:q} --work {params.work:q} --checkpoint {output.checkpoint:q}"
        " --rows {output.rows:q} --metrics {output.metrics:q} > {log:q} 2>&1"


rule training:
    input:
        "results/training/base/checkpoint",
        expand("results/training/{variant}/{run}/checkpoint", variant=VARIANTS, run=["sft", "rl"]),
        expand("results/training/{variant}/{run}/{table}.parquet", variant=VARIANTS, run=["sft", "rl"], table=["rows", "metrics"]),
    localrule: True
