"""Figures of runs side by side: one line, panel or group of bars per policy, in its colour.

Matplotlib is imported when a figure is drawn, not with this module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from motet.domain.wait import DelayCause
from motet.report.figures.completion_by_kind import jct_by_bin_figure
from motet.report.figures.fairness import fairness_figure
from motet.report.figures.line_panels import MOST_TOGETHER, figure_of_lines
from motet.report.figures.quality import average_loss_figure, gpus_by_loss_figure
from motet.report.figures.run_lines import (
    TIME_SLICES,
    LabelStyles,
    Runs,
    draw_over_time,
    runs_by_label,
    seeds_note,
    span_of,
    styled,
    time_averages,
)
from motet.report.rendering.figure_parts import (
    LEGEND,
    QUIET,
    SHORTEST_S,
    draw_shares,
    logarithmic_durations,
    make_room,
    new_figure,
    new_panels,
    scale_time,
    shortened,
)
from motet.report.rendering.palette import GRID, QUIET_INK, job_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_REPEATED = ("", "////", "....", "xxxx")
CAUSE_HATCHES = {
    DelayCause.POLICY_ORDER: "",
    DelayCause.FRAGMENTATION: "////",
    DelayCause.FAIR_SHARE: "....",
}


def jct_cdf_figure(runs: Runs) -> Figure:
    """Cumulative share of jobs by completion time, on a logarithmic axis."""
    note = f"share of jobs done within a time{seeds_note(runs, 'a line per seed')}"

    def draw(axes: Axes, styles: LabelStyles) -> None:
        is_narrow = len(styles) > MOST_TOGETHER
        logarithmic_durations(axes, np.concatenate([run.jct_s for run in runs]), is_narrow)
        for style, label, run in styled(runs, styles):
            draw_shares(axes, np.maximum(run.jct_s, SHORTEST_S), label=label, **style)
        axes.set_ylim(0, 1.02)
        axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")

    return figure_of_lines("Job completion time", note, runs, draw)


def utilisation_figure(runs: Runs) -> Figure:
    """Share of the GPUs that jobs hold over time, one panel per policy (its first seed)."""
    firsts = [same[0] for same in runs_by_label(runs).values()]
    note = f"GPUs that jobs hold, over time{seeds_note(runs, 'the first is shown')}"
    figure, panels = new_panels("GPU utilisation", note, len(firsts))
    start_s, span_s = span_of(firsts)
    for place, (axes, run) in enumerate(zip(panels, firsts, strict=True)):
        if len(run.times_s) > 1:
            edges, means = time_averages(run.times_s, run.used_gpus / run.gpu_count, TIME_SLICES)
            axes.stairs(means, edges - start_s, color=job_colour(place), fill=True)
        axes.set_ylim(0, 1.02)
        axes.set_xlim(0, span_s)
        axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        label: dict[str, Any] = {"fontsize": 9, "color": job_colour(place), "ha": "right"}
        axes.text(1, 1.04, shortened(run.label), transform=axes.transAxes, **label)
        axes.tick_params(labelbottom=place == len(firsts) - 1)
        scale_time(axes.xaxis, span_s, is_named=place == len(firsts) - 1)
    return figure


def queue_length_figure(runs: Runs) -> Figure:
    """Number of jobs without GPUs over time."""
    note = f"jobs without GPUs, over time{seeds_note(runs, 'a line per seed')}"

    def draw(axes: Axes, styles: LabelStyles) -> None:
        draw_over_time(axes, runs, styles, lambda run: run.waiting_jobs.astype(np.float64))
        axes.set_ylim(bottom=0)

    return figure_of_lines("Queue length", note, runs, draw)


def queueing_delay_figure(runs: Runs) -> Figure:
    """Average time of a job without GPUs by cause, one bar per policy."""
    figure, axes = new_figure("Queueing delay by cause", "average time of a job without GPUs")
    groups = runs_by_label(runs)
    for place, same in enumerate(groups.values()):
        left = 0.0
        jobs = max(sum(len(run.ids) for run in same), 1)
        for cause, hatch in CAUSE_HATCHES.items():
            mean_s = sum(run.delay_causes_s.get(cause, 0.0) for run in same) / jobs
            (bar,) = axes.barh(place, mean_s, 0.62, left=left, color=job_colour(place), linewidth=0)
            bar.set(hatch=hatch, edgecolor="white")
            left += mean_s
    figure.set_figheight(1.4 + 0.4 * len(groups))
    names = [shortened(label) for label in groups]
    make_room(figure, names)
    axes.set_yticks(range(len(groups)), names)
    axes.invert_yaxis()
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.grid(axis="y", visible=False)
    longest_s = float(axes.dataLim.x1)
    if longest_s <= 0:
        longest_s = 1.0
        middle: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "va": "center"}
        axes.text(0.5, 0.5, "no job waited", **middle, **QUIET)
    axes.set_xlim(0, 1.03 * longest_s)
    scale_time(axes.xaxis, longest_s)
    _cause_legend(figure, runs)
    return figure


# -- parts -----------------------------------------------------------------------------------------


def _cause_legend(figure: Figure, runs: Runs) -> None:
    """Legend of the causes that occur."""
    from matplotlib.patches import Patch

    patches = [
        Patch(facecolor=QUIET_INK, edgecolor="white", hatch=hatch, label=cause.replace("_", " "))
        for cause, hatch in CAUSE_HATCHES.items()
        if any(run.delay_causes_s.get(cause) for run in runs)
    ]
    figure.legend(handles=patches, loc="outside right upper", **LEGEND)


OF_QUALITY: dict[str, Callable[[Runs], Figure]] = {
    "average_loss.png": average_loss_figure,
    "gpus_by_loss.png": gpus_by_loss_figure,
}
"""Figures that need loss curves."""

FIGURES: dict[str, Callable[[Runs], Figure]] = {
    "jct_cdf.png": jct_cdf_figure,
    "utilisation.png": utilisation_figure,
    "queue_length.png": queue_length_figure,
    "jct_by_bin.png": jct_by_bin_figure,
    "queueing_delay.png": queueing_delay_figure,
    "fairness.png": fairness_figure,
    **OF_QUALITY,
}
"""Figures of any number of runs by file name, as `--out` writes them."""
