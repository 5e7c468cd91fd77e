"""Roll out one model on tasks: rows to --out, captures/ and snapshots/ beside it.

Used by the rollouts stage (teachers on the training split), by the bench and by hand:
`run_rollouts.py --tasks results/quality/tasks.parquet --model strong --split train --settings JSON --out results/x/rollouts.parquet`.
--settings holds the sections rollouts, sandbox, spend, seed and `models.<model>` (and bench.serving where the model is a checkpoint to be
served), as `clawgym.config.select` gives them; attempts, turns,
tokens and seconds per rollout are those of its rollouts section. A run that was stopped goes on where it was: finished rollouts lie under
--work with a fingerprint of all they depend on.
"""

import argparse
import asyncio
from pathlib import Path

from clawgym.cli import run
from clawgym.config import Serving, Settings
from clawgym.errors import UserError
from clawgym.locks import exclusive
from clawgym.rollouts.run import Plan, publish, require_rollouts, run_all
from clawgym.rollouts.schema import ROLLOUT
from clawgym.shards import belongs
from clawgym.tables import fingerprint, read_jsonl, read_rows, write_table
from clawgym.tasks.schema import TASK


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=Path, required=True, help="TASK table with contents")
    parser.add_argument("--split", help="only tasks with this value in the column split")
    parser.add_argument("--model", required=True, help="name of the model: `models.<name>` in the settings and column model of the rows")
    parser.add_argument("--prefix", type=Path, help="JSONL of messages put before every task (worked examples)")
    parser.add_argument("--shard", type=int, default=0)
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--limit", type=int, help="only the first N tasks")
    parser.add_argument("--stage", default="rollouts", help="the stage under which the ledger counts the calls")
    parser.add_argument("--series", default="", help="part of the rollout ids, where a model runs on the same tasks for two purposes")
    parser.add_argument("--settings", required=True)
    parser.add_argument(
        "--work", type=Path, default=Path("results/.work/rollouts"), help="where finished rollouts wait, outside rule outputs"
    )
    parser.add_argument("--out", type=Path, required=True, help="rollouts.parquet; captures/ and snapshots/ are put beside it")
    args = parser.parse_args()
    settings = Settings(args.settings)

    tasks = read_rows(args.tasks, TASK)
    if args.split is not None:
        if tasks and "split" not in tasks[0]:
            raise UserError(f"{args.tasks}: expected a column split; give results/quality/tasks.parquet or leave out --split")
        tasks = [task for task in tasks if task["split"] == args.split]
    tasks = [task for task in tasks if belongs(task["task_id"], args.shard, args.shards)][: args.limit]
    prefix = read_jsonl(args.prefix) if args.prefix else []
    serving = settings["bench.serving"] if "bench.serving" in settings.parts else Serving()
    plan = Plan(
        name=args.model,
        model=settings[f"models.{args.model}"],
        rollouts=settings["rollouts"],
        sandbox=settings["sandbox"],
        spend=settings["spend"],
        seed=settings["seed"],
        prefix=prefix,
        stage=args.stage,
        series=args.series,
        dtype=serving.dtype,
        arguments=tuple(serving.arguments),
        log=args.work / f"{args.model}.server.log",
    )
    with exclusive(args.work / f"{args.model}.{args.shard}"):
        rows = asyncio.run(run_all(plan, tasks, args.work / args.model)) if tasks else []
    require_rollouts(rows, plan.rollouts.max_infrastructure_failures, f"model {args.model}")
    rows = publish(rows, args.out.parent)
    origin = {"config": fingerprint(settings.parts), "models": [plan.model.model], "seed": plan.seed, "prefix": fingerprint(prefix)}
    write_table(rows, ROLLOUT, args.out, origin)
    ends = {status: sum(row["status"] == status for row in rows) for status in sorted({row["status"] for row in rows})}
    print(f"{len(rows)} rollouts of {args.model}: {', '.join(f'{count} {status}' for status, count in ends.items()) or 'no task'}")


if __name__ == "__main__":
    run(main)
