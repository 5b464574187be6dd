"""Lines of several runs: in one panel, or, of many policies, in a panel for each.

In a panel of its own a policy has its colour, and all others are pale lines behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from motet.report.figures.run_lines import LabelStyles, Runs, label_styles
from motet.report.rendering.figure_parts import finish, new_figure, new_grid, shortened
from motet.report.rendering.palette import job_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_TOGETHER = 6
"""More lines than these in one panel cannot be told apart."""

DrawLines: TypeAlias = "Callable[[Axes, LabelStyles], None]"
"""Draws and scales the lines of all runs on axes, in these styles."""


def figure_of_lines(title: str, subtitle: str, runs: Runs, draw: DrawLines) -> Figure:
    """One panel with a legend for up to MOST_TOGETHER labels, otherwise a panel for each label."""
    labels = list(label_styles(runs))
    if len(labels) <= MOST_TOGETHER:
        figure, axes = new_figure(title, subtitle)
        draw(axes, label_styles(runs))
        return finish(figure, axes)
    figure, panels = new_grid(title, subtitle, len(labels))
    for place, (axes, label) in enumerate(zip(panels, labels, strict=True)):
        draw(axes, label_styles(runs, label))
        axes.set_title(shortened(label), loc="left", fontsize=9, color=job_colour(place), pad=4)
    _label_outer(panels)
    return figure


def _label_outer(panels: list[Axes]) -> None:
    """Tick labels and names of axes at the left and below the lowest panel of each column only."""
    columns = {axes.get_subplotspec().colspan.start for axes in panels}  # type: ignore[union-attr]
    for axes in panels:
        place = axes.get_subplotspec()
        assert place is not None
        is_lowest = axes in panels[-len(columns) :]
        axes.tick_params(labelbottom=is_lowest, labelleft=place.is_first_col())
        if not is_lowest:
            axes.set_xlabel("")
