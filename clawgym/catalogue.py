"""The catalogue of artefacts: which file is what, with every column. `python -m clawgym.catalogue` writes results/README.md from it.

A stage that writes a new table adds a line to TABLES; tests/test_catalogue.py fails when the file, this list and the schemas drift apart.
"""

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa


@dataclass(frozen=True)
class Table:
    """A Parquet artefact: path below results/, its schema as `stage.NAME`, what a row is."""

    path: str
    schema: str
    meaning: str

    def columns(self) -> pa.Schema:
        stage, name = self.schema.split(".")
        return getattr(importlib.import_module(f"clawgym.{stage}.schema"), name)


STAGES = {
    "seeds": "What tasks are made from: personas, skills and their combinations.",
    "tasks": "Instructions with a plan of their input files.",
    "resources": "The same tasks with the content of their files.",
    "verifiers": "How a result is graded, and what the grader gives to results that are known.",
    "quality": "Which tasks stay, and why the others left.",
    "imports": "Published tasks as task and verifier records, by `snakemake import_tasks`.",
    "rollouts": "What agents did on the training tasks.",
    "grades": "What it was worth.",
    "trajectories": "Conversations worth learning from, per variant.",
    "training": "The student before and after training, per variant.",
    "bench": "Held-out tasks, what every model scored on them, and how sure that is.",
    "ledger": "What model calls cost.",
    "report": "The run to look at.",
}

TABLES = [
    Table("seeds/personas.parquet", "seeds.PERSONA", "one drawn or imported persona"),
    Table("seeds/diversity.parquet", "seeds.DIVERSITY", "one set of personas and how alike they are"),
    Table("seeds/skills.parquet", "seeds.SKILL", "one SKILL.md, annotated, also if no task can be made from it"),
    Table("seeds/seeds.parquet", "seeds.SEED", "one seed: a persona with a scenario and operations, or a main skill with supporting ones"),
    Table("tasks/tasks.parquet", "tasks.TASK", "one task as written; files have a plan and no content yet"),
    Table("tasks/rejects.parquet", "tasks.REJECT", "one seed that gave no task, with the reason"),
    Table("resources/tasks.parquet", "tasks.TASK", "one task with the content of its files"),
    Table("resources/rejects.parquet", "tasks.REJECT", "one task whose files could not be written, with the reason"),
    Table("verifiers/verifiers.parquet", "verifiers.VERIFIER", "how one task is graded: code checks, rubric, reference program"),
    Table("verifiers/cards.parquet", "verifiers.CARD", "what one check of a task gives in one known state of the workspace"),
    Table("verifiers/rejects.parquet", "tasks.REJECT", "one task without a usable verifier, with the reason"),
    Table("quality/embeddings.parquet", "quality.EMBEDDING", "the embedding of one task"),
    Table("quality/novelty.parquet", "quality.NOVELTY", "one task and the earlier task nearest to it"),
    Table("quality/judgements.parquet", "quality.JUDGEMENT", "what the judge says of one task"),
    Table("quality/decisions.parquet", "quality.DECISION", "why one task stayed or left"),
    Table("quality/funnel.parquet", "quality.FUNNEL", "how many records entered and left one step on one route"),
    Table("quality/tasks.parquet", "quality.TASKS", "one task that stayed, with its split"),
    Table("imports/tasks.parquet", "tasks.TASK", "one imported task"),
    Table("imports/verifiers.parquet", "verifiers.VERIFIER", "its verifier"),
    Table("imports/cards.parquet", "verifiers.CARD", "what its checks give in known states"),
    Table("imports/rejects.parquet", "tasks.REJECT", "one record that could not be imported, with the reason"),
    Table("imports/decisions.parquet", "imports.IMPORTED", "why one record can be rolled out or not"),
    Table("imports/kept.parquet", "tasks.TASK", "one imported task that passed the sanity gate"),
    Table("imports/rollouts/{model}/rollouts.parquet", "rollouts.ROLLOUT", "one rollout on an imported task"),
    Table("imports/grades/{model}/grades.parquet", "grades.GRADE", "one check or rubric rule of one rollout on an imported task"),
    Table("imports/grades/{model}/scores.parquet", "grades.SCORE", "the scores of one of these rollouts"),
    Table("rollouts/{model}/rollouts.parquet", "rollouts.ROLLOUT", "one rollout of a teacher on a training task"),
    Table("grades/{model}/grades.parquet", "grades.GRADE", "one check or rubric rule of one rollout"),
    Table("grades/{model}/scores.parquet", "grades.SCORE", "the scores of one rollout"),
    Table("trajectories/{variant}/trajectories.parquet", "trajectories.TRAJECTORY", "one conversation kept for training"),
    Table("trajectories/{variant}/stats.parquet", "trajectories.STATS", "the trajectories of one route and teacher in numbers"),
    Table("training/{variant}/sft/metrics.parquet", "training.SFT_METRICS", "one logged step of supervised fine-tuning"),
    Table("training/{variant}/sft/rows.parquet", "training.ROW", "one training example as the trainer sees it"),
    Table("training/{variant}/rl/metrics.parquet", "training.RL_METRICS", "one logged step of GRPO"),
    Table("training/{variant}/rl/rows.parquet", "training.ROW", "one task that RL draws from"),
    Table("bench/candidates.parquet", "quality.TASKS", "one task that is calibrated"),
    Table("bench/calibration/{model}/rollouts.parquet", "rollouts.ROLLOUT", "one calibration rollout"),
    Table("bench/calibration/{model}/grades.parquet", "grades.GRADE", "one check or rubric rule of it"),
    Table("bench/calibration/{model}/scores.parquet", "grades.SCORE", "its scores"),
    Table("bench/items.parquet", "bench.ITEM", "one task of the held-out and unseen splits: is it an item, and why not"),
    Table("bench/tasks.parquet", "quality.TASKS", "the task row of one item"),
    Table("bench/rollouts/{model}/rollouts.parquet", "rollouts.ROLLOUT", "one rollout of a model on an item"),
    Table("bench/grades/{model}/grades.parquet", "grades.GRADE", "one check or rubric rule of it"),
    Table("bench/grades/{model}/scores.parquet", "grades.SCORE", "its scores"),
    Table("bench/results.parquet", "bench.RESULT", "the score of one model in one attempt at one item"),
    Table("bench/summary.parquet", "bench.SUMMARY", "the mean of one model on one suite with its interval"),
    Table("bench/paired.parquet", "bench.PAIRED", "the difference of two models on the same tasks of a suite"),
    Table("bench/kinds.parquet", "bench.KINDS", "the mean of one model on one kind of work"),
    Table("bench/ablations/results.parquet", "bench.RESULT", "as bench/results, with the students of all variants"),
    Table("bench/ablations/summary.parquet", "bench.SUMMARY", "as bench/summary, with the students of all variants"),
    Table("bench/ablations/paired.parquet", "bench.PAIRED", "as bench/paired, and the baseline's students against each variant's"),
    Table("bench/ablations/kinds.parquet", "bench.KINDS", "as bench/kinds, with the students of all variants"),
    Table("ledger/spend.parquet", "report.SPEND", "the calls of one stage to one model"),
]

