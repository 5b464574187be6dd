"""Which jobs held which machine's GPUs: bars for each job, or a map where there are too many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from motet.domain.arrays import Floats, Ints
from motet.report.cluster_run.placements import NOBODY, Placements, held_until
from motet.report.figures.gantt_lanes import lanes
from motet.report.rendering.figure_parts import (
    LEGEND,
    WIDTH_IN,
    entitle,
    quieten,
    scale_time,
    unit_of,
)
from motet.report.rendering.palette import QUIET_INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Colour: TypeAlias = tuple[float, float, float, float]

MOST_MACHINES, MOST_BARS, MOST_HALVINGS = 64, 2500, 6
MOST_ROWS, TIME_SLICES = 300, 400
BAR_HEIGHT, MACHINE_IN = 0.84, 0.17
LEAST_HEIGHT_IN, MOST_HEIGHT_IN, MARGIN_IN = 2.2, 10.0, 1.1
LONGEST_NAME = 16
_LARGEST_STEP = 6


def gantt(label: str, placements: Placements) -> Figure:
    """Machines one above the other, time from left to right, jobs coloured by their size."""
    window = _drawable_window(placements)
    title = f"GPUs of every machine under {label}"
    if window is None:
        return _map_of_use(title, placements)
    return _bars(title, placements, window)


class _Window(NamedTuple):
    """A part of the run, in seconds of the trace's clock."""

    start_s: float
    end_s: float
    is_whole: bool


def _drawable_window(placements: Placements) -> _Window | None:
    """The whole run, or its busiest half, quarter, ... that has few enough bars; None: hopeless."""
    if len(placements.machine_names) > MOST_MACHINES:
        return None
    begin_s, end_s = _span(placements)
    for halvings in range(MOST_HALVINGS):
        length_s = (end_s - begin_s) / 2**halvings
        starts_s = begin_s + length_s / 2 * np.arange(2 ** (halvings + 1) - 1)
        held = held_until(placements, starts_s + length_s) - held_until(placements, starts_s)
        share = held / (length_s * max(int(placements.machine_gpus.sum()), 1))
        start_s = float(starts_s[int(np.argmax(share.round(3)))])
        if len(placements.within(start_s, start_s + length_s)) <= MOST_BARS:
            return _Window(start_s, start_s + length_s, halvings == 0)
    return None


def _span(placements: Placements) -> tuple[float, float]:
    if not len(placements):
        return 0.0, 1.0
    return float(placements.start_s.min()), float(placements.end_s.max())


# -- bars ------------------------------------------------------------------------------------------


def _bars(title: str, placements: Placements, window: _Window) -> Figure:
    from matplotlib.collections import PolyCollection

    begin_s, end_s = _span(placements)
    figure, axes = _sheet(title, _bars_subtitle(placements, window), len(placements.machine_names))
    shown = placements.within(window.start_s, window.end_s)
    sizes = _Sizes.of(placements.job_gpus)
    drawn = list(_rectangles(shown, begin_s))
    colours = [sizes.colour(int(shown.job_gpus[row])) for row, _ in drawn]
    style: dict[str, Any] = {"facecolors": colours, "edgecolors": "white", "linewidths": 0.3}
    axes.add_collection(PolyCollection([corners for _, corners in drawn], **style))
    axes.set_xlim(window.start_s - begin_s, window.end_s - begin_s)
    scale_time(axes.xaxis, max(window.end_s - window.start_s, 1e-6), unit_of(end_s - begin_s))
    _name_machines(axes, placements.machine_names, 1)
    _size_legend(figure, sizes)
    return figure


def _bars_subtitle(placements: Placements, window: _Window) -> str:
    begin_s, end_s = _span(placements)
    parts = ["bars are jobs, as high as they have GPUs there"]
    if (placements.partner != NOBODY).any():
        parts.append("half as high where two share them")
    when = ""
    if not window.is_whole:
        name, unit_s = unit_of(end_s - begin_s)
        since, until, whole = (
            (time_s - begin_s) / unit_s for time_s in (window.start_s, window.end_s, end_s)
        )
        when = f"\nonly the busiest time, {name} {since:.3g} to {until:.3g} of {whole:.3g}"
    return ", ".join(parts) + when


