"""Tables of the grades stage. A score is a number only if it was measured; otherwise it is null and the status says why."""

import pyarrow as pa

from clawgym.tables import column

GRADE = pa.schema(
    [
        column("rollout_id", pa.string(), "the rollout"),
        column(
            "check_id",
            pa.string(),
            "the code check; null for a rubric rule, and if the grader failed before any check was known",
            nullable=True,
        ),
        column("rule_id", pa.string(), "the rubric rule; null for a code check", nullable=True),
        column("score", pa.float64(), "0 to 1; rubric in steps of 0.25; null if not measured", nullable=True),
        column("grader", pa.string(), "`code`, or the id of the judge model"),
        column(
            "status",
            pa.string(),
            "`ok`; `rollout_failed`, `no_snapshot`; `grader_crash`, `grader_timeout`, `grader_invalid`, `grader_killed`, `sandbox`; "
            "`missing_check` (declared and not returned); the judge's `invalid_output`, `refused`, `empty`, `timeout`, `model_api`",
        ),
        column("detail", pa.string(), "the failure in words, or the judge's evidence", nullable=True),
    ]
)

SCORE = pa.schema(
    [
        column("rollout_id", pa.string(), "the rollout"),
        column("task_id", pa.string(), "the task"),
        column("model", pa.string(), "the model that was rolled out"),
        column("attempt", pa.int32(), "its attempt"),
        column("s_code", pa.float64(), "mean of the code checks, 0 to 1; null if there are none or they were not measured", nullable=True),
        column(
            "s_rubric",
            pa.float64(),
            "weighted mean of the rubric rules, 0 to 1; null if there are none or one was not measured",
            nullable=True,
        ),
        column(
            "s_task", pa.float64(), "lambda·s_code + (1-lambda)·s_rubric, or the only kind there is; null if a part is null", nullable=True
        ),
        column("status", pa.string(), "`ok`, or the first reason why s_task is null"),
    ]
)
