"""COMP and COMM of a step add up to the step of the speed function."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.estimate.colocation.step_parts import step_parts
from motet.estimate.speed_function import SpeedMode, speed

SECONDS = st.floats(0.001, 10)
FACTORS = st.tuples(*[st.floats(1, 3)] * 3)


@given(st.tuples(*[SECONDS] * 5, st.floats(1, 8)), st.integers(1, 16), st.integers(0, 8), FACTORS)
def test_the_parts_add_up_to_the_step(
    parameters: tuple[float, ...], workers: int, servers: int, factors: tuple[float, float, float]
) -> None:
    parts = step_parts(parameters, workers, servers, *factors)
    whole = speed(int(SpeedMode.SYNC), parameters, workers, servers, *factors)
    assert parts.iteration_s == pytest.approx(1 / whole)


def test_workers_divide_the_computation_of_the_batch_only() -> None:
    parameters = (2.0, 0.5, 3.0, 0.0, 0.0, 4.0)
    assert step_parts(parameters, 1, 1) == (8.5, 3.0)
    assert step_parts(parameters, 4, 4) == (2.5, 3.0)
    assert step_parts(parameters, 4, 4, 2.0, 1.5, 2.0) == (5.0, 9.0)
