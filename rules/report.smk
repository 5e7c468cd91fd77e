# What a run cost, and what it shows.
FIGURES = {
    "bench": "Bench",
    "funnel": "Data",
    "categories": "Data",
    "kinds": "Data",
    "rewards": "Data",
    "sft": "Training",
    "rl": "Training",
}


rule collect_spend:
    input:
        # The ledger grows with every stage; the bench is the last to add to it.
        results="results/bench/results.parquet",
    output:
        spend="results/ledger/spend.parquet",
    log:
        "results/logs/report/collect_spend.log",
    benchmark:
        "results/logs/report/collect_spend.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 1000 * attempt,
        runtime=10,
    params:
        settings=settings("spend"),
    message:
        "Collecting the ledger"
    shell:
        "python -m scripts.collect_spend --settings {params.settings:q} --spend {output.spend:q} > {log:q} 2>&1"


rule build_report:
    input:
        funnel="results/quality/funnel.parquet",
        decisions="results/quality/decisions.parquet",
        tasks="results/quality/tasks.parquet",
        diversity="results/seeds/diversity.parquet",
        rollouts=expand("results/rollouts/{model}/rollouts.parquet", model=TEACHERS),
        scores=expand("results/grades/{model}/scores.parquet", model=TEACHERS),
        trajectories="results/trajectories/baseline/trajectories.parquet",
        stats="results/trajectories/baseline/stats.parquet",
        sft="results/training/baseline/sft/metrics.parquet",
        rl="results/training/baseline/rl/metrics.parquet",
        bench_items="results/bench/items.parquet",
        results="results/bench/results.parquet",
        summary="results/bench/summary.parquet",
        paired="results/bench/paired.parquet",
        kinds="results/bench/kinds.parquet",
        spend="results/ledger/spend.parquet",
        templates=expand("{root}/clawgym/report/templates/{name}.j2", root=ROOT, name=["index.html", "REPORT.md"]),
    output:
        [
            report(
                f"results/report/figures/{name}.svg",
                caption=f"../clawgym/report/captions/{name}.rst",
                category=category,
                labels={"figure": name},
            )
            for name, category in FIGURES.items()
        ],
        html=report("results/report/index.html", caption="../clawgym/report/captions/page.rst", category="Page", labels={"figure": "page"}),
        markdown="results/report/REPORT.md",
    log:
        "results/logs/report/build_report.log",
    benchmark:
        "results/logs/report/build_report.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 3000 * attempt,
        runtime=15,
    params:
        settings=settings(
            "bench", "report.trajectories", "seed", "training.student", "trajectories", *(f"models.{name}" for name in CONFIG.models)
        ),
        code=code("report"),
    message:
        "Building the report"
    shell:
        "python -m scripts.build_report --funnel {input.funnel:q} --decisions {input.decisions:q} --tasks {input.tasks:q}"
        " --diversity {input.diversity:q} --rollouts {input.rollouts:q} --scores {input.scores:q}"
        " --trajectories {input.trajectories:q} --stats {input.stats:q} --sft {input.sft:q} --rl {input.rl:q}"
        " --items {input.bench_items:q} --results {input.results:q} --summary {input.summary:q} --paired {input.paired:q}"
        " --kinds {input.kinds:q} --spend {input.spend:q} --settings {params.settings:q}"
        " --figures results/report/figures --html {output.html:q} --markdown {output.markdown:q} > {log:q} 2>&1"


rule report:
    input:
        "results/ledger/spend.parquet",
        expand("results/report/figures/{name}.svg", name=FIGURES),
        "results/report/index.html",
        "results/report/REPORT.md",
    localrule: True
