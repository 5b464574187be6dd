"""Sparklines and braille curves."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.report.rendering.text_plot import braille_curve, sparkline

LOSSES = st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), max_size=60)


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ([], ""),
        ([3.0], "▁"),
        ([2.0, 2.0, 2.0], "▁▁▁"),
        ([8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0], "█▇▆▅▄▃▂▁"),
        ([1.0, math.nan, 0.0], "█ ▁"),
    ],
)
def test_a_sparkline_shows_each_value_as_the_height_of_a_block(
    values: list[float], line: str
) -> None:
    assert sparkline(values, 20) == line


def test_a_long_sparkline_is_squeezed_and_keeps_its_ends() -> None:
    line = sparkline([100.0 - n for n in range(100)], 10)

    assert (len(line), line[0], line[-1]) == (10, "█", "▁")


def test_losses_over_many_magnitudes_are_drawn_on_a_logarithmic_scale() -> None:
    assert sparkline([1000.0, 100.0, 10.0, 1.0], 4) == "█▆▃▁"


def test_the_slow_end_of_a_steep_curve_is_not_flat() -> None:
    """1 / k: nine tenths of the fall are in the first tenth of the epochs."""
    line = sparkline([1 / k for k in range(1, 101)], 30)

    assert line[0] == "█"
    assert line[-1] == "▁"
    assert len(set(line)) >= 6
    assert [*line] == sorted(line, reverse=True)


@given(LOSSES, st.integers(1, 40), st.integers(1, 6), st.integers(0, 100))
def test_a_curve_fills_exactly_its_lines_and_columns(
    values: list[float], width: int, height: int, span: int
) -> None:
    lines = braille_curve(values, width, height, span)

    assert [len(line) for line in lines] == [width] * height


def test_a_falling_curve_goes_from_the_upper_left_to_the_lower_right() -> None:
    assert braille_curve([1.0, 0.0], 4, 2) == ["⠑⢄  ", "  ⠑⢄"]


def test_a_running_curve_leaves_the_future_empty() -> None:
    (line,) = braille_curve([5.0, 5.0, 5.0], 8, 1, span=6)

    assert line == "⣀⣀⣀⣀    "
