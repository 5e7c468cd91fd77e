"""Tables of the tasks stage. `TASK` is also what resources fills and what imports write; `REJECT` is shared by the synthesis stages."""

import pyarrow as pa

from clawgym.tables import column

FILE = pa.struct(
    [
        column("path", pa.string(), "relative, normalised, `/` between parts"),
        column("type", pa.string(), "csv, json, md, …; `base64:TYPE` where content is base64 of a binary file (imported tasks only)"),
        column("spec", pa.string(), "what the file must contain, as the author planned it"),
        column("content", pa.string(), "the text of the file; null until the resources stage has written it", nullable=True),
        column("sha256", pa.string(), "of the content's UTF-8 bytes (of the decoded bytes for `base64:…`); null until then", nullable=True),
    ]
)

TASK = pa.schema(
    [
        column("task_id", pa.string(), "`t-` and a hash of seed and instruction; imported tasks keep the id of their source"),
        column("seed_id", pa.string(), "the seed it was written from; null for imported tasks", nullable=True),
        column("route", pa.string(), "persona, skill or import"),
        column("instruction", pa.string(), "what the agent is told"),
        column("category", pa.string(), "scenario category, or category of the main skill"),
        column("subcategory", pa.string(), "scenario subcategory; null on the skill route", nullable=True),
        column("kind", pa.string(), "kind of work, kebab-case; groups tasks that need the same skill"),
        column("operations", pa.list_(pa.string()), "atomic operations the task needs, the main one first"),
        column("difficulty", pa.string(), "easy, medium or hard, as the author claims"),
        column("files", pa.list_(FILE), "input files the workspace starts with"),
        column("expected_outputs", pa.list_(pa.string()), "paths that exist when the task is done"),
        column("may_modify", pa.list_(pa.string()), "input files the task may change; the others are restored before grading"),
        column("model", pa.string(), "who wrote it: model id of the author, or the source of an import"),
        column("source", pa.string(), "where persona or skill came from, or the imported record"),
        column("licence", pa.string(), "licence of that source"),
        column("redistributable", pa.bool_(), "may exports contain it"),
    ]
)

REJECT = pa.schema(
    [
        column("stage", pa.string(), "tasks, resources or verifiers"),
        column("record_id", pa.string(), "seed_id in the tasks stage, task_id after it"),
        column(
            "reason",
            pa.string(),
            "`invalid_output` after the repair round, `refused`, `empty`, `timeout`, `model_api` (no answer), `too_large`, `duplicate`",
        ),
        column("detail", pa.string(), "what exactly was wrong"),
    ]
)
