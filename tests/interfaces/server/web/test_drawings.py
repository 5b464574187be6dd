"""Bars, ticks and slots stay inside of what they are drawn in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.units import SECOND_US
from motet.interfaces.server.web.drawings import HeldSlots, MachineSlots, bars, ticks
from motet.interfaces.server.web.timeline.timeline_page import PERIODS_MIN
from motet.live.read_tables.rows import AttemptRow

times = st.integers(0, 2_000_000_000_000_000)


@given(times, st.integers(1, 10**13), st.lists(st.tuples(times, st.none() | times), max_size=5))
def test_bars_lie_in_the_period(
    begin: int, length: int, spans: list[tuple[int, int | None]]
) -> None:
    end = begin + length
    rows = [
        AttemptRow(7, number, at, None, None if to is None else max(at, to), 1, "", "")
        for number, (at, to) in enumerate(spans, 1)
        if at <= end and (to is None or max(at, to) >= begin)
    ]
    for bar in bars(rows, begin, end):
        assert 0 <= bar.x <= 100
        assert bar.width > 0
        assert bar.x + bar.width <= 100.2


@given(times, st.integers(1, 10**13))
def test_an_axis_has_few_ticks_in_order(begin: int, length: int) -> None:
    found = [tick.x for tick in ticks(begin, begin + length)]
    assert found == sorted(found)
    assert all(0 <= x <= 100 for x in found)
    assert len(found) <= 20


@pytest.mark.parametrize("minutes", PERIODS_MIN)
def test_every_period_of_the_timeline_has_labels_enough(minutes: int) -> None:
    length = minutes * 90 * SECOND_US
    for begin in range(0, length, length // 7):
        assert 3 <= len(ticks(begin, begin + length)) <= 7


def test_a_preempted_attempt_says_so() -> None:
    row = AttemptRow(3, 2, 10, 12, 20, 4, "stopped", "preempted")
    (bar,) = bars([row], 0, 100)
    assert bar.title == "attempt 2: 4 slots, preempted"
    assert (bar.x, bar.width) == (10.0, 10.0)
    (bar,) = bars([AttemptRow(3, 2, 10, 12, 20, 1, "succeeded", "")], 0, 100)
    assert bar.title == "attempt 2: 1 slot, succeeded"


@given(st.lists(st.integers(0, 3), max_size=20).map(sorted))
def test_slots_of_a_machine_are_grouped_by_job(jobs: list[int]) -> None:
    machine = MachineSlots("m0", "up", tuple((job, job % 2) for job in jobs))
    again = [job for each in machine.held for job in [each.job] * each.slots]
    assert again == jobs
    assert [each.first for each in machine.held] == [jobs.index(each.job) for each in machine.held]
    assert len({each.job for each in machine.held}) == len(machine.held)


def test_free_slots_are_held_by_no_job() -> None:
    machine = MachineSlots("m0", "up", ((7, 7), (0, -1), (0, -1)))
    assert machine.held == [HeldSlots(7, 7, 0, 1), HeldSlots(0, -1, 1, 2)]


def test_a_slot_that_jobs_share_counts_once() -> None:
    machine = MachineSlots("m0", "up", ((3, 3), (4, 4), (0, -1)), 2)
    assert (machine.slots, machine.free) == (2, 1)
