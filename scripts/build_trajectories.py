"""Rebuild conversations from captures and keep those that scored well: the trajectories training may use."""

import argparse
from pathlib import Path

from clawgym import cli
from clawgym.config import Settings
from clawgym.errors import UserError
from clawgym.grades.schema import SCORE
from clawgym.quality.schema import TASKS
from clawgym.rollouts.schema import ROLLOUT
from clawgym.tables import fingerprint, read_capture, read_table, write_table
from clawgym.trajectories.rebuild import Conversation, rebuild
from clawgym.trajectories.schema import STATS, TRAJECTORY
from clawgym.trajectories.select import select


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=Path, required=True, help="results/quality/tasks.parquet")
    parser.add_argument("--rollouts", type=Path, nargs="+", required=True, help="rollouts.parquet of each teacher, its captures beside it")
    parser.add_argument("--scores", type=Path, nargs="+", required=True, help="scores.parquet of each teacher")
    parser.add_argument("--settings", required=True)
    parser.add_argument("--trajectories", type=Path, required=True)
    parser.add_argument("--stats", type=Path, required=True)
    args = parser.parse_args(argv)
    settings = Settings(args.settings)["trajectories"]

    columns = ["task_id", "split", "route", "kind", "category", "source", "licence", "redistributable"]
    tasks = {row["task_id"]: row for row in read_table(args.tasks, TASKS, columns).to_pylist()}
    folders: dict[str, Path] = {}
    rollouts = []
    for table in args.rollouts:
        for row in read_table(table, ROLLOUT, ["rollout_id", "task_id", "model", "capture"]).to_pylist():
            folders[row["rollout_id"]] = table.parent
            rollouts.append(row)
    scores = [row for table in args.scores for row in read_table(table, SCORE, ["rollout_id", "s_task"]).to_pylist()]
    scored = {row["rollout_id"] for row in scores}
    for what, lost, tables in (("score", folders.keys() - scored, args.scores), ("rollout", scored - folders.keys(), args.rollouts)):
        if lost:
            where = " or ".join(str(table) for table in tables)
            raise UserError(f"{where}: expected the {what} of {min(lost)} and {len(lost) - 1} more; delete the table and run again")

    def load(row: dict) -> Conversation:
        return rebuild(read_capture(folders[row["rollout_id"]] / row["capture"]))

    kept, stats = select(tasks, rollouts, scores, settings, load)
    if not kept:
        whole = {name: stats[-1][name] for name in ("rollouts", "unscored", "low_reward", "unusable")}
        raise UserError(
            f"{args.rollouts[0]}: no rollout can become a trajectory ({whole}); see the grades, or lower trajectories.min_reward"
        )
    provenance = {"config": fingerprint(settings.model_dump()), "teachers": sorted({row["teacher"] for row in kept})}
    write_table(kept, TRAJECTORY, args.trajectories, provenance)
    write_table(stats, STATS, args.stats, provenance)
    whole = stats[-1]
    print(f"{whole['kept']} trajectories from {whole['rollouts']} rollouts, mean reward {whole['reward_mean']:.3f}")


if __name__ == "__main__":
    cli.run(main)
