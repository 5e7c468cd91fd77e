"""Build the report of a run, index.html, REPORT.md and the figures, from the artefacts of all stages: see --help."""

import argparse
from datetime import UTC, datetime
from pathlib import Path

from clawgym.bench import schema as bench
from clawgym.bench.tables import text_paired, text_table
from clawgym.cli import run
from clawgym.config import Settings
from clawgym.grades.schema import SCORE
from clawgym.quality import schema as quality
from clawgym.report import content, page
from clawgym.report.figures import save
from clawgym.report.schema import SPEND
from clawgym.rollouts.schema import ROLLOUT
from clawgym.seeds.schema import DIVERSITY
from clawgym.tables import code_version, fingerprint, read_rows, replacing
from clawgym.training.schema import RL_METRICS, SFT_METRICS
from clawgym.trajectories.schema import STATS, TRAJECTORY

SINGLE = {
    "funnel": quality.FUNNEL, "decisions": quality.DECISION, "tasks": quality.TASKS, "diversity": DIVERSITY,
    "trajectories": TRAJECTORY, "stats": STATS, "sft": SFT_METRICS, "rl": RL_METRICS,
    "items": bench.ITEM, "results": bench.RESULT, "summary": bench.SUMMARY, "paired": bench.PAIRED, "kinds": bench.KINDS, "spend": SPEND,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in SINGLE:
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--rollouts", type=Path, nargs="*", default=[], help="of all teachers")
    parser.add_argument("--scores", type=Path, nargs="*", default=[], help="of all teachers")
    parser.add_argument("--settings", required=True)
    parser.add_argument("--figures", type=Path, required=True, help="out: folder of the figures")
    parser.add_argument("--html", type=Path, required=True, help="out")
    parser.add_argument("--markdown", type=Path, required=True, help="out")
    args = parser.parse_args()

    settings = Settings(args.settings)
    rows = {name: read_rows(getattr(args, name), schema) for name, schema in SINGLE.items()}
    rows["rollouts"] = [row for path in args.rollouts for row in read_rows(path, ROLLOUT)]
    rows["scores"] = [row for path in args.scores for row in read_rows(path, SCORE)]
    this = page.Run(
        **rows,
        bench=settings["bench"],
        models={name: model.model_dump() for name, model in settings.models().items()},
        student=settings["training.student"].source,
        min_reward=settings["trajectories"].min_reward,
        shown=settings["report.trajectories"],
        seed=settings["seed"],
        code=code_version(),
        settings_hash=fingerprint(settings.parts),
        measured=datetime.fromtimestamp(args.results.stat().st_mtime, UTC),
    )
    images = {name: args.figures / f"{name}.svg" for name in page.FIGURES}
    for name, figure in page.draw(this).items():
        save(figure, images[name])
    for path, text in ((args.html, page.html(this, images)), (args.markdown, page.markdown(this))):
        with replacing(path) as sink:
            sink.write(text.encode())
    steps = content.funnel(this.funnel, this.tasks, this.stats)
    print(page.text_funnel(steps), text_table(this.summary), text_paired(this.paired), sep="\n\n")


if __name__ == "__main__":
    run(main)
