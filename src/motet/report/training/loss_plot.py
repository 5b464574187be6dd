"""Figures of loss curves: one panel per job."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from motet.report.rendering.figure_parts import save, shortened
from motet.report.rendering.palette import GRID, INK, QUIET_INK, REFERENCE, job_colour
from motet.report.rendering.quantities import number_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL_WIDTH_IN, PANEL_HEIGHT_IN = 5.2, 3.0
LONGEST_TITLE, LONGEST_LINE = 48, 72
"""Numbers of letters that fit into a panel."""


@dataclass(frozen=True)
class PlottedLoss:
    """The loss of a job after each epoch.

    `reference`: loss of a single-machine library, if known. `marks`: numbers of epochs with a short
    text each.
    """

    title: str
    subtitle: str
    losses: Sequence[float]
    colour: str = job_colour(0)
    reference: float | None = None
    reference_name: str = ""
    marks: Sequence[tuple[float, str]] = ()


def save_loss_plot(curves: Sequence[PlottedLoss], path: Path, heading: str = "") -> None:
    """Write a PNG of the curves, two panels per row."""
    save(loss_figure(curves, heading), path)


def loss_figure(curves: Sequence[PlottedLoss], heading: str = "") -> Figure:
    """The figure. Imports matplotlib, but neither pyplot nor a window system."""
    from motet.report.rendering.notebook_figure import blank_figure

    columns = min(2, len(curves))
    rows = math.ceil(len(curves) / columns)
    top_in = 0.55 if heading else 0.0
    figure = blank_figure(PANEL_WIDTH_IN * columns, PANEL_HEIGHT_IN * rows + top_in)
    figure.get_layout_engine().set(w_pad=0.15, h_pad=0.12)  # type: ignore[union-attr,call-arg]
    if heading:
        figure.suptitle(heading, x=0.02, ha="left", fontsize=14, color=INK, fontweight="bold")
    for position, curve in enumerate(curves):
        _draw(figure.add_subplot(rows, columns, position + 1), curve)
    return figure


def _draw(axes: Axes, curve: PlottedLoss) -> None:
    _style(axes, curve)
    epochs = range(1, len(curve.losses) + 1)
    if not curve.losses:
        return
    axes.plot(epochs, curve.losses, color=curve.colour, linewidth=2.2, solid_capstyle="round")
    axes.scatter([epochs[-1]], [curve.losses[-1]], s=34, color=curve.colour, zorder=3)
    axes.annotate(
        number_text(curve.losses[-1]),
        (epochs[-1], curve.losses[-1]),
        xytext=(0, 9),
        textcoords="offset points",
        ha="right",
        color=curve.colour,
        fontweight="bold",
    )
    if curve.reference is not None:
        _draw_reference(axes, curve, curve.reference)
    if min(curve.losses) > 0 and max(curve.losses) > 50 * min(curve.losses):
        axes.set_yscale("log")
    for epoch, text in curve.marks:
        _draw_mark(axes, epoch, text)


def _draw_mark(axes: Axes, epoch: float, text: str) -> None:
    axes.axvline(epoch, color=REFERENCE, linewidth=1.0, linestyle=(0, (1, 2)), zorder=1)
    axes.annotate(
        text,
        (epoch, 1),
        xycoords=("data", "axes fraction"),
        xytext=(3, -2),
        textcoords="offset points",
        va="top",
        color=QUIET_INK,
        fontsize=8,
    )


def _draw_reference(axes: Axes, curve: PlottedLoss, reference: float) -> None:
    axes.axhline(reference, color=REFERENCE, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
    axes.annotate(
        f"{curve.reference_name} {number_text(reference)}",
        (0.02, reference),
        xycoords=("axes fraction", "data"),
        xytext=(0, -5),
        textcoords="offset points",
        va="top",
        color=REFERENCE,
        fontsize=8.5,
    )


def _style(axes: Axes, curve: PlottedLoss) -> None:
    from matplotlib.ticker import MaxNLocator

    lines = textwrap.wrap(curve.subtitle, LONGEST_LINE)
    title, pad = shortened(curve.title), 8 + 12 * len(lines)
    size = 11 if len(title) <= LONGEST_TITLE else 9
    axes.set_title(title, loc="left", fontsize=size, color=INK, fontweight="bold", pad=pad)
    subtitle = "\n".join(lines)
    axes.text(0, 1.035, subtitle, transform=axes.transAxes, fontsize=9, color=QUIET_INK)
    axes.set_xlabel("epoch", color=QUIET_INK, fontsize=9)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(GRID)
    axes.tick_params(colors=QUIET_INK, labelsize=8.5, length=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.margins(x=0.03, y=0.2)
