"""Pictures of simulations: one line, step or group of bars per policy, in its colour.

Runs with the same label (a policy under several seeds) share a colour and an entry in the legend.
Importing this costs nothing: matplotlib is loaded when something is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motet.report.palette import GRID, INK, QUIET_INK, job_colour
from motet.report.simulated_jobs import BINS, SimulatedJobs, paired

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Runs = Sequence[SimulatedJobs]

WIDTH_IN, HEIGHT_IN, DPI = 7.2, 4.0, 130
PANEL_HEIGHT_IN = 1.05
TIME_SLICES = 300
_QUIET: dict[str, Any] = {"fontsize": 9, "color": QUIET_INK}
_LEGEND: dict[str, Any] = {"frameon": False, "fontsize": 9, "labelcolor": INK}
BIN_NAMES = ("small short", "small long", "large short", "large long")
CAUSE_HATCHES = {"policy_order": "", "fragmentation": "////", "fair_share": "...."}
_UNITS = (("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0), ("seconds", 1.0))
_FEW_TICKS = "1 s, 10 s, 1 min, 10 min, 1 h, 10 h, 4 d, 40 d, 400 d"
_MANY_TICKS = (
    "1 s, 2 s, 5 s, 10 s, 20 s, 1 min, 2 min, 5 min, 10 min, 20 min, 1 h, 2 h, 5 h, 10 h, 1 d"
)
_UNIT_S = {"s": 1, "min": 60, "h": 3600, "d": 86_400}


def jct_cdf(runs: Runs) -> Figure:
    """Share of jobs that completed within a time; logarithmic time."""
    figure, axes = _figure("Job completion time", "share of jobs done within a time")
    for colour, label, run in _coloured(runs):
        times_s = np.sort(np.maximum(run.jct_s, 1e-3))
        share = np.arange(1, len(times_s) + 1) / max(len(times_s), 1)
        axes.step(times_s, share, where="post", color=colour, label=label, linewidth=1.8)
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    _duration_axis(axes, np.concatenate([run.jct_s for run in runs]))
    return _finished(figure, axes)


def utilisation(runs: Runs) -> Figure:
    """Share of the GPUs that jobs hold, a panel per policy (its first seed)."""
    firsts = [same[0] for same in _by_label(runs).values()]
    figure, panels = _panels("GPU utilisation", "GPUs that jobs hold, over time", len(firsts))
    start_s, span_s = _span(firsts)
    for place, (axes, run) in enumerate(zip(panels, firsts, strict=True)):
        if len(run.times_s) > 1:
            edges, means = time_averages(run.times_s, run.used_gpus / run.gpu_count, TIME_SLICES)
            axes.stairs(means, edges - start_s, color=job_colour(place), fill=True)
        axes.set_ylim(0, 1.02)
        axes.set_xlim(0, span_s)
        axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        label: dict[str, Any] = {"fontsize": 9, "color": job_colour(place), "ha": "right"}
        axes.text(1, 1.04, run.label, transform=axes.transAxes, **label)
        axes.tick_params(labelbottom=place == len(firsts) - 1)
        _scale_time(axes, span_s, is_named=place == len(firsts) - 1)
    return figure


def queue_length(runs: Runs) -> Figure:
    """How many jobs have no GPUs."""
    figure, axes = _figure("Queue length", "jobs without GPUs, over time")
    _draw_over_time(axes, runs, lambda run: run.waiting_jobs.astype(np.float64))
    axes.set_ylim(bottom=0)
    return _finished(figure, axes)


def jct_by_bin(runs: Runs) -> Figure:
    """Average completion time of small and large, short and long jobs."""
    figure, axes = _figure(
        "Average completion time by kind of job",
        "small: up to 4 GPUs; short: under 800 s on them; in brackets: jobs",
    )
    groups = _by_label(runs)
    counts = np.bincount(runs[0].bins, minlength=len(BINS))
    shown = np.flatnonzero(counts).tolist()
    width = 0.8 / len(groups)
    for place, (label, same) in enumerate(groups.items()):
        heights = [_bin_mean_s(same, number) for number in shown]
        middles = np.arange(len(shown)) + (place - (len(groups) - 1) / 2) * width
        axes.bar(middles, heights, 0.9 * width, color=job_colour(place), label=label)
    names = [f"{BIN_NAMES[number]} ({counts[number]:,})" for number in shown]
    axes.set_xticks(range(len(shown)), names)
    axes.set_yscale("log")
    _name_durations(axes.yaxis)
    return _finished(figure, axes)


def queueing_delay(runs: Runs) -> Figure:
    """Average time without GPUs by cause, one bar per policy."""
    figure, axes = _figure("Queueing delay by cause", "average time of a job without GPUs")
    groups = _by_label(runs)
    for place, same in enumerate(groups.values()):
        left = 0.0
        jobs = max(sum(len(run.ids) for run in same), 1)
        for cause, hatch in CAUSE_HATCHES.items():
            mean_s = sum(run.delay_causes_s.get(cause, 0.0) for run in same) / jobs
            (bar,) = axes.barh(place, mean_s, 0.62, left=left, color=job_colour(place), linewidth=0)
            bar.set(hatch=hatch, edgecolor="white")
            left += mean_s
    figure.set_figheight(1.4 + 0.4 * len(groups))
    axes.set_yticks(range(len(groups)), list(groups))
    axes.invert_yaxis()
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.grid(axis="y", visible=False)
    longest_s = max(axes.dataLim.x1, 1e-6)
    axes.set_xlim(0, 1.03 * longest_s)
    _scale_time(axes, longest_s)
    _cause_legend(figure, runs)
    return figure


def winners_and_losers(first: SimulatedJobs, second: SimulatedJobs) -> Figure:
    """Completion times of the same jobs under two policies, a dot per job."""
    figure, axes = _figure(
        f"{second.label} against {first.label}",
        f"a dot per job; below the line it is done sooner under {second.label}",
    )
    axes.set_axisbelow(True)
    same = paired(first, second)
    for number, name in enumerate(BIN_NAMES):
        here = same.bins == number
        dots: dict[str, Any] = {"s": 9, "alpha": 0.55, "color": job_colour(number), "label": name}
        axes.scatter(same.before_s[here], same.after_s[here], **dots)
    both_s = np.concatenate([same.before_s, same.after_s])
    if len(both_s):
        ends = [max(both_s.min(), 1e-3), both_s.max()]
        axes.plot(ends, ends, color=QUIET_INK, linewidth=1, zorder=1)
    axes.set_yscale("log")
    _name_durations(axes.yaxis)
    _duration_axis(axes, both_s)
    axes.set_xlabel(f"completion time under {first.label}", color=QUIET_INK, fontsize=9)
    axes.set_ylabel(f"under {second.label}", color=QUIET_INK, fontsize=9)
    return _finished(figure, axes)


def save(figure: Figure, path: object) -> None:
    """A PNG that is the same for the same figure."""
    figure.savefig(path, dpi=DPI, format="png", metadata={"Software": "motet"})  # type: ignore[arg-type]


def time_averages(times_s: Floats, values: Floats, slices: int) -> tuple[Floats, Floats]:
    """Edges of equal time slices, `(slices + 1,)`, and a step function's average in each.

    `values[i]` holds from `times_s[i]` to `times_s[i + 1]`.
    """
    edges = np.linspace(times_s[0], times_s[-1], slices + 1)
    until = np.concatenate([[0.0], np.cumsum(values[:-1] * np.diff(times_s))])
    areas = np.diff(np.interp(edges, times_s, until))
    return edges, areas / np.maximum(np.diff(edges), 1e-12)


# -- parts -----------------------------------------------------------------------------------------


def _draw_over_time(axes: Axes, runs: Runs, value: Callable[[SimulatedJobs], Floats]) -> None:
    start_s, span_s = _span(runs)
    for colour, label, run in _coloured(runs):
        if len(run.times_s) > 1:
            edges, means = time_averages(run.times_s, value(run), TIME_SLICES)
            edges -= start_s
            axes.stairs(means, edges, color=colour, label=label, linewidth=1.4, baseline=None)
    axes.set_xlim(0, span_s)
    _scale_time(axes, span_s)


def _span(runs: Runs) -> tuple[float, float]:
    """Where time begins, and how long it is until the last run's end."""
    drawn = [run for run in runs if len(run.times_s)]
    start_s = min((float(run.times_s[0]) for run in drawn), default=0.0)
    end_s = max((float(run.times_s[-1]) for run in drawn), default=1.0)
    return start_s, max(end_s - start_s, 1e-6)


