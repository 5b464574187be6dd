"""Each family finds curves of its own again, stays above its floor, and never rises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from motet.domain.arrays import Floats
from motet.estimate.loss_curve.hyperbola import FARTHEST
from motet.estimate.loss_curve.members import (
    MEMBERS,
    PARAMETERS,
    Member,
    fit_members,
    limit,
    value_at,
)

SIZE = 60
ITERATIONS = np.arange(1.0, SIZE + 1)

"""The first example waits for the kernels."""

positive = st.floats(0.01, 10)
losses = st.lists(st.floats(-100, 100), min_size=4, max_size=40)


def fitted(y: Floats) -> Floats:
    """All members' parameters for losses after iterations 1, 2, ..."""
    table = np.zeros((MEMBERS, PARAMETERS))
    fit_members(np.arange(1.0 - len(y), 1.0), y, float(len(y)), table)
    return table


def foretold(y: Floats, member: Member, ahead: int) -> float:
    """A member's predicted loss after this number of further iterations."""
    return value_at(fitted(y)[member], int(member), float(ahead))


def seen(y: Floats, member: Member) -> float:
    """The range of the reports that a member remembers."""
    window = {Member.SLAQ_LINEAR_LONG: SIZE, Member.SLAQ_SUBLINEAR_LONG: 31}.get(member, 14)
    return float(np.ptp(y[-window:]))


def slack(y: Floats, member: Member) -> float:
    """What a prediction may be off: a part of what is seen, and rounding."""
    return 1e-4 * seen(y, member) + 1e-9 * float(np.abs(y).max())


@given(height=positive, left=st.floats(0.3, 0.99), floor=st.floats(-5, 5))
@pytest.mark.parametrize("member", [Member.SLAQ_LINEAR_SHORT, Member.SLAQ_LINEAR_LONG])
def test_a_geometric_curve_is_recovered(
    member: Member, height: float, left: float, floor: float
) -> None:
    y = height * left**ITERATIONS + floor
    true = height * left ** (SIZE + 10) + floor
    assert foretold(y, member, 10) == pytest.approx(true, abs=slack(y, member))


@given(a=st.floats(0, 1), b=st.floats(0, 1), c=st.floats(0.1, 10), d=st.floats(-5, 5))
@pytest.mark.parametrize("member", [Member.SLAQ_SUBLINEAR_SHORT, Member.SLAQ_SUBLINEAR_LONG])
def test_a_sublinear_curve_is_recovered(
    member: Member, a: float, b: float, c: float, d: float
) -> None:
    def curve(k: Floats | float) -> Floats | float:
        return 1 / (a * k**2 + b * k + c) + d

    y = np.asarray(curve(ITERATIONS))
    assume(y[-1] - d < FARTHEST * seen(y, member))
    true = curve(SIZE + 10.0)
    assert foretold(y, member, 10) == pytest.approx(true, abs=slack(y, member))


@given(b0=st.floats(0.01, 1), b1=st.floats(0.1, 10), b2=st.floats(0, 5))
def test_optimus_curve_is_recovered_from_its_whole_history(b0: float, b1: float, b2: float) -> None:
    y = 1 / (b0 * ITERATIONS + b1) + b2
    assume(y[-1] - b2 < FARTHEST * np.ptp(y))
    true = 1 / (b0 * (SIZE + 10) + b1) + b2
    assert foretold(y, Member.OPTIMUS, 10) == pytest.approx(true, abs=1e-4 * np.ptp(y))


def test_a_steady_decrease_continues_for_as_many_reports_as_were_seen() -> None:
    y = 10 - 0.1 * ITERATIONS
    trend = fitted(y)[Member.LOCAL_TREND]
    assert value_at(trend, int(Member.LOCAL_TREND), 1.0) == pytest.approx(y[-1] - 0.1)
    assert limit(trend, int(Member.LOCAL_TREND)) == pytest.approx(y[-1] - 0.1 * SIZE)


def test_a_shrinking_trend_keeps_shrinking() -> None:
    y = 0.8**ITERATIONS
    assert foretold(y, Member.LOCAL_TREND, 10) == pytest.approx(0.8 ** (SIZE + 10), abs=0.1 * y[-1])


@given(losses)
def test_no_family_falls_below_its_floor_or_rises(history: list[float]) -> None:
    table = fitted(np.array(history))
    x = np.array([0.0, 0.5, 1, 5, 10, 100, 1e6])
    for member in range(MEMBERS):
        values = np.array([value_at(table[member], member, each) for each in x])
        rounding = 1e-9 * (1 + np.abs(values).max())
        assert np.isfinite(values).all()
        assert (np.diff(values) <= rounding).all()
        assert (values >= limit(table[member], member) - rounding).all()
