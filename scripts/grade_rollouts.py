"""Grade the rollouts of one model: a row per check and rule to --grades, a row per rollout to --scores.

`grade_rollouts.py --tasks T.parquet --verifiers V.parquet --rollouts D/rollouts.parquet --settings JSON --grades G.parquet
--scores S.parquet`
Captures and snapshots are found beside the rollouts table. --settings: grades, models.judge, prompts, sandbox, spend.
"""

import argparse
import asyncio
from pathlib import Path

from clawgym.cli import run
from clawgym.client import Client, prompt_hash
from clawgym.config import Settings
from clawgym.errors import UserError
from clawgym.grades.code import require_sandbox
from clawgym.grades.grade import Grader, grade_all
from clawgym.grades.schema import GRADE, SCORE
from clawgym.rollouts.schema import ROLLOUT
from clawgym.sandbox import Sandbox
from clawgym.tables import fingerprint, read_rows, write_table
from clawgym.verifiers.schema import VERIFIER


async def grade(settings: Settings, rollouts: list[dict], tasks: dict, verifiers: dict, folder: Path) -> tuple[list[dict], list[dict]]:
    sandbox = settings["sandbox"]
    judge = settings["models.judge"]
    async with Client({"judge": judge}, settings["spend"], "grades") as client:
        grader = Grader(
            Sandbox.from_settings(sandbox), client, settings["prompts"], settings["grades"], judge.model, folder, sandbox.parallel
        )
        grades, scores = await grade_all(grader, rollouts, tasks, verifiers)
        require_sandbox((row["status"] for row in grades if row["grader"] == "code"), str(folder))
        judged = [(row["status"], row["detail"]) for row in grades if row["rule_id"] is not None and row["status"] != "rollout_failed"]
        client.require_answers([(kind, detail or "") for kind, detail in judged if kind != "ok"], len(judged))
    return grades, scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=Path, required=True)
    parser.add_argument("--verifiers", type=Path, required=True)
    parser.add_argument("--rollouts", type=Path, required=True)
    parser.add_argument("--settings", required=True)
    parser.add_argument("--grades", type=Path, required=True)
    parser.add_argument("--scores", type=Path, required=True)
    args = parser.parse_args()
    settings = Settings(args.settings)

    rollouts = read_rows(args.rollouts, ROLLOUT)
    tasks = {task["task_id"]: task for task in read_rows(args.tasks)}
    verifiers = {verifier["task_id"]: verifier for verifier in read_rows(args.verifiers, VERIFIER)}
    for name, table, path in (("task", tasks, args.tasks), ("verifier", verifiers, args.verifiers)):
        if missing := sorted({rollout["task_id"] for rollout in rollouts} - set(table)):
            raise UserError(
                f"{path}: expected the {name} of {missing[0]} and {len(missing) - 1} more; give the tables the rollouts were made from"
            )
    grades, scores = asyncio.run(grade(settings, rollouts, tasks, verifiers, args.rollouts.parent))
    origin = {
        "config": fingerprint(settings.parts),
        "models": [settings["models.judge"].model],
        "prompts": {"judge_rule": prompt_hash(settings["prompts"], "judge_rule")},
    }
    write_table(grades, GRADE, args.grades, origin)
    write_table(scores, SCORE, args.scores, origin)
    measured = [score["s_task"] for score in scores if score["s_task"] is not None]
    mean = f", mean score {sum(measured) / len(measured):.3f}" if measured else ""
    print(f"{len(measured)} of {len(scores)} rollouts measured{mean}")


if __name__ == "__main__":
    run(main)
