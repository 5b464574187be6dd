"""Pictures of simulations: one line, step or group of bars per policy, in its colour.

Runs with the same label (a policy under several seeds) share a colour and an entry in the legend.
Importing this costs nothing: matplotlib is loaded when something is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motet.report.confidence import confidence_half_width
from motet.report.figure_parts import (
    LEGEND,
    QUIET,
    SHORTEST_S,
    draw_shares,
    finish,
    line_style,
    logarithmic_durations,
    make_room,
    name_durations,
    name_ratios,
    new_figure,
    new_panels,
    scale_time,
    shortened,
    span_logarithmically,
)
from motet.report.palette import GRID, INK, JOB_COLOURS, QUIET_INK, job_colour
from motet.report.simulated_jobs import BINS, Pairs, SimulatedJobs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Runs = Sequence[SimulatedJobs]

TIME_SLICES = 300
BIN_NAMES = ("small short", "small long", "large short", "large long")
WON, LOST = JOB_COLOURS[2], JOB_COLOURS[6]
_REPEATED = ("", "////", "....", "xxxx")
CAUSE_HATCHES = {"policy_order": "", "fragmentation": "////", "fair_share": "...."}


def jct_cdf(runs: Runs) -> Figure:
    """Share of jobs that completed within a time; logarithmic time."""
    note = f"share of jobs done within a time{_seeds_note(runs, 'a line per seed')}"
    figure, axes = new_figure("Job completion time", note)
    logarithmic_durations(axes, np.concatenate([run.jct_s for run in runs]))
    for style, label, run in _styled(runs):
        draw_shares(axes, np.maximum(run.jct_s, SHORTEST_S), label=label, **style)
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    return finish(figure, axes)


def utilisation(runs: Runs) -> Figure:
    """Share of the GPUs that jobs hold, a panel per policy (its first seed)."""
    firsts = [same[0] for same in _by_label(runs).values()]
    note = f"GPUs that jobs hold, over time{_seeds_note(runs, 'the first is shown')}"
    figure, panels = new_panels("GPU utilisation", note, len(firsts))
    start_s, span_s = _span(firsts)
    for place, (axes, run) in enumerate(zip(panels, firsts, strict=True)):
        if len(run.times_s) > 1:
            edges, means = time_averages(run.times_s, run.used_gpus / run.gpu_count, TIME_SLICES)
            axes.stairs(means, edges - start_s, color=job_colour(place), fill=True)
        axes.set_ylim(0, 1.02)
        axes.set_xlim(0, span_s)
        axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        label: dict[str, Any] = {"fontsize": 9, "color": job_colour(place), "ha": "right"}
        axes.text(1, 1.04, shortened(run.label), transform=axes.transAxes, **label)
        axes.tick_params(labelbottom=place == len(firsts) - 1)
        scale_time(axes.xaxis, span_s, is_named=place == len(firsts) - 1)
    return figure


def queue_length(runs: Runs) -> Figure:
    """How many jobs have no GPUs."""
    note = f"jobs without GPUs, over time{_seeds_note(runs, 'a line per seed')}"
    figure, axes = new_figure("Queue length", note)
    _draw_over_time(axes, runs, lambda run: run.waiting_jobs.astype(np.float64))
    axes.set_ylim(bottom=0)
    return finish(figure, axes)


def jct_by_bin(runs: Runs) -> Figure:
    """Average completion time of small and large, short and long jobs."""
    figure, axes = new_figure(
        "Average completion time by kind of job",
        "logarithmic; small: up to 4 GPUs; short: under 800 s on them; in brackets: jobs"
        f"{_seeds_note(runs, 'mean and 95 % interval')}",
    )
    groups = _by_label(runs)
    counts = np.bincount(runs[0].bins, minlength=len(BINS))
    shown = np.flatnonzero(counts).tolist()
    width = 0.8 / len(groups)
    for place, (label, same) in enumerate(groups.items()):
        heights = [_bin_mean_s(same, number) for number in shown]
        middles = np.arange(len(shown)) + (place - (len(groups) - 1) / 2) * width
        bars = axes.bar(middles, heights, 0.9 * width, color=job_colour(place), label=label)
        _draw_intervals(axes, middles, heights, [_bin_half_width_s(same, it) for it in shown])
        for bar in bars:
            bar.set(hatch=_REPEATED[place // len(JOB_COLOURS) % len(_REPEATED)], edgecolor="white")
            bar.set_linewidth(0)
    names = [f"{BIN_NAMES[number]} ({counts[number]:,})" for number in shown]
    axes.set_xticks(range(len(shown)), names)
    means_s = [_bin_mean_s(same, number) for same in groups.values() for number in shown]
    if any(means_s):
        axes.set_yscale("log")
        axes.set_ylim(bottom=min(filter(None, means_s)) / 2)
        name_durations(axes.yaxis)
    else:
        axes.set_ylim(0, 1)
        scale_time(axes.yaxis, 1.0)
    return finish(figure, axes)


def queueing_delay(runs: Runs) -> Figure:
    """Average time without GPUs by cause, one bar per policy."""
    figure, axes = new_figure("Queueing delay by cause", "average time of a job without GPUs")
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
    names = [shortened(label) for label in groups]
    make_room(figure, names)
    axes.set_yticks(range(len(groups)), names)
    axes.invert_yaxis()
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.grid(axis="y", visible=False)
    longest_s = float(axes.dataLim.x1)
    if longest_s <= 0:
        longest_s = 1.0
        middle: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "va": "center"}
        axes.text(0.5, 0.5, "no job waited", **middle, **QUIET)
    axes.set_xlim(0, 1.03 * longest_s)
    scale_time(axes.xaxis, longest_s)
    _cause_legend(figure, runs)
    return figure


def fairness(runs: Runs) -> Figure:
    """Share of jobs up to a finish-time fairness; logarithmic."""

    figure, axes = new_figure(
        "Finish-time fairness",
        "share of jobs up to a rho; above 1: done later than with a fair share"
        f"{_seeds_note(runs, 'a line per seed')}",
    )
    rho = [run.rho[~np.isnan(run.rho)] for run in runs]
    span_logarithmically(axes, np.concatenate([[1.0], *rho]))
    for style, label, run in _styled(runs):
        draw_shares(axes, run.rho[~np.isnan(run.rho)], label=label, **style)
    axes.axvline(1, color=QUIET_INK, linewidth=1, zorder=1)
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    name_ratios(axes.xaxis)
    axes.set_xlabel("rho", color=QUIET_INK, fontsize=9)
    return finish(figure, axes)


def winners_and_losers(first: str, second: str, same: Pairs) -> Figure:
    """Completion times of the same jobs under two policies, a dot per job (and seed)."""
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


def sooner_and_later(against: str, moved: Sequence[tuple[str, int, int, int]]) -> Figure:
    """Per run: its label, and how many jobs are done sooner, later and at all under both."""
    figure, axes = new_figure(
        f"Winners and losers against {shortened(against)}",
        "jobs done more than 1 % sooner (to the left) or later (to the right)",
    )
    names = [shortened(label) for label, *_ in moved]
    make_room(figure, names)
    figure.set_figheight(1.4 + 0.4 * len(moved))
    for place, (_, sooner, later, jobs) in enumerate(moved):
        shares = np.array([-sooner, later]) / max(jobs, 1)
        axes.barh([place] * 2, shares, 0.62, color=[WON, LOST])
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
    for style, label, run in _styled(runs):
        if len(run.times_s) > 1:
            edges, means = time_averages(run.times_s, value(run), TIME_SLICES)
            edges -= start_s
            axes.stairs(means, edges, label=label, linewidth=1.4, baseline=None, **style)
    axes.set_xlim(0, span_s)
    scale_time(axes.xaxis, span_s)


def _span(runs: Runs) -> tuple[float, float]:
    """Where time begins, and how long it is until the last run's end."""
    drawn = [run for run in runs if len(run.times_s)]
    start_s = min((float(run.times_s[0]) for run in drawn), default=0.0)
    end_s = max((float(run.times_s[-1]) for run in drawn), default=1.0)
    return start_s, max(end_s - start_s, 1e-6)


