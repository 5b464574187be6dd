"""PACKLIMIT is the threshold that is wrong least often."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

from motet.estimate.pack_limit import PackLimit

skews = st.integers(1, 20).map(lambda part: part / 20)
samples = st.lists(st.tuples(skews, st.booleans()), min_size=1, max_size=25)


def fitted(seen: list[tuple[float, bool]], prior: float = 0.3) -> float:
    limit = PackLimit(prior)
    for skew, is_hurt in seen:
        limit.add(skew, is_hurt)
    return limit.limit


def wrong(seen: list[tuple[float, bool]], limit: float) -> int:
    return sum((skew > limit) != is_hurt for skew, is_hurt in seen)


@given(samples)
def test_no_threshold_is_wrong_less_often(seen: list[tuple[float, bool]]) -> None:
    if {is_hurt for _, is_hurt in seen} == {False, True}:
        everywhere = np.arange(0, 1.01, 0.025)
        assert wrong(seen, fitted(seen)) == min(wrong(seen, limit) for limit in everywhere)


@given(samples, st.floats(0, 1))
def test_the_prior_holds_until_both_kinds_were_seen(
    seen: list[tuple[float, bool]], prior: float
) -> None:
    if len({is_hurt for _, is_hurt in seen}) == 1:
        assert fitted(seen, prior) == prior


@given(samples, st.randoms())
def test_the_order_of_the_samples_does_not_matter(
    seen: list[tuple[float, bool]], lot: object
) -> None:
    shuffled = list(seen)
    lot.shuffle(shuffled)  # type: ignore[attr-defined]
    assert fitted(shuffled) == fitted(seen)


def test_kinds_that_can_be_separated_are_separated_where_a_linear_svm_does() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        harmless, harmful = rng.uniform(0.01, 0.4, 8), rng.uniform(0.5, 0.9, 5)
        seen = [(float(s), False) for s in harmless] + [(float(s), True) for s in harmful]
        machine = SVC(kernel="linear", C=1e8).fit([[s] for s, _ in seen], [k for _, k in seen])
        boundary = -machine.intercept_[0] / machine.coef_[0, 0]
        assert fitted(seen) == pytest.approx(boundary, abs=1e-3)


def test_the_limit_follows_what_is_seen() -> None:
    limit = PackLimit(0.3)
    limit.add(0.1, False)
    assert limit.limit == 0.3
    limit.add(0.7, True)
    assert limit.limit == pytest.approx(0.4)
    limit.add(0.3, True)
    assert limit.limit == pytest.approx(0.2)
