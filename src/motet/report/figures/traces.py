"""Figure of a trace: sizes, durations, arrivals and the demand for GPUs over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from motet.domain.arrays import Array
from motet.report.rendering.figure_parts import quieten
from motet.report.rendering.palette import INK, QUIET_INK, REFERENCE, job_colour
from motet.report.rendering.quantities import duration_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_IN, HEIGHT_IN, DPI = 11.0, 7.2, 130
MOST_BINS = 150
MOST_STEPS = 4_000
_HOUR_S, _DAY_S = 3600.0, 86_400.0
_MARKS_S = (1.0, 10.0, 60.0, 600.0, _HOUR_S, 6 * _HOUR_S, _DAY_S, 7 * _DAY_S, 30 * _DAY_S)
_WIDTHS_S = (1, 5, 15, 60, 120, 300, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400, 604_800)
_MARK_NAMES = ("1 s", "10 s", "1 min", "10 min", "1 h", "6 h", "1 d", "7 d", "30 d")


@dataclass(frozen=True, eq=False)
class TraceColumns:
    """Input of the figure. `gpus`, `submit_s`, `duration_s`: `(jobs,)`, in order of submission.

    `demand_at_s`, `demand_gpus`: `(changes,)`, GPUs in use from each time on if no job waited.
    `cluster_gpus`: drawn as a horizontal line if known.
    """

    title: str
    gpus: Array
    submit_s: Array
    duration_s: Array
    demand_at_s: Array
    demand_gpus: Array
    cluster_gpus: int | None = None


def save_trace_plot(trace: TraceColumns, path: Path) -> None:
    """Write the four panels as a PNG."""
    trace_figure(trace).savefig(path, dpi=DPI, format="png", metadata={"Software": "motet"})


def trace_figure(trace: TraceColumns) -> Figure:
    """The figure. Imports matplotlib, but neither pyplot nor a window system."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN), facecolor="white", layout="constrained")
    figure.get_layout_engine().set(w_pad=0.15, h_pad=0.12)  # type: ignore[union-attr,call-arg]
    figure.suptitle(trace.title, x=0.02, ha="left", fontsize=14, color=INK, fontweight="bold")
    panels = (_draw_sizes, _draw_durations, _draw_arrivals, _draw_demand)
    for position, draw in enumerate(panels, start=1):
        axes = figure.add_subplot(2, 2, position)
        quieten(axes)
        draw(axes, trace)
    return figure


def _draw_sizes(axes: Axes, trace: TraceColumns) -> None:
    _head(axes, "Sizes", "share of the jobs, and of the GPU time that they ask for")
    sizes, which = np.unique(trace.gpus, return_inverse=True)
    jobs = np.bincount(which) / len(which)
    service = np.bincount(which, weights=trace.gpus * trace.duration_s)
    hours = service / max(service.sum(), 1e-9)
    places = np.arange(len(sizes))
    axes.bar(places - 0.2, 100 * jobs, 0.38, color=job_colour(0), label="jobs")
    axes.bar(places + 0.2, 100 * hours, 0.38, color=job_colour(1), label="GPU time")
    axes.set_xticks(places, [str(size) for size in sizes], rotation=90 if len(sizes) > 16 else 0)
    axes.set_xlabel("GPUs of a job", color=QUIET_INK, fontsize=9)
    axes.set_ylabel("%", color=QUIET_INK, fontsize=9)
    axes.legend(frameon=False, fontsize=8.5, labelcolor=INK)


def _draw_durations(axes: Axes, trace: TraceColumns) -> None:
    durations = np.sort(trace.duration_s)
    median = float(np.median(durations))
    _head(axes, "Durations", f"share of the jobs that run at most so long; median {_long(median)}")
    shown = np.maximum(durations, 1e-3)
    share = 100 * np.arange(1, len(shown) + 1) / len(shown)
    axes.step(shown, share, where="post", color=job_colour(2), linewidth=2)
    axes.axvline(max(median, 1e-3), color=REFERENCE, linewidth=1, linestyle=(0, (4, 3)))
    axes.set_xlim(float(shown[0]) / 2, float(shown[-1]) * 2)
    axes.set_xscale("log")
    _label_times(axes, float(shown[0]), float(shown[-1]))
    axes.set_ylim(0, 102)
    axes.set_ylabel("%", color=QUIET_INK, fontsize=9)


def _draw_arrivals(axes: Axes, trace: TraceColumns) -> None:
    unit_s, unit = _unit(trace.submit_s)
    first_s, last_s = float(trace.submit_s[0]), float(trace.submit_s[-1])
    width_s = next((each for each in _WIDTHS_S if last_s - first_s < MOST_BINS * each), None)
    width_s = width_s or math.ceil((last_s - first_s) / MOST_BINS)
    bins = int((last_s - first_s) // width_s) + 1
    edges = first_s + width_s * np.arange(bins + 1)
    counts, _ = np.histogram(trace.submit_s, edges)
    edges = edges / unit_s
    _head(axes, "Arrivals", f"jobs submitted in each {_long(width_s)}")
    axes.stairs(counts, edges, fill=True, color=job_colour(4), alpha=0.85)
    axes.set_xlabel(unit, color=QUIET_INK, fontsize=9)


def _draw_demand(axes: Axes, trace: TraceColumns) -> None:
    unit_s, unit = _unit(trace.demand_at_s)
    limit = trace.cluster_gpus
    line = "" if limit is None else f"; the line is the cluster's {limit:,}"
    _head(axes, "Demand", f"GPUs in use if no job ever waited{line}")
    rows = _thinned(trace.demand_gpus)
    at = trace.demand_at_s[rows] / unit_s
    busy = trace.demand_gpus[rows]
    axes.fill_between(at, busy, step="post", color=job_colour(0), alpha=0.25, linewidth=0)
    axes.step(at, busy, where="post", color=job_colour(0), linewidth=1.2)
    if limit is not None:
        axes.axhline(limit, color=job_colour(6), linewidth=1.4)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(unit, color=QUIET_INK, fontsize=9)


def _thinned(values: Array) -> Array:
    """At most about MOST_STEPS rows: the highest value of every stretch, and both ends."""
    stretch = -(-len(values) // MOST_STEPS)
    if stretch == 1:
        return np.arange(len(values))
    starts = np.arange(0, len(values), stretch)
    highest = [start + int(values[start : start + stretch].argmax()) for start in starts]
    return np.unique([0, *highest, len(values) - 1])


def _unit(times_s: Array) -> tuple[float, str]:
    span_s = float(times_s[-1] - times_s[0])
    if span_s > 4 * _DAY_S:
        return _DAY_S, "days"
    if span_s > 3 * _HOUR_S:
        return _HOUR_S, "hours"
    return (60.0, "minutes") if span_s > 300 else (1.0, "seconds")


def _label_times(axes: Axes, low_s: float, high_s: float) -> None:
    from matplotlib.ticker import NullLocator

    shown = [
        (at, name)
        for at, name in zip(_MARKS_S, _MARK_NAMES, strict=True)
        if low_s / 3 <= at <= high_s * 3
    ]
    ticks: Sequence[float] = [at for at, _ in shown]
    axes.set_xticks(ticks, [name for _, name in shown])
    axes.xaxis.set_minor_locator(NullLocator())


def _long(time_s: float) -> str:
    return f"{time_s / _DAY_S:.1f} d" if time_s >= 2 * _DAY_S else duration_text(time_s)


def _head(axes: Axes, title: str, subtitle: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, color=INK, fontweight="bold", pad=20)
    axes.text(0, 1.035, subtitle, transform=axes.transAxes, fontsize=9, color=QUIET_INK)
