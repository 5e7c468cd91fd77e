"""The figures of the report as SVG. Each function takes plain values and returns a matplotlib figure; `save` writes it."""

from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np  # noqa: E402
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.ticker import MaxNLocator  # noqa: E402

from clawgym.bench.schema import SUITES  # noqa: E402
from clawgym.report.content import Step  # noqa: E402
from clawgym.tables import replacing  # noqa: E402

INK, MUTED, GRID = "#1f2933", "#66727f", "#e3e8ee"
ACCENT, SECOND, THIRD, LOST = "#2f6f9f", "#d98324", "#6a9a5b", "#dfe5ec"
WIDE, HALF = 9.0, 5.2  # inches: a figure over the whole page, and one of two side by side, of which text has the same size
SPLITS = {"train": ACCENT, "heldout": SECOND, "unseen": THIRD}
STYLE = {
    "font.size": 9, "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": MUTED, "xtick.color": MUTED, "ytick.color": INK,
    "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 10, "axes.titlelocation": "left", "axes.titleweight": "bold",
    "grid.color": GRID, "axes.axisbelow": True, "legend.frameon": False, "svg.hashsalt": "clawgym", "figure.constrained_layout.use": True,
}  # fmt: skip


def save(figure: Figure, path: Path) -> None:
    """Write the figure as SVG without a date, so that the same values give the same bytes."""
    with replacing(path) as sink, plt.rc_context(STYLE):
        figure.savefig(sink, format="svg", metadata={"Date": None})
    plt.close(figure)


