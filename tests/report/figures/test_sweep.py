"""The figure of a sweep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.container import ErrorbarContainer

from motet.report.figures.sweep import sweep_figure
from motet.report.rendering.confidence import confidence_half_width


def run(policy: str, value: str | None, mean: float | None, parameter: str = "knob") -> Any:
    times = {"mean": mean, "median": mean, "p95": mean}
    sweep = {} if value is None else {"sweep": {"parameter": parameter, "value": value}}
    return {"policy": policy, "jct_s": times, "queueing_delay_s": times, **sweep}


def test_a_line_per_policy_with_a_point_per_value_in_the_order_given() -> None:
    runs = [run("las", "8", 300), run("las", "inf", 200), run("gittins", "inf", 100)]
    figure = sweep_figure("knob", runs)
    first, second = figure.axes[0].containers

    assert isinstance(first, ErrorbarContainer)
    assert first.lines[0].get_xydata().tolist() == [[0, 300], [1, 200]]
    assert second.lines[0].get_xydata().tolist() == [[1, 100]]
    figure.canvas.draw()
    assert [label.get_text() for label in figure.axes[2].get_xticklabels()] == ["8", "inf"]


def test_seeds_make_intervals() -> None:
    means = [100.0, 120, 90]
    runs = [run("las", value, mean) for value in ("1", "2") for mean in means]
    (bars,) = sweep_figure("knob", runs).axes[0].containers
    _, _, (segments,) = bars.lines
    low, high = segments.get_segments()[0][:, 1]

    assert (high - low) / 2 == pytest.approx(confidence_half_width(means))
    assert (high + low) / 2 == pytest.approx(np.mean(means))


def test_intervals_of_two_seeds_do_not_flatten_everything_else() -> None:
    wide = [run("las", value, mean) for value in ("1", "2") for mean in (1000.0, 2000)]
    narrow = [run("las", value, mean) for value in ("1", "2") for mean in (1490.0, 1500, 1510)]
    notes, tops = [], []
    for runs in (wide, narrow):
        figure = sweep_figure("knob", runs)
        notes.append(figure.get_supxlabel())
        tops.append(figure.axes[0].get_ylim()[1])

    assert confidence_half_width([1000.0, 2000]) > 6000
    assert 1500 < tops[1] < tops[0] < 2500
    assert ["longer ones are cut off" in note for note in notes] == [True, False]


def test_others_are_lines_across_or_named_where_they_would_flatten_the_rest() -> None:
    runs = [run("las", "1", 60), run("las", "2", 50), run("srtf", None, 40)]
    figure = sweep_figure("knob", [*runs, run("fifo", None, 600)])
    names = [text.get_text() for text in figure.legends[0].get_texts()]

    assert sorted(names) == ["las", "srtf"]
    assert [text.get_text() for text in figure.axes[0].texts] == ["above: fifo 600 seconds"]


def test_a_value_under_which_nothing_finished_can_be_drawn() -> None:
    sweep_figure("knob", [run("las", "1", None), run("las", "2", 5)]).canvas.draw()
    sweep_figure("knob", [run("las", "1", None), run("las", "2", None)]).canvas.draw()


@pytest.mark.parametrize("count", [5, 14])
def test_the_names_of_values_do_not_run_into_each_other(count: int) -> None:
    values = [",".join(["3600", "14400"] * (count // 3)) + str(place) for place in range(count)]
    figure = sweep_figure("knob", [run("las", value, 60) for value in values])
    figure.canvas.draw()
    labels = figure.axes[2].get_xticklabels()
    tops = [label.get_transform().transform(label.get_position())[0] for label in labels]
    line_height = labels[0].get_fontsize() * figure.dpi / 72
    across = line_height / np.sin(np.radians(labels[0].get_rotation()))

    assert min(np.diff(tops)) >= across * 0.95
