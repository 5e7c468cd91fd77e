"""Train the fine-tuned model with GRPO on training tasks, rewarded by their code checks: a checkpoint folder and its curves."""

import argparse
import shutil
import sys
from pathlib import Path

from clawgym import cli
from clawgym.config import Settings
from clawgym.locks import exclusive
from clawgym.tables import fingerprint, read_rows, write_table
from clawgym.training.checkpoints import check_checkpoint
from clawgym.training.launch import is_first, under_torchrun
from clawgym.training.schema import RL_METRICS, ROW


def main(argv: list[str] | None = None) -> None:
    argv = sys.argv[1:] if argv is None else argv
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=Path, required=True)
    parser.add_argument("--verifiers", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True, help="checkpoint folder to start from")
    parser.add_argument("--settings", required=True)
    parser.add_argument("--work", type=Path, required=True, help="state of the unfinished run, outside rule outputs")
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--metrics", type=Path, required=True)
    args = parser.parse_args(argv)
    settings = Settings(args.settings)
    rl = settings["training.rl"]
    check_checkpoint(args.start)
    code = {row["task_id"]: row["code"] for row in read_rows(args.verifiers)}
    tasks = [row | {"code": code.get(row["task_id"])} for row in read_rows(args.tasks)]
    if (status := under_torchrun(rl, argv)) is not None:
        sys.exit(status)

    from transformers import AutoTokenizer

    from clawgym.rollouts.run import SYSTEM
    from clawgym.rollouts.toolbox import schemas
    from clawgym.sandbox import Sandbox
    from clawgym.training.episodes import episode_class
    from clawgym.training.rl import choose, prompt_rows, prompts, train

    chosen = choose(tasks, rl.tasks, settings["seed"])
    tools, sandbox = settings["rollouts.tools"], Sandbox.from_settings(settings["sandbox"])
    environment = episode_class(
        tools, sandbox, {task["task_id"]: task for task in chosen}, settings["rollouts.wall_s"], settings["grades.wall_s"]
    )
    with exclusive(args.work):
        data = prompts(chosen, SYSTEM)
        parallel = settings["sandbox"].parallel
        metrics = train(data, environment, schemas(tools), args.start, args.work, args.checkpoint, rl, settings["seed"], parallel)
        if is_first():
            provenance = {"config": fingerprint(rl.model_dump()), "start": str(args.start), "seed": settings["seed"]}
            write_table(prompt_rows(data, AutoTokenizer.from_pretrained(args.start), schemas(tools)), ROW, args.rows, provenance)
            write_table(metrics, RL_METRICS, args.metrics, provenance)
            shutil.rmtree(args.work)  # only an unfinished run needs it
            last = f"reward {metrics[-1]['reward_mean']}, {metrics[-1]['unscored']} rollouts unscored"
            print(f"{len(metrics)} steps on {len(chosen)} tasks; last step: {last}")


if __name__ == "__main__":
    cli.run(main)
