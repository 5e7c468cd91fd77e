"""Columns of what the quality stage writes: embeddings, novelty, judgements, one decision per record, the funnel, the kept tasks."""

import pyarrow as pa

from clawgym.tables import column
from clawgym.tasks.schema import TASK

SPLITS = ("train", "heldout", "unseen")

EMBEDDING = pa.schema(
    [
        column("task_id", pa.string(), "task"),
        column("embedding", pa.list_(pa.float32()), "unit vector of the instruction by the configured embedder"),
    ]
)

NOVELTY = pa.schema(
    [
        column("task_id", pa.string(), "task, in the order of tasks.parquet: earlier tasks win"),
        column("new", pa.bool_(), "is its cosine to every earlier new task below quality.novelty.threshold?"),
        column("nearest_task_id", pa.string(), "closest earlier new task; null for the first", nullable=True),
        column("cosine", pa.float32(), "similarity to it", unit="-1..1", nullable=True),
    ]
)

JUDGEMENT = pa.schema(
    [
        column("task_id", pa.string(), "task"),
        column("status", pa.string(), "`ok`, or why there is no judgement: invalid_output, refused, model_api, …"),
        column("detail", pa.string(), "what the judge or its endpoint said when it failed", nullable=True),
        column("plausibility", pa.int32(), "would somebody ask for this, and can it be done with these files?", unit="1..5", nullable=True),
        column("difficulty", pa.string(), "easy, medium or hard by the judge", nullable=True),
        column("coverage", pa.int32(), "how much of the instruction checks and rubric cover", unit="1..5", nullable=True),
        column("overstrictness", pa.int32(), "how much the checks ask for that the instruction does not", unit="1..5", nullable=True),
        column("complementarity", pa.int32(), "does the rubric judge what the checks cannot?", unit="1..5", nullable=True),
        column("comment", pa.string(), "the judge's reason in a sentence", nullable=True),
        column("model", pa.string(), "judge model"),
    ]
)

DECISION = pa.schema(
    [
        column("task_id", pa.string(), "task; for a record rejected before it was a task, the id of the reject (its seed)"),
        column("route", pa.string(), "persona or skill"),
        column("kept", pa.bool_(), "is it in quality/tasks.parquet?"),
        column("stage", pa.string(), "first stage or gate that dropped it; null if kept", nullable=True),
        column("reason", pa.string(), "why, as a typed slug; null if kept", nullable=True),
        column("detail", pa.string(), "the figure or message behind the reason", nullable=True),
        column("split", pa.string(), "train, heldout or unseen; null if dropped", nullable=True),
        column("nearest_task_id", pa.string(), "closest earlier new task", nullable=True),
        column("cosine", pa.float32(), "similarity to it", unit="-1..1", nullable=True),
        column("plausibility", pa.int32(), "by the judge", unit="1..5", nullable=True),
        column("difficulty", pa.string(), "by the judge", nullable=True),
        column("coverage", pa.int32(), "by the judge", unit="1..5", nullable=True),
        column("overstrictness", pa.int32(), "by the judge", unit="1..5", nullable=True),
        column("complementarity", pa.int32(), "by the judge; reported, no gate", unit="1..5", nullable=True),
        column("s_initial", pa.float64(), "code score of the untouched workspace", unit="0..1", nullable=True),
        column("s_empty", pa.float64(), "code score of an empty workspace", unit="0..1", nullable=True),
        column("s_floor", pa.float64(), "best code score without work: initial, empty, touch, echo, copy", unit="0..1", nullable=True),
        column("s_stub", pa.float64(), "code score of the right form with wrong values", unit="0..1", nullable=True),
        column("s_tamper", pa.float64(), "code score of the right result for other inputs", unit="0..1", nullable=True),
        column("s_oracle", pa.float64(), "code score of what the reference program leaves", unit="0..1", nullable=True),
        column(
            "mutation_score",
            pa.float64(),
            "share of the reference result's mutants (all but mutant-reorder) that score below it; null without any",
            unit="0..1",
            nullable=True,
        ),
    ]
)

FUNNEL = pa.schema(
    [
        column("step", pa.string(), "stage or gate, in the order of the road"),
        column("route", pa.string(), "persona or skill"),
        column("entered", pa.int64(), "records that reached the step"),
        column("left", pa.int64(), "records that left the road there"),
        column("reason", pa.string(), "why they left, most frequent first: `near_copy 12, …`; null if none did", nullable=True),
    ]
)

TASKS = pa.schema(
    [
        *TASK,
        column("claimed_difficulty", pa.string(), "the author's claim; `difficulty` is the judge's here", nullable=True),
        column("split", pa.string(), "train, heldout (new tasks of trained groups) or unseen (groups never trained on)"),
    ]
)
