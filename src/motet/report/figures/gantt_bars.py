"""Gantt chart with bars: a bar per job, machine and time span, as high as its GPUs there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from motet.domain.arrays import Ints
from motet.report.cluster_run.placements import Placements
from motet.report.figures.gantt_lanes import gantt_lanes
from motet.report.figures.gantt_sheet import label_machines, new_gantt_sheet, time_span
from motet.report.rendering.figure_parts import LEGEND, scale_time, unit_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Colour: TypeAlias = tuple[float, float, float, float]

BAR_HEIGHT = 0.84
_LARGEST_STEP = 6


class TimeWindow(NamedTuple):
    """A part of the run, in seconds of the trace's clock."""

    start_s: float
    end_s: float
    is_whole: bool


def bar_chart(title: str, placements: Placements, window: TimeWindow) -> Figure:
    """The bars that overlap the window."""
    from matplotlib.collections import PolyCollection

    begin_s, end_s = time_span(placements)
    subtitle = _subtitle(placements, window)
    figure, axes = new_gantt_sheet(title, subtitle, len(placements.machine_names))
    shown = placements.within(window.start_s, window.end_s)
    sizes = _Sizes.of(placements.job_gpus)
    drawn = list(_rectangles(shown, begin_s))
    colours = [sizes.colour(int(shown.job_gpus[row])) for row, _ in drawn]
    style: dict[str, Any] = {"facecolors": colours, "edgecolors": "white", "linewidths": 0.3}
    axes.add_collection(PolyCollection([corners for _, corners in drawn], **style))
    axes.set_xlim(window.start_s - begin_s, window.end_s - begin_s)
    scale_time(axes.xaxis, max(window.end_s - window.start_s, 1e-6), unit_of(end_s - begin_s))
    label_machines(axes, placements.machine_names, 1)
    _size_legend(figure, sizes)
    return figure


def _subtitle(placements: Placements, window: TimeWindow) -> str:
    begin_s, end_s = time_span(placements)
    parts = ["bars are jobs, as high as they have GPUs there"]
    most = int(placements.sharers.max(initial=1))
    if most > 1:
        parts.append("half as high where two share them" if most == 2 else "lower where jobs share")
    when = ""
    if not window.is_whole:
        name, unit_s = unit_of(end_s - begin_s)
        since, until, whole = (
            (time_s - begin_s) / unit_s for time_s in (window.start_s, window.end_s, end_s)
        )
        when = f"\nonly the busiest time, {name} {since:.3g} to {until:.3g} of {whole:.3g}"
    return ", ".join(parts) + when


def _rectangles(shown: Placements, begin_s: float) -> Iterator[tuple[int, list[list[float]]]]:
    """Rows with the corners of their bars; a row has one bar per run of adjacent lanes."""
    starts, ends = (shown.start_s - begin_s).tolist(), (shown.end_s - begin_s).tolist()
    tops = (shown.machine - BAR_HEIGHT / 2).tolist()
    heights = (BAR_HEIGHT / shown.machine_gpus[shown.machine]).tolist()
    sharers, ranks = shown.sharers.tolist(), _ranks(shown).tolist()
    for row, lanes in enumerate(gantt_lanes(shown)):
        for low, high in _adjacent_lanes(lanes):
            part = (high - low) / sharers[row]
            low, high = low + ranks[row] * part, low + (ranks[row] + 1) * part
            y0, y1 = tops[row] + low * heights[row], tops[row] + high * heights[row]
            x0, x1 = starts[row], ends[row]
            yield row, [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]


def _ranks(shown: Placements) -> Ints:
    """By row, the number of jobs with lower numbers on the same GPUs."""
    keys = shown.start_s, shown.machine, shown.first_sharer
    order = np.lexsort((shown.job, *keys))
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    places = np.arange(len(order))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = places - np.maximum.accumulate(np.where(is_new, places, 0))
    return ranks


def _adjacent_lanes(lanes: Sequence[int]) -> Iterator[tuple[float, float]]:
    """Begin and end of each run of adjacent lanes."""
    numbers = np.array(sorted(lanes))
    for run in np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1):
        if len(run):
            yield float(run[0]), float(run[-1] + 1)


@dataclass(frozen=True, eq=False)
class _Sizes:
    """Colours of jobs by number of GPUs, a colour per power of two.

    `smallest`, `largest`: numbers of GPUs of the jobs of each step, `(steps,)`.
    """

    steps: Ints
    smallest: Ints
    largest: Ints

    @classmethod
    def of(cls, job_gpus: Ints) -> _Sizes:
        sizes = np.unique(job_gpus)
        steps, first = np.unique(cls._step(sizes), return_index=True)
        last = np.append(first[1:], len(sizes)) - 1
        return cls(steps, sizes[first], sizes[last]) if len(sizes) else cls(sizes, sizes, sizes)

    @staticmethod
    def _step(gpus: Any) -> Any:
        return np.ceil(np.log2(np.maximum(gpus, 1))).astype(int).clip(0, _LARGEST_STEP)

    def colour(self, gpus: int) -> Colour:
        """From light to dark."""
        return self.colours[int(np.searchsorted(self.steps, self._step(gpus)))]

    @cached_property
    def colours(self) -> list[Colour]:
        """A colour per step."""
        from matplotlib import colormaps

        return [colormaps["viridis_r"](place) for place in np.linspace(0.12, 1, len(self.steps))]

    @property
    def names(self) -> list[str]:
        """`1`, `2`, `3-4`."""
        pairs = zip(self.smallest.tolist(), self.largest.tolist(), strict=True)
        return [str(low) if low == high else f"{low}-{high}" for low, high in pairs]


def _size_legend(figure: Figure, sizes: _Sizes) -> None:
    from matplotlib.patches import Patch

    named = zip(sizes.names, sizes.colours, strict=True)
    patches = [Patch(facecolor=colour, label=name) for name, colour in named]
    title: dict[str, Any] = {"title": "GPUs of\nthe job", "title_fontproperties": {"size": 9}}
    if patches:
        figure.legend(handles=patches, loc="outside right upper", **title, **LEGEND)
