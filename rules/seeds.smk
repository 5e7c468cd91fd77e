TAXONOMY = [f"{CONFIG.seeds.taxonomy}/{name}.yaml" for name in ("scenarios", "operations", "skill_categories")]
SEED_TABLES = [f"results/seeds/{name}.parquet" for name in ("personas", "diversity", "skills", "seeds")]


rule build_personas:
    input:
        attributes=CONFIG.seeds.personas.attributes,
        source=persona_file,
    output:
        "results/seeds/personas.parquet",
    log:
        "results/logs/seeds/build_personas.log",
    benchmark:
        "results/logs/seeds/build_personas.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 2000 * attempt,
        runtime=60,
    params:
        settings=settings("seeds.personas", "seed"),
        code=code("seeds"),
    message:
        "Drawing personas"
    shell:
        "python -m scripts.build_personas --settings {params.settings:q} --out {output:q} > {log:q} 2>&1"


rule measure_diversity:
    input:
        personas="results/seeds/personas.parquet",
        attributes=CONFIG.seeds.personas.attributes,
    output:
        "results/seeds/diversity.parquet",
    log:
        "results/logs/seeds/measure_diversity.log",
    benchmark:
        "results/logs/seeds/measure_diversity.bench.jsonl"
    threads: 2
    resources:
        mem_mb=lambda wc, attempt: 3000 * attempt,
        runtime=60,
    params:
        settings=settings("seeds.personas", "embedder", "seed"),
        code=code("seeds"),
    message:
        "Measuring how much the personas repeat themselves"
    shell:
        "python -m scripts.measure_diversity"
        " --personas {input.personas:q} --settings {params.settings:q} --out {output:q} > {log:q} 2>&1"


rule annotate_skills:
    input:
        skills=skill_files,
        taxonomy=TAXONOMY,
        prompt=f"{CONFIG.prompts}/annotate_skill.j2",
    output:
        "results/seeds/skills.parquet",
    log:
        "results/logs/seeds/annotate_skills.log",
    benchmark:
        "results/logs/seeds/annotate_skills.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 1000 * attempt,
        runtime=240,
    params:
        settings=settings("seeds.skills", "seeds.taxonomy", "prompts", "models.annotator", "spend"),
        odd=odd_skill_files(),
    message:
        "Annotating skills"
    shell:
        "python -m scripts.annotate_skills --settings {params.settings:q} --out {output:q} > {log:q} 2>&1"


rule sample_seeds:
    input:
        personas="results/seeds/personas.parquet",
        skills="results/seeds/skills.parquet",
        taxonomy=TAXONOMY,
    output:
        "results/seeds/seeds.parquet",
    log:
        "results/logs/seeds/sample_seeds.log",
    benchmark:
        "results/logs/seeds/sample_seeds.bench.jsonl"
    threads: 1
    resources:
        mem_mb=lambda wc, attempt: 2000 * attempt,
        runtime=60,
    params:
        settings=settings("seeds.sampling", "seeds.taxonomy", "seed"),
        code=code("seeds"),
    message:
        "Drawing seeds of both routes"
    shell:
        "python -m scripts.sample_seeds"
        " --personas {input.personas:q} --skills {input.skills:q}"
        " --settings {params.settings:q} --out {output:q} > {log:q} 2>&1"


rule seeds:
    input:
        SEED_TABLES,
    localrule: True
