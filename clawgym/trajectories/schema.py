"""Artefacts of the stage: trajectories that training may use, and what was selected from what."""

import pyarrow as pa

from clawgym.tables import column

text, number, real = pa.string(), pa.int64(), pa.float64()

TRAJECTORY = pa.schema(
    [
        column("trajectory_id", text, "id, the same as the rollout's"),
        column("rollout_id", text, "rollout it was rebuilt from"),
        column("task_id", text, "task"),
        column("route", text, "route of the task: persona or skill"),
        column("kind", text, "kind of work"),
        column("category", text, "scenario category"),
        column("teacher", text, "model that acted"),
        column("messages", text, "JSON list of chat messages as the model saw and wrote them; tool-call arguments are JSON strings"),
        column("tools", text, "JSON list of the tools that were offered"),
        column("reward", real, "task score of the rollout, 0..1"),
        column("turns", pa.int32(), "assistant messages"),
        column("tool_calls", pa.int32(), "tool calls"),
        column("tool_types", pa.list_(text), "names of the tools called, sorted"),
        column("tokens_out", number, "completion tokens, as the endpoint counted them", unit="tokens"),
        column("source", text, "where the task came from"),
        column("licence", text, "its licence"),
        column("redistributable", pa.bool_(), "may exports contain it?"),
    ]
)

STATS = pa.schema(
    [
        column("route", text, "route of the tasks; `all` for both"),
        column("teacher", text, "model that acted; `all` for every one"),
        column("rollouts", number, "rollouts on training tasks"),
        column("unscored", number, "left out: the score is null"),
        column("low_reward", number, "left out: the score is below trajectories.min_reward"),
        column("surplus", number, "left out: the task has better ones, trajectories.max_per_task is full"),
        column("unusable", number, "left out: the capture has no whole conversation, or tool-call arguments that are not JSON"),
        column("kept", number, "trajectories"),
        column("reward_mean", real, "mean reward of the kept ones", nullable=True),
        column("turns_mean", real, "mean assistant messages", nullable=True),
        column("turns_max", number, "most assistant messages", nullable=True),
        column("tool_calls_mean", real, "mean tool calls", nullable=True),
        column("tokens_out_mean", real, "mean completion tokens", unit="tokens", nullable=True),
        column("tool_types", text, "JSON object: tool → number of kept trajectories that use it"),
    ]
)
