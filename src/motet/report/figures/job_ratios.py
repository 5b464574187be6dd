"""Figures of completion times of the same jobs under two or more policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from motet.report.cluster_run.job_pairs import JobPairs
from motet.report.cluster_run.record import BIN_NAMES
from motet.report.rendering.figure_parts import (
    SHORTEST_S,
    finish,
    logarithmic_durations,
    make_room,
    name_durations,
    new_figure,
    shortened,
)
from motet.report.rendering.palette import GRID, JOB_COLOURS, QUIET_INK, job_colour

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SOONER, LATER = JOB_COLOURS[2], JOB_COLOURS[6]


def job_times_figure(first: str, second: str, same: JobPairs) -> Figure:
    """Completion times of the same jobs under two policies, one dot per job and seed."""
    figure, axes = new_figure(
        f"{second} against {first}",
        f"a dot per job; below the line it is done sooner under {second}",
    )
    axes.set_axisbelow(True)
    before_s, after_s = (np.maximum(each, SHORTEST_S) for each in (same.before_s, same.after_s))
    for number, name in enumerate(BIN_NAMES):
        here = same.bins == number
        dots: dict[str, Any] = {"s": 9, "alpha": 0.55, "color": job_colour(number), "label": name}
        axes.scatter(before_s[here], after_s[here], **dots)
    both_s = np.concatenate([before_s, after_s])
    if len(both_s):
        ends = np.maximum([both_s.min(), both_s.max()], SHORTEST_S)
        axes.plot(ends, ends, color=QUIET_INK, linewidth=1, zorder=1)
    axes.set_yscale("log")
    name_durations(axes.yaxis)
    logarithmic_durations(axes, both_s)
    axes.set_xlabel(f"completion time under {first}", color=QUIET_INK, fontsize=9)
    axes.set_ylabel(f"under {second}", color=QUIET_INK, fontsize=9)
    return finish(figure, axes)


def sooner_and_later_figure(against: str, moved: Sequence[tuple[str, int, int, int]]) -> Figure:
    """Shares of jobs that finish sooner and later than under the policy `against`.

    `moved`: per policy its label and three numbers of jobs: sooner, later, finished under both.
    """
    figure, axes = new_figure(
        f"Winners and losers against {shortened(against)}",
        "jobs done more than 1 % sooner (to the left) or later (to the right)",
    )
    names = [shortened(label) for label, *_ in moved]
    make_room(figure, names)
    figure.set_figheight(1.4 + 0.4 * len(moved))
    for place, (_, sooner, later, jobs) in enumerate(moved):
        shares = np.array([-sooner, later]) / max(jobs, 1)
        axes.barh([place] * 2, shares, 0.62, color=[SOONER, LATER])
        for share, count, side in zip(shares, (sooner, later), ("right", "left"), strict=True):
            shift: dict[str, Any] = {
                "xytext": (-3 if side == "right" else 3, 0),
                "textcoords": "offset points",
            }
            style: dict[str, Any] = {"ha": side, "va": "center", "fontsize": 8, "color": QUIET_INK}
            axes.annotate(f"{count:,}", (share, place), **shift, **style)
    axes.set_yticks(range(len(moved)), names)
    axes.invert_yaxis()
    axes.set_xlim(-1.12, 1.12)
    axes.xaxis.set_major_formatter(lambda share, _: f"{abs(share):.0%}")
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.axvline(0, color=QUIET_INK, linewidth=1)
    return figure