def _rectangles(shown: Placements, begin_s: float) -> Iterator[tuple[int, list[list[float]]]]:
    """Rows with the corners of their bars, a bar for GPUs side by side."""
    starts, ends = (shown.start_s - begin_s).tolist(), (shown.end_s - begin_s).tolist()
    tops = (shown.machine - BAR_HEIGHT / 2).tolist()
    heights = (BAR_HEIGHT / shown.machine_gpus[shown.machine]).tolist()
    is_shared, is_lower = shown.partner != NOBODY, shown.job > shown.partner
    for row, chosen in enumerate(lanes(shown)):
        for low, high in _side_by_side(chosen):
            middle = (low + high) / 2
            if is_shared[row]:
                low, high = (middle, high) if is_lower[row] else (low, middle)
            y0, y1 = tops[row] + low * heights[row], tops[row] + high * heights[row]
            x0, x1 = starts[row], ends[row]
            yield row, [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]


def _side_by_side(chosen: Sequence[int]) -> Iterator[tuple[float, float]]:
    """Where each run of adjacent lanes begins and ends."""
    numbers = np.array(sorted(chosen))
    for run in np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1):
        if len(run):
            yield float(run[0]), float(run[-1] + 1)


@dataclass(frozen=True, eq=False)
class _Sizes:
    """Colours of jobs by their GPUs, in steps of two. `smallest`, `largest`: of each step."""

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
        """Of the steps."""
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


# -- a map -----------------------------------------------------------------------------------------


def _map_of_use(title: str, placements: Placements) -> Figure:
    names = placements.machine_names
    grouped = -(-len(names) // MOST_ROWS)
    rows = -(-len(names) // grouped)
    begin_s, end_s = _span(placements)
    subtitle = "share of its GPUs that jobs hold; too many jobs or machines to draw them one by one"
    if grouped > 1:
        subtitle += f"\na line: the average of {grouped} machines"
    figure, axes = _sheet(title, subtitle, rows)
    image = axes.imshow(
        _use(placements, grouped, np.linspace(begin_s, end_s, TIME_SLICES + 1)),
        aspect="auto",
        interpolation="nearest",
        cmap="Blues",
        vmin=0,
        vmax=1,
        extent=(0, end_s - begin_s, rows - 0.5, -0.5),
    )
    axes.grid(visible=False)
    scale_time(axes.xaxis, max(end_s - begin_s, 1e-6))
    _name_machines(axes, names, grouped)
    bar = figure.colorbar(image, ax=axes, shrink=0.5, anchor=(0, 1), pad=0.02, aspect=14)
    bar.ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    bar.ax.tick_params(colors=QUIET_INK, labelsize=8.5, length=0)
    bar.outline.set_visible(False)
    return figure


def _use(placements: Placements, grouped: int, edges_s: Floats) -> Floats:
    """Share of the GPUs that was held, `(rows, slices)`."""
    group = placements.machine // grouped
    gpus = np.add.reduceat(
        placements.machine_gpus, np.arange(0, len(placements.machine_gpus), grouped)
    )
    order = np.argsort(group, kind="stable")
    cuts = np.searchsorted(group[order], np.arange(1, len(gpus)))
    held = [np.diff(held_until(placements.of(rows), edges_s)) for rows in np.split(order, cuts)]
    use: Floats = np.array(held) / np.maximum(gpus[:, None] * np.diff(edges_s), 1e-12)
    return use


# -- parts -----------------------------------------------------------------------------------------


def _sheet(title: str, subtitle: str, rows: int) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    height_in = min(max(MACHINE_IN * rows, LEAST_HEIGHT_IN), MOST_HEIGHT_IN) + MARGIN_IN
    figure = Figure(figsize=(WIDTH_IN, height_in), facecolor="white", layout="constrained")
    axes = figure.subplots()
    quieten(axes)
    axes.grid(visible=False)
    entitle(axes, title, subtitle)
    axes.set_ylim(rows - 0.5, -0.5)
    return figure, axes


def _name_machines(axes: Axes, names: Sequence[str], grouped: int) -> None:
    """Every line, or as many as one can read."""
    rows = -(-len(names) // grouped)
    step = -(-rows // MOST_MACHINES)
    places = range(0, rows, step)
    axes.set_yticks(places, [_short(names[place * grouped]) for place in places])
    axes.tick_params(axis="y", labelsize=8.5 if rows <= 30 else 7)


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