def _scale_time(axes: Axes, longest_s: float, *, is_named: bool = True) -> None:
    """Label a linear time axis in a unit of which there are several."""
    from matplotlib.ticker import MultipleLocator

    name, unit_s = next((u for u in _UNITS if longest_s >= 2 * u[1]), _UNITS[-1])
    step = _round_step(longest_s / unit_s / 8)
    axes.xaxis.set_major_locator(MultipleLocator(step * unit_s))
    axes.xaxis.set_major_formatter(lambda time_s, _: f"{time_s / unit_s:g}")
    if is_named:
        axes.set_xlabel(name, color=QUIET_INK, fontsize=9)


def _round_step(least: float) -> float:
    """The smallest of 1, 2, 5, 10, ... (or a power of ten of them) that is at least `least`."""
    power = 10.0 ** np.floor(np.log10(least))
    return float(power * next(step for step in (1, 2, 5, 10) if step * power >= least))


def _duration_axis(axes: Axes, times_s: Floats) -> None:
    axes.set_xscale("log")
    if len(times_s):
        axes.set_xlim(max(float(times_s.min()), 1e-3) / 1.15, float(times_s.max()) * 1.15)
    _name_durations(axes.xaxis)


def _name_durations(axis: Axis) -> None:
    """Ticks at durations that people think in: many if the axis spans little."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    low_s, high_s = axis.get_view_interval()
    names = (_FEW_TICKS if high_s > 500 * low_s else _MANY_TICKS).split(", ")
    axis.set_major_locator(FixedLocator([_tick_s(name) for name in names]))
    axis.set_major_formatter(FixedFormatter(names))
    axis.set_minor_locator(NullLocator())


def _tick_s(name: str) -> int:
    count, unit = name.split()
    return int(count) * _UNIT_S[unit]


def _by_label(runs: Runs) -> dict[str, list[SimulatedJobs]]:
    groups: dict[str, list[SimulatedJobs]] = {}
    for run in runs:
        groups.setdefault(run.label, []).append(run)
    return groups


def _coloured(runs: Runs) -> list[tuple[str, str | None, SimulatedJobs]]:
    """Each run with its colour, and its label if it is the first of that label."""
    return [
        (job_colour(place), label if run is same[0] else None, run)
        for place, (label, same) in enumerate(_by_label(runs).items())
        for run in same
    ]


def _bin_mean_s(runs: Runs, number: int) -> float:
    times_s = np.concatenate([run.jct_s[run.bins == number] for run in runs])
    return float(times_s.mean()) if len(times_s) else 0.0


def _figure(title: str, subtitle: str) -> tuple[Figure, Axes]:
    figure, (axes,) = _panels(title, subtitle, 1)
    return figure, axes


def _panels(title: str, subtitle: str, count: int) -> tuple[Figure, list[Axes]]:
    """One above the other, under a common title."""
    from matplotlib.figure import Figure

    height_in = HEIGHT_IN if count == 1 else 1.0 + PANEL_HEIGHT_IN * count
    figure = Figure(figsize=(WIDTH_IN, height_in), facecolor="white", layout="constrained")
    panels = list(figure.subplots(count, 1, squeeze=False)[:, 0])
    panels[0].set_title(title, loc="left", fontsize=12, color=INK, fontweight="bold", pad=24)
    panels[0].annotate(
        subtitle,
        (0, 1),
        xytext=(0, 9),
        xycoords="axes fraction",
        textcoords="offset points",
        **_QUIET,
    )
    for axes in panels:
        axes.grid(axis="y", color=GRID, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.spines["bottom"].set_color(GRID)
        axes.tick_params(colors=QUIET_INK, labelsize=8.5, length=0)
    return figure, panels


def _finished(figure: Figure, axes: Axes) -> Figure:
    """With a legend to the right of the axes."""
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1:
        figure.legend(handles, labels, loc="outside right upper", **_LEGEND)
    return figure


def _cause_legend(figure: Figure, runs: Runs) -> None:
    """Of the causes that occur."""
    from matplotlib.patches import Patch

    patches = [
        Patch(facecolor=QUIET_INK, edgecolor="white", hatch=hatch, label=cause.replace("_", " "))
        for cause, hatch in CAUSE_HATCHES.items()
        if any(run.delay_causes_s.get(cause) for run in runs)
    ]
    figure.legend(handles=patches, loc="outside right upper", **_LEGEND)


FIGURES: dict[str, Callable[[Runs], Figure]] = {
    "jct_cdf.png": jct_cdf,
    "utilisation.png": utilisation,
    "queue_length.png": queue_length,
    "jct_by_bin.png": jct_by_bin,
    "queueing_delay.png": queueing_delay,
}
"""What `--out` draws."""
