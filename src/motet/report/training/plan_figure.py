"""Figure of the epoch time over numbers of workers, with the best configuration marked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from motet.report.rendering.palette import GRID, INK, QUIET_INK, job_colour
from motet.report.rendering.quantities import count_text, duration_text
from motet.report.training.plan_summary import SHOWN_ABOVE_BEST, roles_text
from motet.report.training.planned_job import PlannedJob

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_IN, HEIGHT_IN, DPI = 7.2, 4.0, 130


def save_plan_figure(planned: PlannedJob, path: Path) -> None:
    """Draw it and write a PNG."""
    plan_figure(planned).savefig(path, dpi=DPI, format="png", metadata={"Software": "motet"})


def plan_figure(planned: PlannedJob) -> Figure:
    """The figure itself. Imports matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    _style(axes, planned)
    colour = job_colour(0)
    curve, best_s = planned.curve, planned.best.epoch_s
    marker = "o" if len(curve.workers) <= 40 else ""
    axes.plot(curve.workers, curve.epoch_s, color=colour, linewidth=2, marker=marker, markersize=3)
    top_s = min(float(curve.epoch_s.max()) * 1.06, SHOWN_ABOVE_BEST * best_s)
    axes.set_ylim(0, top_s)
    axes.scatter([planned.workers], [best_s], s=70, color=colour, edgecolor="white", zorder=3)
    is_right = planned.workers > float(curve.workers.mean())
    axes.annotate(
        f"{roles_text(planned)}: {duration_text(best_s)}",
        (planned.workers, best_s),
        xytext=(6 if is_right else -6, -12),
        textcoords="offset points",
        ha="right" if is_right else "left",
        va="top",
        color=colour,
        fontweight="bold",
        fontsize=9.5,
    )
    _mark_run(axes, planned, top_s)
    return figure


def _mark_run(axes: Axes, planned: PlannedJob, top_s: float) -> None:
    """The measured epoch of the profiled run, if it had as many machines as the plan."""
    run = planned.run
    if run is None or run.machines != planned.fleet.size:
        return
    axes.set_ylim(0, max(top_s, 1.2 * run.measured_s))
    axes.scatter([run.workers], [run.measured_s], s=46, marker="D", color=job_colour(1), zorder=4)
    axes.annotate(
        f"the run, measured: {duration_text(run.measured_s)}",
        (run.workers, run.measured_s),
        xytext=(0, 9),
        textcoords="offset points",
        ha="right" if run.workers > planned.curve.workers.mean() else "left",
        color=job_colour(1),
        fontsize=9,
    )


def _style(axes: Axes, planned: PlannedJob) -> None:
    from matplotlib.ticker import MaxNLocator

    kinds = ", ".join(f"{kind.count:,} {kind.name}" for kind in planned.fleet.types)
    where = kinds if len(planned.fleet.types) > 1 else count_text(planned.fleet.size, "machine")
    title = "Predicted epoch over numbers of workers"
    axes.set_title(title, loc="left", fontsize=12, color=INK, fontweight="bold", pad=24)
    axes.annotate(
        f"{where}; for each number of workers the best split found",
        (0, 1),
        xytext=(0, 9),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=9,
        color=QUIET_INK,
    )
    axes.set_xlabel("workers", color=QUIET_INK, fontsize=9)
    axes.set_ylabel("seconds", color=QUIET_INK, fontsize=9)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(GRID)
    axes.tick_params(colors=QUIET_INK, labelsize=8.5, length=0)
