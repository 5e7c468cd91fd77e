"""Artefacts of the stage: what was trained on, token by token, and the curves."""

import pyarrow as pa

from clawgym.tables import column

text, integer, real = pa.string(), pa.int64(), pa.float64()

ROW = pa.schema(
    [
        column("trajectory_id", text, "trajectory (SFT) or task (RL) the row was made from"),
        column("input_ids", pa.list_(pa.int32()), "token ids of the whole conversation; of the prompt for RL"),
        column("assistant_masks", pa.list_(pa.int8()), "1 where the token counts in the loss: what the model said, with its end of turn"),
        column("n_loss_tokens", integer, "sum of the mask", unit="tokens"),
        column("truncated", pa.bool_(), "longer than max_length: cut here and not trained on"),
        column("split", text, "`train`, or `eval` for the evaluation loss"),
    ]
)

SFT_METRICS = pa.schema(
    [
        column("step", integer, "optimiser step, from 1"),
        column("loss", real, "mean loss per trained token of the step", nullable=True),
        column("grad_norm", real, "gradient norm before clipping", nullable=True),
        column("lr", real, "learning rate", nullable=True),
        column("tokens", integer, "tokens computed in the step on the first process", unit="tokens", nullable=True),
        column("seconds", real, "duration of the step", unit="s", nullable=True),
        column("eval_loss", real, "loss on the evaluation split after the step; null where it was not measured", nullable=True),
    ]
)

RL_METRICS = pa.schema(
    [
        column("step", integer, "optimiser step, from 1"),
        column("loss", real, "policy loss"),
        column("grad_norm", real, "gradient norm before clipping", nullable=True),
        column("lr", real, "learning rate"),
        column("reward_mean", real, "mean reward of the rollouts that could be scored", nullable=True),
        column("reward_std", real, "standard deviation of the reward", nullable=True),
        column("zero_variance", real, "share of groups whose rewards are all equal: they teach nothing", nullable=True),
        column("unscored", integer, "rollouts without a reward: sandbox or grader failed; they are left out of the loss"),
        column("completion_tokens", real, "mean tokens the model wrote per rollout", unit="tokens"),
        column("tool_calls", real, "mean tool calls per rollout", nullable=True),
        column("clip_ratio", real, "share of tokens whose ratio was clipped", nullable=True),
        column("seconds", real, "duration of the step", unit="s"),
    ]
)
