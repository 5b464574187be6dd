"""Units and ticks of axes of time, and names in figures."""

from __future__ import annotations

from io import BytesIO
from itertools import pairwise

import numpy as np
import pytest

from motet.report.rendering.figure_parts import (
    GRID_COLUMNS,
    LEAST_SPAN,
    LONGEST_NAME,
    line_style,
    logarithmic_durations,
    new_figure,
    new_grid,
    round_step,
    save,
    shortened,
    span_logarithmically,
    unit_of,
)


@pytest.mark.parametrize(
    ("longest_s", "unit"),
    [(0.5, "seconds"), (119, "seconds"), (120, "minutes"), (7200, "hours"), (172_800, "days")],
)
def test_the_unit_fits_at_least_twice(longest_s: float, unit: str) -> None:
    assert unit_of(longest_s)[0] == unit


@pytest.mark.parametrize(
    ("least", "step"), [(0.03, 0.05), (1, 1), (1.1, 2), (3, 5), (7, 10), (130, 200)]
)
def test_steps_are_1_2_or_5_times_a_power_of_ten(least: float, step: float) -> None:
    assert round_step(least) == pytest.approx(step)


def test_a_long_name_loses_its_middle() -> None:
    name = "a" * LONGEST_NAME
    assert shortened(name) == name
    assert shortened(name + "b") == "a" * 30 + "…" + "a" * 29 + "b"


def test_places_with_the_same_colour_differ_in_their_dash() -> None:
    styles = {tuple(line_style(place).items()) for place in range(32)}
    assert len(styles) == 32


def test_a_logarithmic_axis_around_one_value_has_room_for_ticks() -> None:
    _, axes = new_figure("title", "subtitle")
    span_logarithmically(axes, np.array([100.0]))
    low, high = axes.get_xlim()

    assert high / low == pytest.approx(LEAST_SPAN)
    assert low < 100 < high


def test_names_of_many_decades_do_not_overlap_on_a_narrow_axis() -> None:
    figure, panels = new_grid("title", "subtitle", GRID_COLUMNS)
    axes = panels[-1]
    logarithmic_durations(axes, np.array([0.001, 90_000.0]), is_narrow=True)
    figure.draw_without_rendering()
    low, high = axes.get_xlim()
    ticks = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
    boxes = [name.get_window_extent() for place, name in ticks if low <= place <= high]
    assert len(boxes) > 2
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_equal_figures_give_equal_bytes() -> None:
    files = [BytesIO(), BytesIO()]
    for file in files:
        figure, axes = new_figure("title", "subtitle")
        axes.plot([1, 2], [3, 4])
        save(figure, file)

    assert files[0].getvalue() == files[1].getvalue()
