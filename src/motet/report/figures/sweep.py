"""The effect of a swept parameter on completion times and delays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from motet.report.cluster_run.run_label import Document, sweep_of, value_text
from motet.report.rendering.confidence import confidence_half_width
from motet.report.rendering.figure_parts import (
    LEGEND,
    LETTER_IN,
    LONGEST_NAME,
    QUIET,
    WIDTH_IN,
    line_style,
    quieten,
    scale_time,
    shortened,
    unit_of,
)
from motet.report.rendering.palette import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEASURES = (
    ("average completion time", "jct_s", "mean"),
    ("median completion time", "jct_s", "median"),
    ("95th percentile of completion time", "jct_s", "p95"),
    ("average queueing delay", "queueing_delay_s", "mean"),
)
HEIGHT_IN = 5.0
HEADROOM, HEADROOM_BELOW_TEXT = 1.08, 1.2
FARTHEST_ACROSS = FARTHEST_INTERVAL = 1.5
MOST_LETTERS, MOST_TILTED = 26, 8
_TITLE: dict[str, Any] = {"x": 0.01, "ha": "left", "size": 12, "color": INK, "weight": "bold"}


def sweep_file(parameter: str) -> str:
    """File name of the figure of a parameter."""
    return f"sweep_{parameter}.png"


def sweep_figure(parameter: str, documents: Sequence[Document]) -> Figure:
    """Completion times and queueing delay against the values of a parameter, one line per policy.

    Layout of Tiresias' figures 3.14 and 3.15; with several seeds, 95 % confidence intervals.
    Policies without the parameter are horizontal lines.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN), facecolor="white", layout="constrained")
    figure.suptitle(f"Effect of {parameter}", **_TITLE)
    panels: list[Axes] = list(figure.subplots(2, 2, sharex=True).flat)
    lines = _Lines(parameter, documents)
    for axes, (title, *measure) in zip(panels, MEASURES, strict=True):
        quieten(axes)
        axes.set_title(title, loc="left", pad=8, **QUIET)
        lines.draw(axes, *measure)
    _name_values(panels[0], [value_text(value) for value in lines.values])
    figure.supxlabel(f"{parameter}{lines.note}", **QUIET)
    found = [zip(*axes.get_legend_handles_labels(), strict=True) for axes in panels]
    named = {label: handle for handle, label in chain.from_iterable(found)}
    if len(named) > 1:
        figure.legend(named.values(), named.keys(), loc="outside right upper", **LEGEND)
    return figure


class _Lines:
    """Groups of runs: a line per policy, a point per value, an interval over seeds."""

    def __init__(self, parameter: str, documents: Sequence[Document]) -> None:
        """Group the runs; `values` keeps the order of the runs."""
        self._points: dict[str, dict[str, list[Document]]] = {}
        self._across: dict[str, list[Document]] = {}
        for document in documents:
            sweep, policy = sweep_of(document), document["policy"]
            if sweep is None:
                self._across.setdefault(policy, []).append(document)
            elif sweep.parameter == parameter:
                self._points.setdefault(policy, {}).setdefault(sweep.value, []).append(document)
        policies = dict.fromkeys(document["policy"] for document in documents)
        self._style = {policy: line_style(place) for place, policy in enumerate(policies)}
        self.values = list(dict.fromkeys(chain.from_iterable(self._points.values())))
        self.cuts_intervals = False

    @property
    def note(self) -> str:
        """Description of the intervals; complete after all panels are drawn."""
        groups = (same for points in self._points.values() for same in points.values())
        seeds = max(map(len, groups))
        cut = "; longer ones are cut off" if self.cuts_intervals else ""
        return f" (95 % intervals over {seeds} seeds{cut})" if seeds > 1 else ""

    def draw(self, axes: Axes, *measure: str) -> None:
        """Draw one panel; the axis begins at 0, so that a small effect looks small.

        Very long intervals, as two seeds often give, are cut off at the end of the axis: shown in
        full they would flatten all lines.
        """
        means, ends = zip(*(self._line(axes, it, measure) for it in self._points), strict=True)
        highest = min(max(ends), FARTHEST_INTERVAL * max(means))
        self.cuts_intervals |= max(ends) > highest
        levels = {policy: _Average.of(same, measure) for policy, same in self._across.items()}
        near = [it for it, level in levels.items() if level.mean <= FARTHEST_ACROSS * highest]
        for policy in near:
            style = {**self._style[policy], "linestyle": "--", "linewidth": 1.4}
            axes.axhline(levels[policy].mean, label=policy, **style)
        top = max([highest, *(levels[policy].mean for policy in near)]) or 1.0
        scale_time(axes.yaxis, top, ticks=5)
        unit, unit_s = unit_of(top)
        far = [f"{it} {levels[it].mean / unit_s:,.3g} {unit}" for it in levels if it not in near]
        axes.set_ylim(0, (HEADROOM_BELOW_TEXT if far else HEADROOM) * top)
        if far:
            place: dict[str, Any] = {"transform": axes.transAxes, "ha": "right", "va": "top"}
            place["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            axes.text(1, 1, f"above: {', '.join(far)}", **place, **{**QUIET, "fontsize": 8})

    def _line(self, axes: Axes, policy: str, measure: Sequence[str]) -> tuple[float, float]:
        """Draw a line; returns its highest mean, and the highest end of its intervals."""
        points = self._points[policy]
        averages = [_Average.of(same, measure) for same in points.values()]
        half_widths = [average.half_width for average in averages]
        axes.errorbar(
            [self.values.index(value) for value in points],
            [average.mean for average in averages],
            yerr=half_widths if any(half_widths) else None,
            marker="o",
            markersize=4,
            linewidth=1.8,
            capsize=3,
            elinewidth=1.2,
            label=policy,
            **self._style[policy],
        )
        known = [average for average in averages if math.isfinite(average.mean)]
        tops = [average.mean + average.half_width for average in known]
        return max((each.mean for each in known), default=0.0), max(tops, default=0.0)


class _Average(NamedTuple):
    """Mean over seeds; `half_width` of its interval is 0 for a single seed."""

    mean: float
    half_width: float

    @classmethod
    def of(cls, same: Sequence[Document], measure: Sequence[str]) -> _Average:
        name, statistic = measure
        found = [document[name][statistic] for document in same]
        values = [math.nan if value is None else float(value) for value in found]
        half_width = confidence_half_width(values) if len(values) > 1 else 0.0
        return cls(math.fsum(values) / len(values), half_width)


def _name_values(axes: Axes, names: Sequence[str]) -> None:
    """Label the values; long labels are rotated and make the figure higher."""
    longest = max(map(len, names))
    is_long = longest * len(names) > MOST_LETTERS
    axes.set_xticks(range(len(names)), [shortened(name) for name in names])
    axes.set_xlim(-0.4, len(names) - 0.6)
    angle = 0 if not is_long else 30 if len(names) <= MOST_TILTED else 90
    for below in axes.figure.axes[2:]:
        below.tick_params(axis="x", labelrotation=angle)
        for label in below.get_xticklabels():
            upright = "center" if angle == 90 else "top"
            label.set(ha="right" if is_long else "center", va=upright, rotation_mode="anchor")
    if is_long:
        height_in = min(longest, LONGEST_NAME) * LETTER_IN * (1.0 if angle == 90 else 0.5)
        axes.figure.set_figheight(HEIGHT_IN + height_in)  # type: ignore[union-attr]
