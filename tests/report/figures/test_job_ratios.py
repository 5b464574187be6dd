"""Figures of who wins and who loses."""

from __future__ import annotations

import pytest

from motet.report.cluster_run.jobs import SimulatedJobs, paired
from motet.report.figures.job_ratios import sooner_and_later, winners_and_losers
from simulated_runs import IN_NO_TIME, NOTHING, RUN


@pytest.mark.parametrize("other", [RUN, NOTHING], ids=["same", "nothing"])
def test_two_runs_against_each_other_can_be_drawn(other: SimulatedJobs) -> None:
    winners_and_losers("a", "b", paired(RUN, other)).canvas.draw()


def test_of_several_runs_the_shares_of_winners_and_losers_are_drawn() -> None:
    (axes,) = sooner_and_later("fifo", [("srtf", 6, 2, 8), ("las", 0, 0, 0)]).axes
    widths = [bar.get_width() for bar in axes.patches]

    assert widths == [-0.75, 0.25, 0, 0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["srtf", "las"]


@pytest.mark.filterwarnings("error")
def test_jobs_that_take_no_time_draw_no_warning() -> None:
    winners_and_losers("a", "b", paired(IN_NO_TIME, IN_NO_TIME)).canvas.draw()
