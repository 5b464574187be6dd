"""The picture of finish-time fairness."""

from __future__ import annotations

from motet.report.figures.fairness import fairness_figure
from simulated_runs import RUN


def test_jobs_without_a_rho_are_left_out_of_the_curve() -> None:
    (axes,) = fairness_figure([RUN]).axes
    curve = axes.get_lines()[0]

    assert curve.get_xdata().tolist()[:-1] == [0.5, 0.5, 1, 4]
