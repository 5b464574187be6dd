"""Figure of finish-time fairness: Themis' rho of all experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from motet.report.figures.line_panels import figure_of_lines
from motet.report.figures.run_lines import LabelStyles, Runs, seeds_note, styled
from motet.report.rendering.figure_parts import (
    draw_shares,
    name_ratios,
    span_logarithmically,
)
from motet.report.rendering.palette import QUIET_INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def fairness_figure(runs: Runs) -> Figure:
    """Cumulative share of experiments by rho, on a logarithmic axis."""
    rho = [run.rho[~np.isnan(run.rho)] for run in runs]

    def draw(axes: Axes, styles: LabelStyles) -> None:
        span_logarithmically(axes, np.concatenate([[1.0], *rho]))
        for style, label, run in styled(runs, styles):
            draw_shares(axes, run.rho[~np.isnan(run.rho)], label=label, **style)
        axes.axvline(1, color=QUIET_INK, linewidth=1, zorder=1)
        axes.set_ylim(0, 1.02)
        axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        name_ratios(axes.xaxis)
        axes.set_xlabel("rho", color=QUIET_INK, fontsize=9)

    return figure_of_lines(
        "Finish-time fairness",
        "share of experiments (a job alone is one) up to a rho;\n"
        f"above 1: later than on a fair share{seeds_note(runs, 'a line per seed')}",
        runs,
        draw,
    )
