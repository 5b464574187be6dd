"""Figures of contests: curves of several policies with the interval over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from motet.domain.arrays import Floats
from motet.report.rendering.confidence import confidence_half_width
from motet.report.rendering.figure_parts import (
    QUIET,
    draw_shares,
    finish,
    line_style,
    new_figure,
    save,
)
from motet.report.rendering.palette import REFERENCE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_RHO = 5.0
"""Where the axis ends; a few are beyond."""


@dataclass(frozen=True)
class Band:
    """A curve over seeds: `(seeds, points)` values at `x`; NaN where a seed has none."""

    x: Sequence[float]
    values: Floats

    @property
    def mean(self) -> Floats:
        """Over the seeds."""
        mean: Floats = np.nanmean(self.values, axis=0)
        return mean

    @property
    def half_width(self) -> Floats:
        """Of Student's 95 % interval."""
        return np.array([confidence_half_width(row[~np.isnan(row)]) for row in self.values.T])


@dataclass(frozen=True)
class Words:
    """What stands around a figure."""

    title: str
    note: str
    x: str
    y: str


def draw_bands(words: Words, bands: Mapping[str, Band], path: Path, **axis: Any) -> None:
    """A line per policy and, lighter, its interval. `axis`: what `Axes.set` takes."""
    figure, axes = new_figure(words.title, words.note)
    for place, (label, band) in enumerate(bands.items()):
        style = line_style(place)
        marker = "o" if len(band.x) < 12 else ""
        axes.plot(band.x, band.mean, label=label, marker=marker, markersize=4, **style)
        low, high = band.mean - band.half_width, band.mean + band.half_width
        axes.fill_between(band.x, low, high, color=style["color"], alpha=0.15, linewidth=0)
    axes.set(**axis)
    axes.minorticks_off()
    _finish(figure, axes, words, path)


def draw_rho(words: Words, by_label: Mapping[str, Sequence[float]], path: Path) -> None:
    """Share of experiments up to a finish-time fairness, all seeds together."""
    figure, axes = new_figure(words.title, words.note)
    axes.set_xlim(0, MOST_RHO)
    for place, (label, values) in enumerate(by_label.items()):
        draw_shares(axes, np.array(values), label=label, **line_style(place))
    axes.axvline(1, color=REFERENCE, linewidth=0.8, linestyle=":")
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.set_ylim(0, 1.02)
    _finish(figure, axes, words, path)


def _finish(figure: Figure, axes: Axes, words: Words, path: Path) -> None:
    axes.set_xlabel(words.x, **QUIET)
    axes.set_ylabel(words.y, **QUIET)
    finish(figure, axes)
    save(figure, path)
    print(f"written: {path} ({path.stat().st_size / 1000:.0f} kB)")
