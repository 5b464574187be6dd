"""Figure of completion times by kind of job: small or large, short or long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motet.domain.arrays import Ints
from motet.report.cluster_run.record import BIN_NAMES, BINS
from motet.report.figures.line_panels import MOST_TOGETHER
from motet.report.figures.run_lines import Runs, runs_by_label, seeds_note
from motet.report.rendering.confidence import confidence_half_width
from motet.report.rendering.figure_parts import (
    finish,
    name_durations,
    new_figure,
    new_grid,
    scale_time,
    shortened,
    span_logarithmically,
)
from motet.report.rendering.palette import GRID, INK, JOB_COLOURS, job_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Average completion time by kind of job"
ROW_IN = 0.2
_REPEATED = ("", "////", "....", "xxxx")


def jct_by_bin_figure(runs: Runs) -> Figure:
    """Average completion time of small and large, short and long jobs."""
    groups = runs_by_label(runs)
    counts = np.bincount(runs[0].bins, minlength=len(BINS))
    shown = np.flatnonzero(counts).tolist()
    if len(groups) > MOST_TOGETHER and shown:
        return _panels_by_kind(runs, shown)
    figure, axes = new_figure(TITLE, _subtitle(runs))
    width = 0.8 / len(groups)
    for place, (label, same) in enumerate(groups.items()):
        heights = [_bin_mean_s(same, number) for number in shown]
        middles = np.arange(len(shown)) + (place - (len(groups) - 1) / 2) * width
        bars = axes.bar(middles, heights, 0.9 * width, color=job_colour(place), label=label)
        _draw_intervals(axes, middles, heights, [_bin_half_width_s(same, it) for it in shown])
        for bar in bars:
            bar.set(hatch=_REPEATED[place // len(JOB_COLOURS) % len(_REPEATED)], edgecolor="white")
            bar.set_linewidth(0)
    axes.set_xticks(range(len(shown)), [_kind_name(counts, number) for number in shown])
    means_s = [_bin_mean_s(same, number) for same in groups.values() for number in shown]
    if any(means_s):
        axes.set_yscale("log")
        axes.set_ylim(bottom=min(filter(None, means_s)) / 2)
        name_durations(axes.yaxis)
    else:
        axes.set_ylim(0, 1)
        scale_time(axes.yaxis, 1.0)
    return finish(figure, axes)


def _panels_by_kind(runs: Runs, shown: Sequence[int]) -> Figure:
    """A panel for each kind, with a row for each policy: bars of many policies are too thin."""
    groups = runs_by_label(runs)
    counts = np.bincount(runs[0].bins, minlength=len(BINS))
    panel_in = 0.5 + ROW_IN * len(groups)
    columns = min(2, len(shown))
    figure, panels = new_grid(TITLE, _subtitle(runs), len(shown), columns, panel_in)
    means_s = [_bin_mean_s(same, number) for same in groups.values() for number in shown]
    for axes, number in zip(panels, shown, strict=True):
        heights = [_bin_mean_s(same, number) for same in groups.values()]
        halves = [_bin_half_width_s(same, number) for same in groups.values()]
        span_logarithmically(axes, np.array([each for each in means_s if each] or [1.0]))
        name_durations(axes.xaxis, is_narrow=True)
        for place, (mean_s, half_s) in enumerate(zip(heights, halves, strict=True)):
            style: dict[str, Any] = {"color": job_colour(place), "markersize": 6, "capsize": 2}
            error = [[min(half_s, 0.9 * mean_s)], [half_s]]
            if mean_s:
                axes.errorbar([mean_s], [place], xerr=error, fmt="o", **style)
        axes.set_title(_kind_name(counts, number), loc="left", fontsize=9, color=INK, pad=4)
        axes.grid(axis="y", color=GRID, linewidth=0.8)
        axes.set_yticks(range(len(groups)), [shortened(label) for label in groups])
        axes.set_ylim(len(groups) - 0.5, -0.5)
    return figure


def _subtitle(runs: Runs) -> str:
    return (
        "logarithmic; small: up to 4 GPUs; short: under 800 s on them; in brackets: jobs"
        f"{seeds_note(runs, 'mean and 95 % interval')}"
    )


def _kind_name(counts: Ints, number: int) -> str:
    return f"{BIN_NAMES[number]} ({counts[number]:,})"


def _bin_mean_s(runs: Runs, number: int) -> float:
    times_s = np.concatenate([run.jct_s[run.bins == number] for run in runs])
    return float(times_s.mean()) if len(times_s) else 0.0


def _bin_half_width_s(runs: Runs, number: int) -> float:
    """Half-width of the interval over the seeds in which such jobs finished; 0 for one seed."""
    means_s = [_bin_mean_s([run], number) for run in runs if (run.bins == number).any()]
    return confidence_half_width(means_s) if len(means_s) > 1 else 0.0


def _draw_intervals(
    axes: Axes, places: NDArray[Any], means: Sequence[float], half_widths: Sequence[float]
) -> None:
    """Error bars; the axis is logarithmic, so they end above 0."""
    if any(half_widths):
        below = [min(half, 0.9 * mean) for mean, half in zip(means, half_widths, strict=True)]
        style: dict[str, Any] = {"fmt": "none", "ecolor": INK, "elinewidth": 1, "capsize": 2}
        axes.errorbar(places, means, yerr=[below, list(half_widths)], **style)