def _by_label(runs: Runs) -> dict[str, list[SimulatedJobs]]:
    groups: dict[str, list[SimulatedJobs]] = {}
    for run in runs:
        groups.setdefault(run.label, []).append(run)
    return groups


def _styled(runs: Runs) -> list[tuple[dict[str, Any], str | None, SimulatedJobs]]:
    """Each run with its line's style, and its label if it is the first of that label."""
    return [
        (line_style(place), label if run is same[0] else None, run)
        for place, (label, same) in enumerate(_by_label(runs).items())
        for run in same
    ]


def _bin_mean_s(runs: Runs, number: int) -> float:
    times_s = np.concatenate([run.jct_s[run.bins == number] for run in runs])
    return float(times_s.mean()) if len(times_s) else 0.0


def _bin_half_width_s(runs: Runs, number: int) -> float:
    """Over the seeds in which such jobs finished; 0 for a single one."""
    means_s = [_bin_mean_s([run], number) for run in runs if (run.bins == number).any()]
    return confidence_half_width(means_s) if len(means_s) > 1 else 0.0


def _draw_intervals(
    axes: Axes, places: NDArray[Any], means: Sequence[float], half_widths: Sequence[float]
) -> None:
    """On a logarithmic axis, which has no place for what reaches below 0."""
    if any(half_widths):
        below = [min(half, 0.9 * mean) for mean, half in zip(means, half_widths, strict=True)]
        style: dict[str, Any] = {"fmt": "none", "ecolor": INK, "elinewidth": 1, "capsize": 2}
        axes.errorbar(places, means, yerr=[below, list(half_widths)], **style)


def _seeds_note(runs: Runs, how: str) -> str:
    """What becomes of several seeds; nothing of one."""
    seeds = max(map(len, _by_label(runs).values()))
    return f"\n{seeds} seeds: {how}" if seeds > 1 else ""


def _cause_legend(figure: Figure, runs: Runs) -> None:
    """Of the causes that occur."""
    from matplotlib.patches import Patch

    patches = [
        Patch(facecolor=QUIET_INK, edgecolor="white", hatch=hatch, label=cause.replace("_", " "))
        for cause, hatch in CAUSE_HATCHES.items()
        if any(run.delay_causes_s.get(cause) for run in runs)
    ]
    figure.legend(handles=patches, loc="outside right upper", **LEGEND)


FIGURES: dict[str, Callable[[Runs], Figure]] = {
    "jct_cdf.png": jct_cdf,
    "utilisation.png": utilisation,
    "queue_length.png": queue_length,
    "jct_by_bin.png": jct_by_bin,
    "queueing_delay.png": queueing_delay,
    "fairness.png": fairness,
}
"""What `--out` draws."""
