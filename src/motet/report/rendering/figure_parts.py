"""Common parts of figures: sheets, axes of time, legends.

Matplotlib is imported when a figure is drawn, not with this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from motet.domain.arrays import Floats
from motet.report.rendering.palette import GRID, INK, JOB_COLOURS, QUIET_INK, job_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


WIDTH_IN, HEIGHT_IN, DPI = 7.2, 4.0, 130
PANEL_HEIGHT_IN, LEGEND_LINE_IN, LETTER_IN = 1.05, 0.19, 0.075
GRID_COLUMNS, GRID_WIDTH_IN, GRID_HEIGHT_IN, GRID_TITLE_IN = 3, 8.4, 1.55, 0.7
USUAL_NAME, LONGEST_NAME = 17, 60
QUIET: dict[str, Any] = {"fontsize": 9, "color": QUIET_INK}
LEGEND: dict[str, Any] = {"frameon": False, "fontsize": 9, "labelcolor": INK}
_DASHES = ("-", "--", ":", "-.")
_UNITS = (("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0), ("seconds", 1.0))
_FEW_TICKS = "1 ms, 10 ms, 100 ms, 1 s, 10 s, 1 min, 10 min, 1 h, 10 h, 4 d, 40 d, 400 d"
MOST_NARROW_TICKS = 5
"""Names of durations that fit beside each other below a narrow panel."""
_MANY_TICKS = (
    "1 ms, 10 ms, 100 ms, 1 s, 2 s, 5 s, 10 s, 20 s, 1 min, 2 min, 5 min, 10 min, 20 min, 1 h, "
    "2 h, 5 h, 10 h, 1 d, 2 d, 5 d, 10 d, 20 d, 50 d, 100 d"
)
SHORTEST_S = 1e-3
"""Duration at which a logarithmic axis shows jobs of duration 0."""

LEAST_SPAN, MARGIN = 10.0, 1.15
_UNIT_S: dict[str, float] = {"ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86_400}


def import_matplotlib() -> None:
    """Import what figures need: the first one that is drawn waits a second less."""
    import_module("matplotlib.figure")
    import_module("matplotlib.backends.backend_agg")


def new_figure(title: str, subtitle: str) -> tuple[Figure, Axes]:
    """A figure with one panel."""
    figure, (axes,) = new_panels(title, subtitle, 1)
    return figure, axes


def new_panels(title: str, subtitle: str, count: int) -> tuple[Figure, list[Axes]]:
    """A figure with panels one above the other, under a common title."""
    from motet.report.rendering.notebook_figure import blank_figure

    height_in = HEIGHT_IN if count == 1 else 1.0 + PANEL_HEIGHT_IN * count
    figure = blank_figure(WIDTH_IN, height_in)
    panels = list(figure.subplots(count, 1, squeeze=False)[:, 0])
    for axes in panels:
        quieten(axes)
    entitle(panels[0], title, subtitle)
    return figure, panels


def new_grid(
    title: str,
    subtitle: str,
    count: int,
    columns: int = GRID_COLUMNS,
    panel_in: float = GRID_HEIGHT_IN,
) -> tuple[Figure, list[Axes]]:
    """A figure with small panels in rows that share both axes, under a title.

    `panel_in`: height of a panel in inches.
    """
    from matplotlib.figure import Figure

    rows = -(-count // columns)
    height_in = GRID_TITLE_IN + panel_in * rows
    figure = Figure(figsize=(GRID_WIDTH_IN, height_in), facecolor="white", layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axes in grid[count:]:
        axes.remove()
    for axes in grid[:count]:
        quieten(axes)
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0, 0, 1, 1 - GRID_TITLE_IN / height_in), hspace=0.1)
    style: dict[str, Any] = {"fontsize": 12, "color": INK, "fontweight": "bold", "va": "top"}
    figure.text(0.01, 1 - 0.12 / height_in, title, **style)
    figure.text(0.01, 1 - 0.38 / height_in, subtitle.replace("\n", " "), va="top", **QUIET)
    return figure, list(grid[:count])


def quieten(axes: Axes) -> None:
    """Remove frame and ticks; draw horizontal grid lines."""
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(GRID)
    axes.tick_params(colors=QUIET_INK, labelsize=8.5, length=0)


def entitle(axes: Axes, title: str, subtitle: str) -> None:
    """A title, and a subtitle in small print below it."""
    style: dict[str, Any] = {"fontsize": 12, "color": INK, "fontweight": "bold"}
    axes.set_title(title, loc="left", pad=24 + 12 * subtitle.count("\n"), **style)
    place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
    axes.annotate(subtitle, (0, 1), xytext=(0, 9), **place, **QUIET)


def finish(figure: Figure, axes: Axes) -> Figure:
    """Add a legend to the right of the axes; a long legend makes the figure larger."""
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1:
        names = [shortened(label) for label in labels]
        make_room(figure, names)
        figure.set_figheight(max(figure.get_figheight(), LEGEND_LINE_IN * (len(names) + 2)))
        figure.legend(handles, names, loc="outside right upper", **LEGEND)
    return figure


def make_room(figure: Figure, names: Sequence[str]) -> None:
    """Widen the figure for names longer than USUAL_NAME letters."""
    more = max(map(len, names), default=0) - USUAL_NAME
    figure.set_figwidth(figure.get_figwidth() + max(more, 0) * LETTER_IN)


def shortened(name: str) -> str:
    """The name; the middle of a very long one is left out."""
    half = LONGEST_NAME // 2
    return name if len(name) <= LONGEST_NAME else f"{name[:half]}…{name[-half:]}"


def line_style(place: int) -> dict[str, Any]:
    """Colour and dash of the line at a place; places that share a colour differ in the dash."""
    dash = _DASHES[place // len(JOB_COLOURS) % len(_DASHES)]
    return {"color": job_colour(place), "linestyle": dash}


def save(figure: Figure, path: object) -> None:
    """Write a PNG; equal figures give equal bytes."""
    figure.savefig(path, dpi=DPI, format="png", metadata={"Software": "motet"})  # type: ignore[arg-type]


# -- axes ------------------------------------------------------------------------------------------


def scale_time(
    axis: Axis,
    longest_s: float,
    unit: tuple[str, float] | None = None,
    *,
    is_named: bool = True,
    ticks: int = 8,
) -> None:
    """Label a linear axis of time. `unit`: name and seconds; chosen by `longest_s` if None."""
    from matplotlib.ticker import MultipleLocator

    name, unit_s = unit or unit_of(longest_s)
    axis.set_major_locator(MultipleLocator(round_step(longest_s / unit_s / ticks) * unit_s))
    axis.set_major_formatter(lambda time_s, _: f"{time_s / unit_s:g}")
    if is_named:
        axis.set_label_text(name, color=QUIET_INK, fontsize=9)


def unit_of(longest_s: float) -> tuple[str, float]:
    """The largest unit that fits at least twice into the duration, and its seconds."""
    return next((unit for unit in _UNITS if longest_s >= 2 * unit[1]), _UNITS[-1])


def round_step(least: float) -> float:
    """The smallest of 1, 2, 5, 10, ... (or a power of ten of them) that is at least `least`."""
    power = 10.0 ** np.floor(np.log10(least))
    return float(power * next(step for step in (1, 2, 5, 10) if step * power >= least))


def logarithmic_durations(axes: Axes, times_s: Floats, is_narrow: bool = False) -> None:
    """Scale the horizontal axis logarithmically to the times. `is_narrow`: with few ticks."""
    span_logarithmically(axes, np.maximum(times_s, SHORTEST_S))
    name_durations(axes.xaxis, is_narrow)


def span_logarithmically(axes: Axes, values: Floats) -> None:
    """Scale the horizontal axis logarithmically; it spans at least a factor of LEAST_SPAN."""
    axes.set_xscale("log")
    if len(values):
        low, high = float(values.min()), float(values.max())
        more = max(MARGIN, np.sqrt(LEAST_SPAN * low / high))
        axes.set_xlim(low / more, high * more)


def draw_shares(axes: Axes, values: Floats, **style: Any) -> None:
    """Cumulative share of the values, from 0 to the end of the axis."""
    ordered = np.sort(values)
    share = np.arange(1, len(ordered) + 1) / max(len(ordered), 1)
    if len(ordered):
        ordered = np.concatenate([ordered[:1], ordered, axes.get_xlim()[1:]])
        share = np.concatenate([[0.0], share, [1.0]])
    axes.step(ordered, share, where="post", **{"linewidth": 1.8, **style})


def name_durations(axis: Axis, is_narrow: bool = False) -> None:
    """Ticks at usual durations; more of them on an axis with a small range, unless it is narrow."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    low_s, high_s = axis.get_view_interval()
    names = (_FEW_TICKS if is_narrow or high_s > 500 * low_s else _MANY_TICKS).split(", ")
    if is_narrow:
        shown = sum(low_s <= _tick_s(name) <= high_s for name in names)
        names = names[:: max(1, -(-shown // MOST_NARROW_TICKS))]
    axis.set_major_locator(FixedLocator([_tick_s(name) for name in names]))
    axis.set_major_formatter(FixedFormatter(names))
    axis.set_minor_locator(NullLocator())


def name_ratios(axis: Axis) -> None:
    """Ticks at round factors: `0.1`, `0.5`, `1`, `2`."""
    from matplotlib.ticker import FixedLocator, NullLocator

    low, high = axis.get_view_interval()
    steps = (1, 2, 5) if high < 2000 * low else (1,)
    axis.set_major_locator(FixedLocator([n * 10.0**k for k in range(-6, 7) for n in steps]))
    axis.set_major_formatter(lambda ratio, _: f"{ratio:g}")
    axis.set_minor_locator(NullLocator())


def _tick_s(name: str) -> float:
    count, unit = name.split()
    return int(count) * _UNIT_S[unit]
