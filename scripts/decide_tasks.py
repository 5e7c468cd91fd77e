"""Say for every task and every reject why it stays or leaves, count both, and split what stays.

Reads the tables of the stages seeds, tasks, resources, verifiers and quality; writes decisions, funnel and the kept tasks.
"""

import argparse
from pathlib import Path

from clawgym.cli import run
from clawgym.config import Settings
from clawgym.quality import gates
from clawgym.quality.decide import decide, describe, first_drops, funnel
from clawgym.quality.schema import DECISION, FUNNEL, TASKS
from clawgym.tables import fingerprint, read_rows, read_table, write_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("seeds", "personas", "skills", "tasks", "filled-tasks", "verifiers", "cards", "novelty", "judgements"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--rejects", type=Path, nargs="+", required=True)
    parser.add_argument("--settings", required=True)
    for name in ("decisions", "funnel", "kept"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    args = parser.parse_args()
    settings = Settings(args.settings)

    filled = {row["task_id"]: row for row in read_rows(args.filled_tasks)}
    tasks = [filled.get(row["task_id"], row) for row in read_rows(args.tasks)]
    verifiers = {row["task_id"]: row for row in read_rows(args.verifiers)}
    cards = gates.summarise_cards(read_rows(args.cards))
    novelty = {row["task_id"]: row for row in read_rows(args.novelty)}
    judgements = {row["task_id"]: row for row in read_rows(args.judgements)}
    routes = {row["seed_id"]: row["route"] for row in read_rows(args.seeds)}
    rejects = [row for path in args.rejects for row in read_rows(path)]

    drops = first_drops(tasks, rejects, verifiers, cards, novelty, judgements, settings["quality.gates"])
    decisions, kept = decide(tasks, drops, routes, cards, novelty, judgements, settings["quality.split"])
    steps = funnel(decisions, read_table(args.personas, columns=["persona_id"]).num_rows, read_rows(args.skills))

    origin = {"config": fingerprint(settings.parts)}
    write_table(decisions, DECISION, args.decisions, origin)
    write_table(steps, FUNNEL, args.funnel, origin)
    write_table(kept, TASKS, args.kept, origin)
    print(describe(steps, kept))


if __name__ == "__main__":
    run(main)
