"""Pictures of losses, and of whose GPUs they were."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from motet.report.figures.quality import average_loss_figure, gpus_by_loss_figure
from motet.report.figures.run_lines import Runs
from motet.report.rendering.palette import job_colour
from simulated_runs import LEARNS, QUALITY, RUN

DRAWINGS = pytest.mark.parametrize("draw", [average_loss_figure, gpus_by_loss_figure])


def with_losses(*losses: float) -> Runs:
    return [replace(LEARNS, quality=replace(QUALITY, average_loss=np.array(losses)))]


@DRAWINGS
def test_without_loss_curves_the_figure_says_so(draw: Callable[[Runs], Figure]) -> None:
    texts = [text.get_text() for text in draw([RUN]).axes[0].texts]
    assert "no job has a loss curve" in texts


@DRAWINGS
def test_what_has_no_loss_leaves_the_others_their_colours(draw: Callable[[Runs], Figure]) -> None:
    (axes,) = draw([RUN, LEARNS]).axes
    drawn = [line.get_color() for line in axes.get_lines()][:1]
    drawn += [to_hex(area.get_facecolor()[0]) for area in axes.collections]  # type: ignore[index]

    assert job_colour(1) in drawn
    assert job_colour(0) not in drawn


def test_the_loss_is_drawn_from_the_first_submission_until_few_are_left() -> None:
    later = replace(QUALITY, times_us=QUALITY.times_us + 5 * 10**6)
    (axes,) = average_loss_figure([replace(LEARNS, quality=later)]).axes
    (line,) = axes.get_lines()
    times_s, losses = (np.asarray(each) for each in line.get_data())

    assert axes.get_xlim() == (0, 10)
    assert losses[[0, -1]].tolist() == pytest.approx([1, 0.5])
    assert np.interp(5, times_s, losses) == pytest.approx(0.75, abs=0.01)


def test_of_a_few_jobs_the_whole_loss_is_drawn() -> None:
    few = replace(QUALITY, jobs=np.array([1, 2, 1, 0]))
    (axes,) = average_loss_figure([replace(LEARNS, quality=few)]).axes

    assert axes.get_xlim() == (0, 30)
    assert np.isnan(np.asarray(axes.get_lines()[0].get_ydata())[-1])


@pytest.mark.parametrize(
    ("draw", "with_many", "without"),
    [
        (average_loss_figure, "while there are at least 4;", "over time;"),
        (gpus_by_loss_figure, "while there are at least 4;", "there were never 4"),
    ],
)
def test_a_figure_tells_where_there_are_too_few_jobs(
    draw: Callable[[Runs], Figure], with_many: str, without: str
) -> None:
    few = replace(QUALITY, jobs=np.array([1, 2, 1, 0]))
    for run, said in ((LEARNS, with_many), (replace(LEARNS, quality=few), without)):
        assert said in " ".join(text.get_text() for text in draw([run]).axes[0].texts)


def test_the_first_jobs_alone_do_not_stretch_the_scale() -> None:
    growing = replace(QUALITY, jobs=np.array([1, 4, 4, 0]))
    (axes,) = average_loss_figure([replace(LEARNS, quality=growing)]).axes

    drawn = np.asarray(axes.get_lines()[0].get_ydata())

    assert axes.get_ylim() == (0, pytest.approx(0.55))
    assert np.nanmax(drawn) <= 0.5  # Nothing is cut off at the top.
    assert not np.isnan(drawn).all()


def test_of_several_seeds_the_mean_is_drawn_thick_and_named_once() -> None:
    runs = [*with_losses(1.0, 0.4, 0.2, 0.0), *with_losses(1.0, 0.6, 0.4, 0.0)]
    figure = average_loss_figure([*runs, replace(LEARNS, label="fair")])
    thick = [line for line in figure.axes[0].get_lines() if line.get_linewidth() > 1]
    mean = np.asarray(thick[0].get_ydata())

    assert len(figure.axes[0].get_lines()) == 4
    assert mean[0] == 1
    assert mean[-1] == pytest.approx(0.5)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["slaq", "fair"]


def test_seeds_that_have_ended_do_not_hide_the_others_until_they_are_most() -> None:
    runs = [*with_losses(1, np.nan, np.nan, np.nan), *with_losses(1, 0.5, np.nan, np.nan)]
    runs += with_losses(1, 0.3, 0.1, 0)
    always = np.array([4, 4, 4, 4])
    runs = [replace(run, quality=replace(run.quality, jobs=always)) for run in runs]
    mean = np.asarray(average_loss_figure(runs).axes[0].get_lines()[3].get_ydata())
    moments = np.linspace(0, 30, len(mean))

    assert mean[moments.searchsorted(9)] == pytest.approx((0.55 + 0.37) / 2, abs=0.01)
    assert np.isnan(mean[moments > 10]).all()


def test_shares_are_stacked_while_there_are_enough_jobs() -> None:
    (axes,) = gpus_by_loss_figure([LEARNS]).axes
    areas = [area for area in axes.collections if isinstance(area, PolyCollection)]
    tops = [area.get_paths()[0].vertices for area in areas]

    assert [top[:, 1].min() for top in tops] == pytest.approx([0, 0.25, 0.5], abs=0.01)
    assert [top[:, 1].max() for top in tops] == pytest.approx([0.5, 0.75, 1], abs=0.01)
    assert max(top[:, 0].max() for top in tops) <= 10


def test_every_policy_with_losses_has_a_panel() -> None:
    figure = gpus_by_loss_figure([LEARNS, RUN, replace(LEARNS, label="fair"), replace(LEARNS)])
    assert len(figure.axes) == 2
    assert [axes.texts[-1].get_text() for axes in figure.axes] == ["slaq", "fair"]
