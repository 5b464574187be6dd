"""Common parts of figures of several runs: line styles, groups of seeds, lines over time.

Runs with the same label (one policy, several seeds) share a colour and an entry of the legend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from motet.domain.arrays import Floats
from motet.report.cluster_run.record import ClusterRun
from motet.report.rendering.figure_parts import line_style, scale_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Runs = Sequence[ClusterRun]

TIME_SLICES = 300


def draw_over_time(axes: Axes, runs: Runs, value: Callable[[ClusterRun], Floats]) -> None:
    """A line per run of a step function, averaged over time slices."""
    start_s, span_s = span_of(runs)
    for style, label, run in styled(runs):
        if len(run.times_s) > 1:
            edges, means = time_averages(run.times_s, value(run), TIME_SLICES)
            edges -= start_s
            axes.stairs(means, edges, label=label, linewidth=1.4, baseline=None, **style)
    axes.set_xlim(0, span_s)
    scale_time(axes.xaxis, span_s)


def span_of(runs: Runs) -> tuple[float, float]:
    """First time of all runs, and seconds from it to the last time of all runs."""
    drawn = [run for run in runs if len(run.times_s)]
    start_s = min((float(run.times_s[0]) for run in drawn), default=0.0)
    end_s = max((float(run.times_s[-1]) for run in drawn), default=1.0)
    return start_s, max(end_s - start_s, 1e-6)


def runs_by_label(runs: Runs) -> dict[str, list[ClusterRun]]:
    """Runs of one label differ in their seed only."""
    groups: dict[str, list[ClusterRun]] = {}
    for run in runs:
        groups.setdefault(run.label, []).append(run)
    return groups


def styled(runs: Runs) -> list[tuple[dict[str, Any], str | None, ClusterRun]]:
    """Each run with its line style, and its label if it is the first run of that label."""
    return [
        (line_style(place), label if run is same[0] else None, run)
        for place, (label, same) in enumerate(runs_by_label(runs).items())
        for run in same
    ]


def time_averages(times_s: Floats, values: Floats, slices: int) -> tuple[Floats, Floats]:
    """Edges of equal time slices, `(slices + 1,)`, and the average of a step function in each.

    `values[i]` holds from `times_s[i]` to `times_s[i + 1]`.
    """
    edges = np.linspace(times_s[0], times_s[-1], slices + 1)
    until = np.concatenate([[0.0], np.cumsum(values[:-1] * np.diff(times_s))])
    areas = np.diff(np.interp(edges, times_s, until))
    return edges, areas / np.maximum(np.diff(edges), 1e-12)


def seeds_note(runs: Runs, how: str) -> str:
    """Second line of a subtitle: how several seeds are shown; empty for one seed."""
    seeds = max(map(len, runs_by_label(runs).values()))
    return f"\n{seeds} seeds: {how}" if seeds > 1 else ""
