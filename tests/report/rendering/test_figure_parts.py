"""Units and ticks of axes of time, and names in figures."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest

from motet.report.rendering.figure_parts import (
    LEAST_SPAN,
    LONGEST_NAME,
    line_style,
    new_figure,
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


def test_equal_figures_give_equal_bytes() -> None:
    files = [BytesIO(), BytesIO()]
    for file in files:
        figure, axes = new_figure("title", "subtitle")
        axes.plot([1, 2], [3, 4])
        save(figure, file)

    assert files[0].getvalue() == files[1].getvalue()
