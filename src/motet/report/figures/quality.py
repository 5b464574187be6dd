"""Figures of losses over time, and of the division of GPUs by loss.

After SLAQ (Zhang et al., SoCC 2017, figures 3 and 4). Runs without loss curves are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motet.domain.arrays import Floats
from motet.domain.units import SECOND_US
from motet.report.cluster_run.quality import LOSS_GROUPS, QualityOverTime
from motet.report.figures.line_panels import figure_of_lines
from motet.report.figures.run_lines import (
    PALE,
    LabelStyles,
    Runs,
    runs_by_label,
    seeds_note,
)
from motet.report.rendering.figure_parts import (
    LEGEND,
    QUIET,
    new_panels,
    scale_time,
    shortened,
)
from motet.report.rendering.palette import INK, QUIET_INK, job_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Qualities = Sequence[QualityOverTime]

MOMENTS = 400
FEWEST_JOBS = len(LOSS_GROUPS) + 1
"""Below this number of jobs a quarter of them is less than one job."""

NO_CURVE = "no job has a loss curve"
SHADES = (1.0, 0.55, 0.22)
EVERY_JOB_ALIKE = (0.25, 0.5)


def average_loss_figure(runs: Runs) -> Figure:
    """Average normalised loss of the active jobs over time, one line per policy."""
    times_s, groups = _moments_s(runs), _qualities_by_label(runs)

    def draw(axes: Axes, styles: LabelStyles) -> None:
        for label, same in groups.items():
            lines = np.array([_at(each, _loss_of_many(each), times_s) for each in same])
            thin = {**styles[label], "linewidth": 0.7, "alpha": 0.3}
            for line in lines if len(lines) > 1 and styles[label] != PALE else ():
                axes.plot(times_s - times_s[0], line, **thin)
            if len(lines):
                style = {"linewidth": 1.8, **styles[label]}
                axes.plot(times_s - times_s[0], _mean_of_most(lines), label=label, **style)
        axes.set_ylim(0, min(1.1 * _highest_of_many(runs), 1.02))
        _scale(axes, times_s)
        if not any(groups.values()):
            _write_in_the_middle(axes, NO_CURVE)

    return figure_of_lines(
        "Average normalised loss",
        f"of the jobs that are there, over time{_few_note(runs)}\n"
        "1 at a job's first step, 0 at its best"
        f"{seeds_note(runs, 'their mean, and a thin line each')}",
        runs,
        draw,
    )


def gpus_by_loss_figure(runs: Runs) -> Figure:
    """Shares of the GPUs by group of jobs with similar losses over time, one panel per policy.

    Moments with fewer than FEWEST_JOBS jobs are left empty.
    """
    groups = {label: same for label, same in _qualities_by_label(runs).items() if same}
    figure, panels = new_panels(
        "GPUs by loss",
        f"share of the jobs' GPUs, over time, while there are at least {FEWEST_JOBS};\n"
        f"dashed: every job alike{seeds_note(runs, 'mean')}",
        max(len(groups), 1),
    )
    times_s, places = _moments_s(runs), list(runs_by_label(runs))
    for axes, (label, same) in zip(panels, groups.items(), strict=False):
        colour, is_last = job_colour(places.index(label)), axes is panels[-1]
        _stack(axes, times_s - times_s[0], _shares(same, times_s), colour)
        if not any(_has_many(each) for each in same):
            _write_in_the_middle(axes, f"there were never {FEWEST_JOBS}")
        style: dict[str, Any] = {"fontsize": 9, "color": colour, "ha": "right"}
        axes.text(1, 1.04, shortened(label), transform=axes.transAxes, **style)
        axes.tick_params(labelbottom=is_last)
        _scale(axes, times_s, is_named=is_last)
    if not groups:
        _write_in_the_middle(panels[0], NO_CURVE)
    _group_legend(figure)
    return figure


# -- parts -----------------------------------------------------------------------------------------


def _qualities_by_label(runs: Runs) -> dict[str, Qualities]:
    """Quality over time of the runs with loss curves, by label; the list may be empty."""
    return {
        label: [run.quality for run in same if run.quality is not None]
        for label, same in runs_by_label(runs).items()
    }


def _moments_s(runs: Runs) -> Floats:
    """Evenly spaced from the first submission to the last moment with FEWEST_JOBS jobs."""
    found = [run.quality for run in runs if run.quality is not None]
    if not found:
        return np.array([0.0, 1.0])
    begin_us = min(each.times_us[0] for each in found)
    end_us = max(each.times_us[_is_of_many(each)][-1] for each in found)
    return np.linspace(begin_us, max(end_us, begin_us + 1), MOMENTS) / SECOND_US


def _is_of_many(quality: QualityOverTime) -> NDArray[np.bool_]:
    """`(moments,)`: at least FEWEST_JOBS jobs are active; all true without such a moment."""
    many: NDArray[np.bool_] = quality.jobs >= FEWEST_JOBS
    return many if _has_many(quality) else np.ones_like(many)


def _has_many(quality: QualityOverTime) -> bool:
    return bool((quality.jobs >= FEWEST_JOBS).any())


def _few_note(runs: Runs) -> str:
    """Note about the gaps of the lines; empty if no run has them."""
    has_many = any(run.quality is not None and _has_many(run.quality) for run in runs)
    return f", while there are at least {FEWEST_JOBS};" if has_many else ";"


def _loss_of_many(quality: QualityOverTime) -> Floats:
    """Average loss, NaN at moments with few jobs: their high losses would dominate the axis."""
    return np.where(_is_of_many(quality), quality.average_loss, np.nan)


def _highest_of_many(runs: Runs) -> float:
    losses = [_loss_of_many(run.quality) for run in runs if run.quality is not None]
    return float(np.nanmax(np.concatenate([[0.0], *losses]))) or 1.0


def _at(quality: QualityOverTime, values: Floats, times_s: Floats) -> Floats:
    """Linear interpolation at `times_s`; NaN outside of the run and beside NaN."""
    known_s = quality.times_us / SECOND_US
    return np.interp(times_s, known_s, values, left=np.nan, right=np.nan)


def _mean_of_most(lines: Floats) -> Floats:
    """Mean over the first axis of `(seeds, moments)`; NaN where fewer than half have a value."""
    known = ~np.isnan(lines)
    mean = np.full(lines.shape[1], np.nan)
    total, count = np.where(known, lines, 0.0).sum(axis=0), known.sum(axis=0)
    np.divide(total, count, out=mean, where=2 * count >= max(len(lines), 1))
    return mean


def _shares(same: Qualities, times_s: Floats) -> Floats:
    """Shares of the GPUs, `(groups, moments)`, mean over the seeds."""
    whole = []
    for quality in same:
        shares = np.where(quality.jobs >= FEWEST_JOBS, quality.shares, np.nan)
        whole.append([_at(quality, row, times_s) for row in shares])
    return np.array([_mean_of_most(lines) for lines in np.moveaxis(np.array(whole), 1, 0)])


def _stack(axes: Axes, times_s: Floats, shares: Floats, colour: str) -> None:
    edges = np.vstack([np.zeros(len(times_s)), np.cumsum(shares, axis=0)])
    for below, above, shade in zip(edges[:-1], edges[1:], SHADES, strict=True):
        axes.fill_between(times_s, below, above, color=colour, alpha=shade, linewidth=0)
    for level in EVERY_JOB_ALIKE:
        axes.axhline(level, color=INK, linewidth=0.8, linestyle="--")
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")


def _scale(axes: Axes, times_s: Floats, *, is_named: bool = True) -> None:
    span_s = float(times_s[-1] - times_s[0])
    axes.set_xlim(0, span_s)
    scale_time(axes.xaxis, span_s, is_named=is_named)


def _group_legend(figure: Figure) -> None:
    from matplotlib.patches import Patch

    patches = [
        Patch(facecolor=QUIET_INK, alpha=shade, linewidth=0, label=group.replace("_", " "))
        for group, shade in zip(LOSS_GROUPS, SHADES, strict=True)
    ]
    figure.legend(handles=patches[::-1], loc="outside right upper", **LEGEND)


def _write_in_the_middle(axes: Axes, what: str) -> None:
    middle: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "va": "center"}
    axes.text(0.5, 0.38, what, **middle, **QUIET)
