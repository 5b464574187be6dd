"""Figures of simulations: what they show, and that nothing breaks them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Text

from motet.report.cluster_run.record import ClusterRun
from motet.report.figures.completion_by_kind import jct_by_bin_figure
from motet.report.figures.fairness import fairness_figure
from motet.report.figures.run_lines import Runs
from motet.report.figures.simulations import (
    FIGURES,
    jct_cdf_figure,
    queueing_delay_figure,
)
from motet.report.rendering.confidence import confidence_half_width
from motet.report.rendering.figure_parts import DPI
from motet.report.rendering.palette import FADED
from simulated_runs import IN_NO_TIME, LEARNS, NOTHING, ONE, RUN
from soak_cases import others_in_soak


def test_bins_are_cut_at_4_gpus_and_800_seconds() -> None:
    assert RUN.bins.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("runs", [[RUN], [RUN, NOTHING], [NOTHING]], ids=["one", "two", "nothing"])
def test_every_figure_can_be_drawn(name: str, runs: list[ClusterRun]) -> None:
    figure = FIGURES[name](runs)
    figure.canvas.draw()


def test_the_completion_times_of_all_jobs_are_in_the_curve() -> None:
    (axes,) = jct_cdf_figure([RUN]).axes
    (line,) = axes.get_lines()

    end = axes.get_xlim()[1]
    assert line.get_xdata().tolist() == [800, 800, 900, 1000, 5000, end]
    assert line.get_ydata().tolist() == [0, 0.25, 0.5, 0.75, 1, 1]


@pytest.mark.parametrize("draw", [jct_cdf_figure, fairness_figure])
def test_a_single_job_is_a_visible_step_among_ticks(draw: Callable[[Runs], Figure]) -> None:
    figure = draw([ONE])
    figure.canvas.draw()
    (axes,) = figure.axes
    low, high = axes.get_xlim()

    assert axes.get_lines()[0].get_ydata().tolist() == [0, 1, 1]
    assert sum(low <= tick <= high for tick in axes.get_xticks()) >= 2


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", FIGURES)
def test_jobs_that_take_no_time_draw_no_warning(name: str) -> None:
    FIGURES[name]([IN_NO_TIME]).canvas.draw()


def test_where_no_job_waited_the_delays_say_so() -> None:
    (axes,) = queueing_delay_figure([ONE]).axes

    assert [text.get_text() for text in axes.texts][-1] == "no job waited"
    assert axes.get_xlim()[1] > 0.5


def test_seeds_of_a_policy_share_a_colour_and_a_name() -> None:
    figure = jct_cdf_figure([RUN, replace(RUN), replace(RUN, label="srtf")])
    (axes,) = figure.axes

    assert len({line.get_color() for line in axes.get_lines()}) == 2
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["fifo", "srtf"]


def test_up_to_six_policies_share_a_panel_with_different_colours() -> None:
    figure = jct_cdf_figure([replace(RUN, label=f"policy {number}") for number in range(6)])
    (axes,) = figure.axes

    assert len({line.get_color() for line in axes.get_lines()}) == 6


MANY = [replace(LEARNS, label=f"policy-with-name-{number}") for number in range(15)]


@pytest.mark.parametrize(
    "draw",
    others_in_soak(
        [jct_cdf_figure, fairness_figure, FIGURES["queue_length.png"]],
        [FIGURES["queue_length.png"]],
    ),
)
def test_many_policies_have_a_panel_each_with_the_others_behind(
    draw: Callable[[Runs], Figure],
) -> None:
    figure = draw(MANY)
    names = [axes.get_title(loc="left") for axes in figure.axes]

    assert names == [run.label for run in MANY]
    assert not figure.legends
    (first, *_) = jct_cdf_figure(MANY).axes
    colours = [line.get_color() for line in first.get_lines()]
    assert colours.count(FADED) == 14


@pytest.mark.parametrize(
    ("count", "name"),
    others_in_soak(
        itertools.product([2, 8, 15], FIGURES),
        [(2, name) for name in FIGURES],
    ),
)
def test_labels_do_not_overlap(count: int, name: str) -> None:
    figure = FIGURES[name](MANY[:count])
    figure.set_dpi(DPI)
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    figure.draw_without_rendering()  # The layout is final after the second time.
    boxes = [(text.get_text(), text.get_window_extent()) for text in shown_texts(figure)]

    overlapping = [
        (one, other)
        for (one, box), (other, beside) in itertools.combinations(boxes, 2)
        if box.padded(-1).overlaps(beside.padded(-1))
    ]
    assert overlapping == []


def shown_texts(figure: Figure) -> list[Text]:
    """Without the ticks beyond the ends of axes, which Matplotlib keeps and does not draw."""
    texts = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    for axes in figure.axes:
        texts += [*axes.texts, axes.xaxis.label, axes.yaxis.label]
        texts += [text for text in axes.get_children() if isinstance(text, Text)]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            texts += [tick.label1 for tick in ticks]
    return [text for text in dict.fromkeys(texts) if text.get_visible() and text.get_text()]


def test_kinds_without_jobs_are_left_out() -> None:
    small = replace(RUN, gpus=np.array([1, 1, 1, 1]))
    (axes,) = jct_by_bin_figure([small]).axes

    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["small short (2)", "small long (2)"]


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "queueing_delay.png"])
def test_figures_say_what_they_show_of_several_seeds(name: str) -> None:
    one, three = FIGURES[name]([RUN]), FIGURES[name]([RUN, replace(RUN), replace(RUN)])
    texts = [[text.get_text() for text in figure.axes[0].texts] for figure in (one, three)]

    assert not any("seeds" in text for text in texts[0])
    assert any("3 seeds: " in text for text in texts[1])


def test_bars_over_seeds_have_students_intervals() -> None:
    slow = replace(RUN, jct_s=RUN.jct_s * 1.5)
    (axes,) = jct_by_bin_figure([RUN, slow]).axes
    (bars,) = [lines for lines in axes.collections if isinstance(lines, LineCollection)]
    half_width = confidence_half_width([800.0, 1200.0])

    low, high = bars.get_segments()[0][:, 1]
    assert high == pytest.approx(1000 + half_width)
    assert low == pytest.approx(max(1000 - half_width, 100))
