"""Tables of the verifiers stage."""

import pyarrow as pa

from clawgym.tables import column

CHECK = pa.struct(
    [
        column("check_id", pa.string(), "key of the score in what `grade` returns"),
        column("description", pa.string(), "what must hold"),
        column("artifact", pa.string(), "the file it looks at; null if none in particular", nullable=True),
    ]
)

RULE = pa.struct(
    [
        column("rule_id", pa.string(), "unique within the task"),
        column("text", pa.string(), "what a judge looks at"),
        column("artifact", pa.string(), "the file it is about; null: the final answer", nullable=True),
        column("weight", pa.float64(), "w_k > 0 of the rubric score"),
        column("anchors", pa.list_(pa.string()), "what deserves 0, 0.25, 0.5, 0.75 and 1, in this order"),
    ]
)

VERIFIER = pa.schema(
    [
        column("task_id", pa.string(), "the task"),
        column("code", pa.string(), "source of `grade(transcript, workspace_path) -> dict[str, float]`; null: rubric only", nullable=True),
        column("checks", pa.list_(CHECK), "the checks of the code; empty for imported graders that do not list them"),
        column("rubric", pa.list_(RULE), "rules for the judge; empty: code only"),
        column("lambda", pa.float64(), "weight of the code score in a hybrid task"),
        column("solution", pa.string(), "reference program of the solver role (cwd = workspace); null: none", nullable=True),
        column("model", pa.string(), "who wrote the verifier"),
    ]
)

CARD = pa.schema(
    [
        column("task_id", pa.string(), "the task"),
        column(
            "state",
            pa.string(),
            "`initial`: untouched inputs; `empty`: no file at all; every expected output `touch`: empty, `echo`: the instruction, "
            "`copy`: an input; `oracle`: what the reference program left, `stub`: that with the right form and wrong values, `tamper`: "
            "what it left for other inputs; `mutant-…`: the oracle with one mistake (drop_row, change_number, swap_fields, reorder, "
            "wrong_name, stale)",
        ),
        column("check_id", pa.string(), "the check; null if the grader failed before any was known", nullable=True),
        column("score", pa.float64(), "what the check gave, 0 to 1; null if it was not measured", nullable=True),
        column(
            "status",
            pa.string(),
            "`ok`; `solver_failed` (no reference program, or it ended badly), `missing_check` (declared and not returned), "
            "`not_deterministic` (other scores under another hash seed, time zone, locale and path), "
            "or how the grader failed: `grader_crash`, `grader_timeout`, `grader_invalid`, `grader_killed`, `sandbox`",
        ),
    ]
)
