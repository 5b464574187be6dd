"""Jobs that take turns on a share are as fast as any schedule could make them."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from motet.estimate.shares import GroupPieces, pieces_of, speeds_together

Curve = list[tuple[int, float]]
"""(GPUs more, speed more) from width to width."""
curves: st.SearchStrategy[Curve] = st.lists(
    st.tuples(st.integers(1, 4), st.floats(0.05, 5.0)), min_size=1, max_size=5
)
searches = st.lists(curves, min_size=1, max_size=3)
shares = st.floats(0.1, 40.0)


def together(groups: list[list[Curve]], share: list[float]) -> list[float]:
    jobs = [curve for group in groups for curve in group]
    of = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    first = np.cumsum([0, *map(len, jobs)])
    gpus = [width for job in jobs for width in accumulate(more for more, _ in job)]
    speed = [total for job in jobs for total in accumulate(more for _, more in job)]
    pieces = pieces_of(first, gpus, np.array(speed))
    return speeds_together(GroupPieces.of(pieces, of, len(groups)), share).tolist()


def by_linear_program(group: list[Curve], share: float) -> float:
    """Each job is for some part of the time on each of its widths, or nowhere."""
    gpus, speed, job = [], [], []
    for number, curve in enumerate(group):
        gpus += list(accumulate(more for more, _ in curve))
        speed += list(accumulate(more for _, more in curve))
        job += [number] * len(curve)
    always = np.array(job) == np.arange(len(group))[:, None]
    limits = [share, *[1.0] * len(group)]
    return float(-linprog(-np.array(speed), np.vstack([gpus, always]), limits).fun)


@given(
    st.lists(st.tuples(st.lists(curves, min_size=1, max_size=3), shares), min_size=1, max_size=3)
)
def test_the_speed_equals_that_of_a_linear_program(groups: list[tuple[list[Curve], float]]) -> None:
    found = together([group for group, _ in groups], [share for _, share in groups])
    for speed, (group, share) in zip(found, groups, strict=True):
        assert speed == pytest.approx(by_linear_program(group, share), rel=1e-6)


@given(st.lists(st.integers(1, 16), min_size=1, max_size=5), shares)
def test_gangs_are_as_fast_as_their_share_until_all_run(gangs: list[int], share: float) -> None:
    (found,) = together([[[(gpus, float(gpus))] for gpus in gangs]], [share])
    assert found == pytest.approx(min(share, sum(gangs)))
