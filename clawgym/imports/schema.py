"""Columns of what the imports write beside tasks, verifiers, cards and rejects."""

import pyarrow as pa

from clawgym.tables import column

IMPORTED = pa.schema(
    [
        column("record_id", pa.string(), "task_id; for a record that could not be imported, `set:file or folder`"),
        column("source", pa.string(), "the record it came from"),
        column("kept", pa.bool_(), "is it in imports/kept.parquet, that is, can it be rolled out?"),
        column("stage", pa.string(), "imports (could not be read) or sanity; null if kept", nullable=True),
        column("reason", pa.string(), "why it left, as a typed slug; null if kept", nullable=True),
        column("detail", pa.string(), "the figure or message behind the reason", nullable=True),
        column("s_initial", pa.float64(), "code score of the untouched workspace", unit="0..1", nullable=True),
        column("s_empty", pa.float64(), "code score of an empty workspace", unit="0..1", nullable=True),
        column("s_touch", pa.float64(), "code score of empty files at the expected outputs", unit="0..1", nullable=True),
        column("s_echo", pa.float64(), "code score of the instruction in those files", unit="0..1", nullable=True),
        column("s_copy", pa.float64(), "code score of an input in those files", unit="0..1", nullable=True),
        column("failed_states", pa.list_(pa.string()), "states in which the grader failed, `state: how`; no gate beyond initial and empty"),
    ]
)
