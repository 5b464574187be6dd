"""What figures of several runs have in common: a policy's colour, seeds, lines over time.

Runs with the same label (a policy under several seeds) share a colour and an entry in the legend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from motet.domain.arrays import Floats
from motet.report.cluster_run.jobs import SimulatedJobs
from motet.report.rendering.figure_parts import line_style, scale_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Runs = Sequence[SimulatedJobs]

TIME_SLICES = 300


def draw_over_time(axes: Axes, runs: Runs, value: Callable[[SimulatedJobs], Floats]) -> None:
    start_s, span_s = span_of(runs)
    for style, label, run in styled(runs):
        if len(run.times_s) > 1:
            edges, means = time_averages(run.times_s, value(run), TIME_SLICES)
            edges -= start_s
            axes.stairs(means, edges, label=label, linewidth=1.4, baseline=None, **style)
    axes.set_xlim(0, span_s)
    scale_time(axes.xaxis, span_s)


def span_of(runs: Runs) -> tuple[float, float]:
    """Where time begins, and how long it is until the last run's end."""
    drawn = [run for run in runs if len(run.times_s)]
    start_s = min((float(run.times_s[0]) for run in drawn), default=0.0)
    end_s = max((float(run.times_s[-1]) for run in drawn), default=1.0)
    return start_s, max(end_s - start_s, 1e-6)


def by_label(runs: Runs) -> dict[str, list[SimulatedJobs]]:
    groups: dict[str, list[SimulatedJobs]] = {}
    for run in runs:
        groups.setdefault(run.label, []).append(run)
    return groups


def styled(runs: Runs) -> list[tuple[dict[str, Any], str | None, SimulatedJobs]]:
    """Each run with its line's style, and its label if it is the first of that label."""
    return [
        (line_style(place), label if run is same[0] else None, run)
        for place, (label, same) in enumerate(by_label(runs).items())
        for run in same
    ]


def time_averages(times_s: Floats, values: Floats, slices: int) -> tuple[Floats, Floats]:
    """Edges of equal time slices, `(slices + 1,)`, and a step function's average in each.

    `values[i]` holds from `times_s[i]` to `times_s[i + 1]`.
    """
    edges = np.linspace(times_s[0], times_s[-1], slices + 1)
    until = np.concatenate([[0.0], np.cumsum(values[:-1] * np.diff(times_s))])
    areas = np.diff(np.interp(edges, times_s, until))
    return edges, areas / np.maximum(np.diff(edges), 1e-12)


def seeds_note(runs: Runs, how: str) -> str:
    """What becomes of several seeds; nothing of one."""
    seeds = max(map(len, by_label(runs).values()))
    return f"\n{seeds} seeds: {how}" if seeds > 1 else ""
