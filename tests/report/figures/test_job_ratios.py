"""Figures of completion times of the same jobs under several policies."""

from __future__ import annotations

import pytest

from motet.report.cluster_run.job_pairs import pair_jobs
from motet.report.cluster_run.record import ClusterRun
from motet.report.figures.job_ratios import job_times_figure, sooner_and_later_figure
from simulated_runs import IN_NO_TIME, NOTHING, RUN


@pytest.mark.parametrize("other", [RUN, NOTHING], ids=["same", "nothing"])
def test_two_runs_against_each_other_can_be_drawn(other: ClusterRun) -> None:
    job_times_figure("a", "b", pair_jobs(RUN, other)).canvas.draw()


def test_of_several_runs_the_shares_of_winners_and_losers_are_drawn() -> None:
    (axes,) = sooner_and_later_figure("fifo", [("srtf", 6, 2, 8), ("las", 0, 0, 0)]).axes
    widths = [bar.get_width() for bar in axes.patches]

    assert widths == [-0.75, 0.25, 0, 0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["srtf", "las"]


@pytest.mark.filterwarnings("error")
def test_jobs_that_take_no_time_draw_no_warning() -> None:
    job_times_figure("a", "b", pair_jobs(IN_NO_TIME, IN_NO_TIME)).canvas.draw()
