"""What is refused, what is taken for a spike, and how changes are normalised."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.errors import BadInput
from motet.estimate.loss_curve.history import (
    falls,
    joined_histories,
    largest_changes,
    normalised_changes,
    usual_spacing,
    without_spikes,
)

GOOD = ([1, 2, 3], [3.0, 2.0, 1.0])


@pytest.mark.parametrize(
    ("history", "message"),
    [
        (([1, 2], [1.0, np.nan]), "history 1, report 1: loss=nan must be a number within"),
        (([1, 2], [np.inf, 1.0]), "history 1, report 0: loss=inf must be a number within"),
        (([1, 2], [1.0, -1e200]), "history 1, report 1: loss=-1e"),
        (([1, np.nan], [1.0, 1.0]), "history 1, report 1: iteration=nan must be a number"),
        (([-1, 2], [1.0, 1.0]), "history 1, report 0: iteration=-1 must be 0 or more"),
        (([1, 2, 2], [1.0, 1.0, 1.0]), "history 1, report 2: iteration=2 must be above"),
        (([], []), "history 1: iterations of shape"),
        (([1, 2], [1.0]), "history 1: iterations of shape"),
        (([[1, 2]], [[1.0, 2.0]]), "history 1: iterations of shape"),
    ],
)
def test_a_bad_history_is_refused_with_its_place(
    history: tuple[list[float], list[float]], message: str
) -> None:
    with pytest.raises(BadInput, match=message.replace("[", r"\[")):
        joined_histories([GOOD, history, GOOD])


def test_histories_are_concatenated() -> None:
    whole = joined_histories([GOOD, ([0], [5.0])])
    assert whole.iterations.tolist() == [1, 2, 3, 0]
    assert whole.losses.tolist() == [3, 2, 1, 5]
    assert whole.ends.tolist() == [3, 4]


def test_the_largest_change_is_each_jobs_own() -> None:
    whole = joined_histories([([1, 2, 3], [3.0, -2.0, -1.0]), ([0], [99.0]), ([1, 2], [5.0, 6.0])])
    assert largest_changes(whole).tolist() == [5, 0, 1]
    assert largest_changes(joined_histories([])).tolist() == []


def test_changes_are_normalised_by_the_largest_so_far() -> None:
    assert normalised_changes([10, 8, 4, 5, 5]).tolist() == [1, 1, -0.25, 0]
    assert normalised_changes([7, 7, 6]).tolist() == [0, 1]
    assert normalised_changes([7]).tolist() == []


def test_a_single_outlier_is_removed() -> None:
    y = 0.9 ** np.arange(30)
    spiked = y.copy()
    spiked[17] = 40
    assert without_spikes(spiked).tolist() == [*y[:17], y[16], *y[18:]]


def test_a_drop_that_stays_is_no_spike() -> None:
    y = np.array([5, 4.9, 4.8, 4.7, 1.0, 0.9, 0.8, 0.7])
    assert without_spikes(y).tolist() == y.tolist()


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_what_only_falls_has_no_spikes(losses: list[float]) -> None:
    y = np.array(sorted(losses, reverse=True))
    assert without_spikes(y).tolist() == y.tolist()
    assert falls(y)


def test_spacing_is_what_is_usual() -> None:
    assert usual_spacing(np.array([0.0, 10, 20, 500, 510])) == 10
    assert usual_spacing(np.array([7.0])) == 1
