"""Profiles: eq. 4.2 from one number of machines, the correction from several, moving averages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.errors import BadInput
from motet.estimate.colocation.group_time import SubtaskTimes
from motet.estimate.colocation.subtask_profile import WINDOW, SubtaskProfile

SECONDS = st.floats(0.01, 100)
COUNTS = st.integers(1, 64)


def profile_of(comp_s_by_machines: dict[int, float]) -> SubtaskProfile:
    (first, comp_s), *rest = comp_s_by_machines.items()
    profile = SubtaskProfile.of(first, comp_s, 1.0)
    for machines, comp_s in rest:
        profile = profile.measured(machines, comp_s, 1.0)
    return profile


@given(COUNTS, SECONDS, SECONDS, COUNTS)
def test_after_one_measurement_comp_is_inverse_to_the_machines(
    machines: int, comp_s: float, comm_s: float, others: int
) -> None:
    times = SubtaskProfile.of(machines, comp_s, comm_s).at(others)
    assert times.comp_s == pytest.approx(comp_s * machines / others)
    assert times.comm_s == pytest.approx(comm_s)


@given(st.floats(0.1, 100), st.floats(0, 10), st.sets(COUNTS, min_size=2, max_size=5), COUNTS)
def test_a_part_that_machines_do_not_divide_is_found(
    divided_s: float, constant_s: float, counts: set[int], others: int
) -> None:
    profile = profile_of({m: divided_s / m + constant_s for m in counts})
    assert profile.at(others).comp_s == pytest.approx(divided_s / others + constant_s, rel=1e-5)


@given(st.dictionaries(COUNTS, SECONDS, min_size=1, max_size=5), COUNTS)
def test_more_machines_never_lengthen_comp_and_divide_it_at_most_evenly(
    measured: dict[int, float], machines: int
) -> None:
    profile = profile_of(measured)
    now_s, twice_s = profile.at(machines).comp_s, profile.at(2 * machines).comp_s
    assert now_s > 0
    assert now_s / 2 * (1 - 1e-9) <= twice_s <= now_s * (1 + 1e-9)


def test_comp_that_grows_with_the_machines_is_taken_as_constant() -> None:
    profile = profile_of({1: 1.0, 4: 4.0})
    assert profile.at(1).comp_s == profile.at(4).comp_s
    assert 1 < profile.at(1).comp_s < 4


@given(st.lists(st.tuples(SECONDS, SECONDS), min_size=1, max_size=2 * WINDOW))
def test_averages_stay_within_what_was_measured(samples: list[tuple[float, float]]) -> None:
    profile = SubtaskProfile.of(8, *samples[0])
    for comp_s, comm_s in samples[1:]:
        profile = profile.measured(8, comp_s, comm_s)
    times = profile.at(8)
    for value, kind in ((times.comp_s, 0), (times.comm_s, 1)):
        seen = [sample[kind] for sample in samples]
        assert min(seen) * (1 - 1e-9) <= value <= max(seen) * (1 + 1e-9)


def test_the_first_samples_count_alike_and_later_ones_replace_older_ones() -> None:
    profile = SubtaskProfile.of(4, 1.0, 1.0).measured(4, 3.0, 2.0)
    assert profile.at(4)[:4] == pytest.approx((2.0, 1.5, 0.0, 0.0))
    for _ in range(10 * WINDOW):
        profile = profile.measured(4, 5.0, 0.5)
    assert profile.at(4)[:4] == pytest.approx((5.0, 0.5, 0.0, 0.0), rel=1e-3)


def test_cpu_time_outside_of_comp_is_averaged_like_comm_and_does_not_depend_on_the_machines() -> (
    None
):
    profile = SubtaskProfile.of(4, 1.0, 1.0, 0.25).measured(4, 1.0, 1.0, 0.75)
    assert [profile.at(machines).outside_s for machines in (1, 4, 9)] == [0.5, 0.5, 0.5]
    assert profile.measured(2, 2.0, 1.0, 0.8).at(4).outside_s == pytest.approx(0.6)
    with pytest.raises(
        BadInput, match=r"outside_s=-1\.0: the seconds outside of COMP are 0 or more"
    ):
        profile.measured(4, 1.0, 1.0, -1.0)


@pytest.mark.parametrize(
    ("machines", "comp_s", "comm_s", "said"),
    [
        (0, 1.0, 1.0, "machines=0: a measurement is on at least 1"),
        (1, 0.0, 1.0, r"comp_s=0\.0: the seconds of COMP are above 0"),
        (1, float("nan"), 1.0, "comp_s=nan"),
        (1, 1.0, -1.0, r"comm_s=-1\.0: the seconds of COMM are 0 or more"),
    ],
)
def test_measurements_without_meaning_are_refused(
    machines: int, comp_s: float, comm_s: float, said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        SubtaskProfile.of(machines, comp_s, comm_s)
    with pytest.raises(BadInput, match=said):
        SubtaskProfile.of(1, 1.0, 1.0).measured(machines, comp_s, comm_s)


def test_a_prediction_needs_a_machine_and_a_profile_a_measurement() -> None:
    with pytest.raises(BadInput, match="machines=0: a job runs on at least 1"):
        SubtaskProfile.of(1, 1.0, 1.0).at(0)
    with pytest.raises(BadInput, match="give at least one"):
        SubtaskProfile(())


def test_a_profile_after_an_iteration_keeps_all_but_the_gap() -> None:
    first = SubtaskProfile.after(None, 2, SubtaskTimes(4.0, 1.0, 0.5, gap_s=3.0))
    second = SubtaskProfile.after(first, 2, SubtaskTimes(2.0, 3.0, 1.5))
    assert first == SubtaskProfile.of(2, 4.0, 1.0, 0.5)
    assert second.at(2)[:4] == pytest.approx((3.0, 2.0, 1.0, 0.0))
