"""Gantt chart of machines: bars of jobs, or a heat map where there are too many bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from motet.report.cluster_run.placements import Placements, held_until
from motet.report.figures.gantt_bars import TimeWindow, bar_chart
from motet.report.figures.gantt_heat_map import heat_map
from motet.report.figures.gantt_sheet import MOST_MACHINES, time_span

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_BARS, MOST_HALVINGS = 2500, 6


def gantt_figure(label: str, placements: Placements) -> Figure:
    """Machines one above the other, time from left to right, jobs coloured by size."""
    window = _drawable_window(placements)
    title = f"GPUs of every machine under {label}"
    if window is None:
        return heat_map(title, placements)
    return bar_chart(title, placements, window)


def _drawable_window(placements: Placements) -> TimeWindow | None:
    """The whole run, or its busiest half, quarter, ... with at most MOST_BARS bars.

    None: no such part exists, or there are too many machines for bars.
    """
    if len(placements.machine_names) > MOST_MACHINES:
        return None
    begin_s, end_s = time_span(placements)
    for halvings in range(MOST_HALVINGS):
        length_s = (end_s - begin_s) / 2**halvings
        starts_s = begin_s + length_s / 2 * np.arange(2 ** (halvings + 1) - 1)
        held = held_until(placements, starts_s + length_s) - held_until(placements, starts_s)
        share = held / (length_s * max(int(placements.machine_gpus.sum()), 1))
        start_s = float(starts_s[int(np.argmax(share.round(3)))])
        if len(placements.within(start_s, start_s + length_s)) <= MOST_BARS:
            return TimeWindow(start_s, start_s + length_s, halvings == 0)
    return None
