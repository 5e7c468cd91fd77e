"""Rebuild conversations from captures and keep those that scored well: the trajectories training may use."""

import argparse
from pathlib import Path

from clawgym import cli
from clawgym.config import Settings
from clawgym.errors import UserError
from clawgym.tables import fingerprint, read_jsonl, read_rows, write_table
from clawgym.trajectories.rebuild import Conversation, Unusable, rebuild
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

    tasks = {row["task_id"]: row for row in read_rows(args.tasks)}
    folders: dict[str, Path] = {}
    rollouts = []
    for table in args.rollouts:
        for row in read_rows(table):
            folders[row["rollout_id"]] = table.parent
            rollouts.append(row)
    scores = [row for table in args.scores for row in read_rows(table)]

    def load(row: dict) -> Conversation:
        capture = folders[row["rollout_id"]] / row["capture"]
        if not capture.is_file():
            raise Unusable(f"{capture} is missing")
        return rebuild(read_jsonl(capture))

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
