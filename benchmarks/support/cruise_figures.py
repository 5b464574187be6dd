"""The figures of the evidence for Cruise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motet.report.rendering.palette import INK, JOB_COLOURS, QUIET_INK
from support.auto_run import AutoRun
from support.evidence import Grid, Model, Shape

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 110
MEASURED, PREDICTED, CHOSEN = INK, JOB_COLOURS[0], JOB_COLOURS[1]


def draw_grids(
    grids: Mapping[str, Grid], chosen: Mapping[str, Sequence[Shape]], path: Path
) -> None:
    """A panel per application: epoch over workers, measured, predicted from one end, chosen."""
    figure, panels = _panels(len(grids), columns=2, height_in=2.5)
    for axes, (app, grid) in zip(panels, grids.items(), strict=False):
        _draw_grid(axes, grid, chosen.get(app, ()))
        axes.set_title(app, loc="left", fontsize=10, color=INK, fontweight="bold")
    panels[0].legend(frameon=False, fontsize=8, labelcolor=INK)
    _save(figure, path)


def _draw_grid(axes: Axes, grid: Grid, chosen: Sequence[Shape]) -> None:
    shapes = list(grid.visits)
    workers = [shape[0] for shape in shapes]
    measured = [grid.epoch_s(shape) for shape in shapes]
    fitted = Model.fitted(grid.visits[shapes[0]])
    model = [fitted.epoch_s(grid.visits[shape][0]) for shape in shapes]
    axes.plot(
        workers, model, "--", color=PREDICTED, label=f"predicted from {workers[0]}+{shapes[0][1]}"
    )
    for shape, visits in grid.visits.items():
        axes.plot([shape[0]] * len(visits), [v.epoch_s for v in visits], "_", color=QUIET_INK, ms=9)
    axes.plot(workers, measured, "o-", color=MEASURED, ms=4, lw=1, label="measured")
    found = sorted(set(chosen) & set(shapes))
    axes.plot(
        [shape[0] for shape in found],
        [grid.epoch_s(shape) for shape in found],
        "o", color=CHOSEN, ms=11, mfc="none", mew=2, label="chosen by --auto",
    )  # fmt: skip
    axes.set_ylim(bottom=0)
    axes.set_xticks(workers, [f"{w}+{s}" for w, s in shapes])
    axes.set_xlabel("workers + servers", fontsize=8, color=QUIET_INK)
    axes.set_ylabel("epoch, s", fontsize=8, color=QUIET_INK)


def draw_paths(runs: Mapping[str, Mapping[Shape, AutoRun]], path: Path) -> None:
    """A panel per application: epoch time over time from every start, with the changes."""
    figure, panels = _panels(len(runs), columns=2, height_in=2.3)
    for axes, (app, by_start) in zip(panels, runs.items(), strict=False):
        for colour, (start, run) in zip(JOB_COLOURS, by_start.items(), strict=False):
            _draw_path(axes, run, colour, f"from {start[0]}+{start[1]}")
        axes.set_title(app, loc="left", fontsize=10, color=INK, fontweight="bold")
        axes.legend(frameon=False, fontsize=8, labelcolor=INK)
    _save(figure, path)


def draw_machines(run: AutoRun, path: Path) -> None:
    """Epoch time over time while machines come and go."""
    figure, (axes,) = _panels(1, columns=1, height_in=3.2)
    _draw_path(axes, run, JOB_COLOURS[0], "")
    for at_s, text in run.marks:
        axes.axvline(at_s, color=CHOSEN, lw=1.2)
        axes.annotate(
            text, (at_s, 1), xytext=(3, -2), xycoords=("data", "axes fraction"),
            textcoords="offset points", fontsize=8, color=CHOSEN, va="top",
        )  # fmt: skip
    _save(figure, path)


def _draw_path(axes: Axes, run: AutoRun, colour: str, label: str) -> None:
    times = [epoch.at_s for epoch in run.epochs]
    walls = [epoch.wall_s for epoch in run.epochs]
    axes.plot(times, walls, ".-", color=colour, ms=4, lw=1, label=label)
    for change in run.changes:
        end_s = change.at_s
        axes.axvspan(end_s - change.plan_s, end_s, color=colour, alpha=0.15, lw=0)
        axes.annotate(
            f"{change.after[0]}+{change.after[1]}", (end_s, 0), xytext=(2, 3),
            textcoords="offset points", fontsize=8, color=colour,
        )  # fmt: skip
    axes.set_ylim(bottom=0)
    axes.set_xlabel("seconds of training", fontsize=8, color=QUIET_INK)
    axes.set_ylabel("epoch, s", fontsize=8, color=QUIET_INK)


def _panels(count: int, columns: int, height_in: float) -> tuple[Figure, list[Any]]:
    from matplotlib.figure import Figure

    from motet.report.rendering.figure_parts import quieten

    lines = -(-count // columns)
    figure = Figure(figsize=(7.6, height_in * lines), facecolor="white", layout="constrained")
    panels = list(figure.subplots(lines, columns, squeeze=False).ravel())
    for axes in panels:
        quieten(axes)
    for axes in panels[count:]:
        axes.set_visible(False)
    return figure, panels


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path, dpi=DPI)
    print(f"written: {path} ({path.stat().st_size / 1000:.0f} kB)")