def _styled(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    def drawn(*args, **kwargs) -> Figure:
        with plt.rc_context(STYLE):
            return draw(*args, **kwargs)

    return drawn


def _nothing(text: str) -> Figure:
    figure, axes = plt.subplots(figsize=(6, 1.2))
    axes.axis("off")
    axes.text(0, 0.5, text, color=MUTED, va="center")
    return figure


@_styled
def funnel(steps: list[Step]) -> Figure:
    """What entered each step (grey) and what went on (colour)."""
    if not steps:
        return _nothing("The funnel is empty.")
    figure, axes = plt.subplots(figsize=(WIDE, 0.9 + 0.26 * len(steps)))
    place = np.arange(len(steps))
    axes.barh(place, [step.entered for step in steps], color=LOST, height=0.72, label="entered")
    axes.barh(place, [step.kept for step in steps], color=ACCENT, height=0.72, label="went on")
    top = max(step.entered for step in steps) or 1
    for i, step in enumerate(steps):
        text = f"{step.kept:,}" + (f"  (−{step.left:,})" if step.left else "")
        axes.text(step.entered + top * 0.012, i, text, va="center", fontsize=8.5)
    axes.set_yticks(place, [step.name for step in steps])
    axes.set_xlim(0, top * 1.17)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.legend(loc="lower right", fontsize=8)
    return figure


@_styled
def mix(table: dict[str, dict[str, int]], title: str) -> Figure:
    """Tasks per category or kind, stacked by split."""
    if not table:
        return _nothing("No tasks were kept.")
    figure, axes = plt.subplots(figsize=(HALF, 1.1 + 0.23 * len(table)))
    place, left = np.arange(len(table)), np.zeros(len(table))
    for split, colour in SPLITS.items():
        values = np.array([counts.get(split, 0) for counts in table.values()])
        axes.barh(place, values, left=left, color=colour, height=0.72, label=split)
        left += values
    for i, total in enumerate(left):
        axes.text(total + left.max() * 0.012, i, f"{int(total)}", va="center", fontsize=8)
    axes.set_yticks(place, [name.replace("_", " ") for name in table])
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_title(title)
    figure.legend(loc="outside lower center", ncols=len(SPLITS), fontsize=8)
    return figure


@_styled
def rewards(scores: dict[str, list[float]], threshold: float) -> Figure:
    """Distribution of the task scores of each teacher, with the threshold of a kept trajectory."""
    scores = {model: values for model, values in scores.items() if values}
    if not scores:
        return _nothing("No rollout has a score.")
    figure, axes = plt.subplots(figsize=(HALF, 2.9))
    colours = [ACCENT, SECOND, THIRD, MUTED]
    edges = np.linspace(0, 1, 21)
    axes.hist(list(scores.values()), bins=edges, color=[colours[i % 4] for i in range(len(scores))], label=list(scores), rwidth=0.9)
    axes.axvline(threshold, color=INK, linewidth=1, linestyle="--")
    axes.text(threshold - 0.01, axes.get_ylim()[1] * 0.97, f"kept from {threshold:g}", ha="right", va="top", fontsize=8.5)
    axes.set_xlabel("task score")
    axes.set_ylabel("rollouts")
    axes.set_xlim(-0.01, 1.01)
    axes.grid(axis="y")
    axes.legend(loc="upper left", fontsize=8)
    return figure


@_styled
def curve(series: dict[str, tuple[list[float], list[float]]], ylabel: str, empty: str) -> Figure:
    """Values over optimiser steps: name → (steps, values)."""
    series = {name: points for name, points in series.items() if points[0]}
    if not series:
        return _nothing(empty)
    figure, axes = plt.subplots(figsize=(HALF, 2.9))
    for (name, (steps, values)), colour in zip(series.items(), [ACCENT, SECOND, THIRD, MUTED], strict=False):
        few = len(steps) < 25
        axes.plot(steps, values, color=colour, linewidth=1.6, marker="o" if few else None, markersize=3.5, label=name)
    axes.set_xlabel("optimiser step")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel(ylabel)
    axes.set_ylim(min([0.0, *(value for _, values in series.values() for value in values)]))
    axes.grid(axis="y")
    if len(series) > 1:
        axes.legend(loc="best", fontsize=8)
    return figure


@_styled
def rl(rewards: tuple[list[float], list[float]], alike: tuple[list[float], list[float]]) -> Figure:
    """Mean reward per step as points, as each step has other tasks, and the share of prompts whose rollouts all scored alike."""
    if not rewards[0] and not alike[0]:
        return _nothing("No reward recorded.")
    figure, panels = plt.subplots(1, 2, figsize=(HALF, 2.9))
    many = max(map(len, (rewards[0], alike[0]))) > 25
    panels[0].plot(*rewards, "o", color=ACCENT, markersize=3 if many else 5)
    panels[1].bar(*alike, color=MUTED, width=1.0 if many else 0.5)
    steps = [*rewards[0], *alike[0]]
    for axes, title in zip(panels, ["mean reward", "share of prompts without\nvariance of the reward"], strict=True):
        axes.set_title(title)
        axes.set_xlabel("optimiser step")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlim(min(steps) - 0.6, max(steps) + 0.6)
        axes.set_ylim(-0.03, 1.05)
        axes.grid(axis="y")
    return figure


@_styled
def bench(summary: list[dict]) -> Figure:
    """Mean task score per suite and model with its 95 % interval."""
    suites = [suite for suite in SUITES if any(row["n"] for row in summary if row["suite"] == suite)]
    if not suites:
        return _nothing("The bench has no measured items.")
    models = list(dict.fromkeys(row["model"] for row in summary))
    figure, panels = plt.subplots(1, len(suites), figsize=(WIDE, 0.9 + 0.3 * len(models)), sharey=True, squeeze=False)
    for suite, axes in zip(suites, panels[0], strict=True):
        rows = {row["model"]: row for row in summary if row["suite"] == suite and row["mean"] is not None}
        for i, model in enumerate(models):
            if row := rows.get(model):
                colour = {"sft": SECOND, "rl": SECOND}.get(model.split(".")[0], ACCENT if model.startswith("base") else MUTED)
                if row["ci_low"] is not None:
                    axes.plot([row["ci_low"], row["ci_high"]], [i, i], color=colour, linewidth=2.4, alpha=0.55, solid_capstyle="round")
                axes.plot(row["mean"], i, "o", color=colour, markersize=6)
        n = max(row["n"] for row in rows.values())
        axes.set_title(f"{suite} (n = {n})")
        axes.set_xlim(-0.04, 1.04)
        axes.set_ylim(len(models) - 0.5, -0.5)
        axes.set_yticks(range(len(models)), models)
        axes.set_xlabel("mean task score")
        axes.grid(axis="x")
        axes.tick_params(axis="y", length=0)
    return figure
