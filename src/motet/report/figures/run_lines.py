"""Common parts of figures of several runs: line styles, groups of seeds, lines over time.

Runs with the same label (one policy, several seeds) share a colour and an entry of the legend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from motet.domain.arrays import Floats
from motet.report.cluster_run.record import ClusterRun
from motet.report.rendering.figure_parts import line_style, scale_time
from motet.report.rendering.palette import FADED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Runs = Sequence[ClusterRun]

LabelStyles: TypeAlias = "dict[str, dict[str, Any]]"
"""Line style by label, in the order of the runs."""

TIME_SLICES = 300
PALE: dict[str, Any] = {"color": FADED, "linestyle": "-", "linewidth": 0.8, "zorder": 1.5}


def draw_over_time(
    axes: Axes, runs: Runs, styles: LabelStyles, value: Callable[[ClusterRun], Floats]
) -> None:
    """A line per run of a step function, averaged over time slices."""
    start_s, span_s = span_of(runs)
    for style, label, run in styled(runs, styles):
        if len(run.times_s) > 1:
            edges, means = time_averages(run.times_s, value(run), TIME_SLICES)
            # A line: the limits of patches, as `stairs` draws them, take a hundred times longer.
            heights = np.append(means, means[-1])
            look = {"linewidth": 1.4, **style}
            axes.step(edges - start_s, heights, where="post", label=label, **look)
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


def label_styles(runs: Runs, highlighted: str | None = None) -> LabelStyles:
    """The line style of each label; with a highlighted one, all others are pale and behind it."""
    styles = {label: line_style(place) for place, label in enumerate(runs_by_label(runs))}
    if highlighted is None:
        return styles
    colour = styles[highlighted]["color"]
    found = dict.fromkeys(styles, PALE)
    return found | {highlighted: {"color": colour, "linestyle": "-", "zorder": 3}}


def styled(runs: Runs, styles: LabelStyles) -> list[tuple[dict[str, Any], str | None, ClusterRun]]:
    """Each run with its line style, and its label if it is the first run of that label."""
    return [
        (styles[label], label if run is same[0] else None, run)
        for label, same in runs_by_label(runs).items()
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