FILES = [
    ("rollouts/{model}/captures/*.jsonl.zst", "every model call of a rollout as the proxy saw it; one `call` record each, then `end`"),
    ("rollouts/{model}/snapshots/*.tar.zst", "the workspace as the agent left it"),
    ("training/base/checkpoint/", "the student before training, with its chat template"),
    ("training/{variant}/sft/checkpoint/", "after supervised fine-tuning"),
    ("training/{variant}/rl/checkpoint/", "after GRPO"),
    ("bench/fewshot.jsonl", "the worked examples in the prompt of base_fewshot: the provenance in the first line, then one message a line"),
    ("report/index.html", "the report: one page, self-contained"),
    ("report/REPORT.md", "the same tables as text"),
    ("report/figures/*.svg", "its figures"),
    ("logs/<stage>/<rule>.log", "what a job printed; `.bench.jsonl` beside it: time and memory"),
]

HEAD = """<!-- Generated by `python -m clawgym.catalogue` from the schemas. Change those, not this file. -->
# Artefacts

Every table is Parquet (zstd) and carries in its metadata what it was made from (`clawgym.tables.provenance(path)`): code version, a hash of
the settings, models, prompts, seed. A file exists whole or not at all. A score is null where nothing was measured, never 0 for that reason.
`shards/` folders hold the parts of a fanned-out stage. Everything here can be deleted: the workflow rebuilds it.
"""


def type_name(type_: pa.DataType) -> str:
    """The Arrow type as one reads it: `list<string>`, `list<struct<path, type>>`."""
    if pa.types.is_list(type_):
        return f"list<{type_name(type_.value_type)}>"
    if pa.types.is_struct(type_):
        return f"struct<{', '.join(field.name for field in type_)}>"
    return str(type_)


def _rows(fields: list[pa.Field], prefix: str = "") -> list[str]:
    lines = []
    for field in fields:
        metadata = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
        meaning = metadata.get("meaning", "").replace("|", "\\|")
        null = "yes" if field.nullable and not prefix else ""
        lines.append(f"| `{prefix}{field.name}` | `{type_name(field.type)}` | {metadata.get('unit', '')} | {null} | {meaning} |")
        inner = field.type.value_type if pa.types.is_list(field.type) else field.type
        if pa.types.is_struct(inner):
            lines += _rows(list(inner), f"{prefix}{field.name}[].")
    return lines


def text() -> str:
    """results/README.md. A schema is printed where it occurs first; later tables of the same schema refer to it."""
    lines, first = [HEAD], {}
    for stage, meaning in STAGES.items():
        lines += [f"## {stage}", "", meaning, ""]
        for table in (table for table in TABLES if table.path.split("/")[0] == stage):
            lines += [f"### `{table.path}`", "", f"A row is {table.meaning}.", ""]
            if table.schema in first:
                lines += [f"Columns as in `{first[table.schema]}`.", ""]
                continue
            first[table.schema] = table.path
            lines += ["| column | type | unit | null | meaning |", "|---|---|---|---|---|", *_rows(list(table.columns())), ""]
        files = [f"- `{path}`: {what}" for path, what in FILES if path.split("/")[0] == stage]
        lines += [*files, ""] if files else []
    lines += ["## logs", "", *(f"- `{path}`: {what}" for path, what in FILES if path.startswith("logs/")), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent / "results/README.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text())
