"""Lines over time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.report.figures.run_lines import time_averages


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(0, 9)), min_size=1, max_size=20),
    st.integers(1, 40),
)
def test_averages_over_time_keep_the_area(steps: list[tuple[int, int]], slices: int) -> None:
    times_s = np.cumsum([0.0, *(length for length, _ in steps)])
    values = np.array([*(value for _, value in steps), 0], dtype=np.float64)
    edges, means = time_averages(times_s, values, slices)

    assert np.sum(np.diff(edges) * means) == pytest.approx(sum(n * value for n, value in steps))
