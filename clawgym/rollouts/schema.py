"""Table of the rollouts stage."""

import pyarrow as pa

from clawgym.tables import column

AGENT_ENDS = ("finished", "turn_limit", "token_limit", "time_limit", "malformed", "killed")

ROLLOUT = pa.schema(
    [
        column("rollout_id", pa.string(), "`{task_id}-{model}-{attempt}`"),
        column("task_id", pa.string(), "the task"),
        column("model", pa.string(), "entry of `models:`, or student of the bench"),
        column("attempt", pa.int32(), "0, 1, … of the same task and model"),
        column("runtime", pa.string(), "the agent: `lite`"),
        column(
            "status",
            pa.string(),
            "how the agent ended it: `finished`, `turn_limit`, `token_limit`, `time_limit`, `malformed` (unusable tool calls only), "
            "`killed` (its sandbox used too much, or its own command killed the agent); or `failed`: for reasons outside the agent",
        ),
        column(
            "failure_kind", pa.string(), "why it failed: `model_api`, `proxy`, `sandbox`, `agent_crash`; null unless failed", nullable=True
        ),
        column("detail", pa.string(), "the failure in words; null if there is nothing to say", nullable=True),
        column("turns", pa.int32(), "model calls that were answered"),
        column("tool_calls", pa.int32(), "tool calls the model made"),
        column("tool_types", pa.list_(pa.string()), "names of the tools it called, sorted"),
        column("tokens_in", pa.int64(), "prompt tokens of all calls", unit="tokens"),
        column("tokens_out", pa.int64(), "completion tokens of all calls", unit="tokens"),
        column("cost_usd", pa.float64(), "at the prices of the model's entry", unit="US dollars"),
        column("wall_s", pa.float64(), "from the first to the last moment of the sandbox", unit="s"),
        column("capture", pa.string(), "every model call, path below the folder of this table; null if none was kept", nullable=True),
        column(
            "snapshot", pa.string(), "the workspace as the agent left it, path below the folder of this table; null if none", nullable=True
        ),
        column("final_text", pa.string(), "the model's last answer without tool calls; null if there was none", nullable=True),
    ]
)
