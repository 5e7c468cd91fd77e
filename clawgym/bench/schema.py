"""Columns of the bench: items with their calibration, results, summaries with intervals, paired differences."""

import pyarrow as pa

from clawgym.tables import column

SUITES = ("heldout", "unseen")

_suite = column("suite", pa.string(), "`heldout`: new tasks of the groups that were trained; `unseen`: groups never trained on")
_low = column("ci_low", pa.float64(), "lower end of the 95 % bootstrap interval, tasks as units; null below two tasks", nullable=True)
_high = column("ci_high", pa.float64(), "upper end of it", nullable=True)

ITEM = pa.schema(
    [
        column("task_id", pa.string(), "a task of the held-out or unseen split, kept or not"),
        _suite,
        column("category", pa.string(), "scenario category of the task"),
        column("kind", pa.string(), "kind of work"),
        column("item_kind", pa.string(), "`code`: checks only; `hybrid`: checks and rubric; `rubric`: rubric only"),
        column("mean_strong", pa.float64(), "mean task score of the strong model over its measured rollouts", unit="0..1", nullable=True),
        column("mean_weak", pa.float64(), "the same of the weak model", unit="0..1", nullable=True),
        column("n_strong", pa.int32(), "measured rollouts of the strong model"),
        column("n_weak", pa.int32(), "measured rollouts of the weak model"),
        column("kept", pa.bool_(), "is it an item of the bench?"),
        column(
            "reason",
            pa.string(),
            "`kept`, or why not: `not_calibrated` (enough candidates of its suite were), `not_measured`, `strong_too_low`, "
            "`weak_too_high`, `no_gap` (strong not above weak), `over_cap` (passed, but the suite is full)",
        ),
    ]
)

RESULT = pa.schema(
    [
        column("model", pa.string(), "base, base_fewshot, sft, rl, `sft.<variant>`, or a name under models:"),
        column("task_id", pa.string(), "bench item"),
        _suite,
        column("category", pa.string(), "scenario category of the task"),
        column("kind", pa.string(), "kind of work"),
        column("attempt", pa.int32(), "number of the rollout of this model on this item, from 0"),
        column("s_code", pa.float64(), "code score", unit="0..1", nullable=True),
        column("s_task", pa.float64(), "task score; null if it was not measured", unit="0..1", nullable=True),
        column("status", pa.string(), "how the rollout ended; `missing` if there is none"),
        column("failure_kind", pa.string(), "why there is no score; null if there is one", nullable=True),
        column("turns", pa.int32(), "model calls", nullable=True),
    ]
)

SUMMARY = pa.schema(
    [
        _suite,
        column("model", pa.string(), "as in results"),
        column("n", pa.int32(), "tasks with at least one measured attempt"),
        column("mean", pa.float64(), "mean over tasks of the mean over measured attempts", unit="0..1", nullable=True),
        _low,
        _high,
        column("n_null", pa.int32(), "attempts without a score"),
        column("mean_null_as_0", pa.float64(), "the mean with every missing score as 0", unit="0..1", nullable=True),
        column("mean_null_as_1", pa.float64(), "the mean with every missing score as 1", unit="0..1", nullable=True),
    ]
)

PAIRED = pa.schema(
    [
        _suite,
        column("model_a", pa.string(), "a model, or `best_base`: whichever of base and base_fewshot has the higher mean on the suite"),
        column("model_b", pa.string(), "the model compared with it"),
        column("measured_a", pa.string(), "the model that model_a stands for", nullable=True),
        column("n", pa.int32(), "tasks that both have a score on"),
        column("diff", pa.float64(), "mean difference of the task scores, b - a", nullable=True),
        _low,
        _high,
    ]
)

KINDS = pa.schema(
    [
        _suite,
        column("kind", pa.string(), "kind of work"),
        column("model", pa.string(), "as in results"),
        column("n", pa.int32(), "tasks with at least one measured attempt"),
        column("mean", pa.float64(), "mean task score over them", unit="0..1", nullable=True),
        column("n_null", pa.int32(), "attempts without a score"),
    ]
)
