"""Sums of usage against sums over every second."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.units import SECOND_US
from motet.live.read_tables.usage import USAGE_KEYS, UsedSlots, usage_sums

END_OF_YEAR_S = int(datetime(2026, 12, 31, 23, 59, 0, tzinfo=UTC).timestamp())


def us(second: int) -> int:
    return (END_OF_YEAR_S + second) * SECOND_US


@st.composite
def attempts_of_jobs(draw: st.DrawFn) -> list[UsedSlots]:
    rows = []
    for job in range(1, draw(st.integers(1, 5)) + 1):
        at = draw(st.integers(0, 60))
        who = draw(st.sampled_from("ab")), draw(st.sampled_from("pq")), us(at)
        spans = draw(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 60)), max_size=3))
        for wait, run in spans:
            begin, at = at + wait, at + wait + run
            cause = draw(st.sampled_from(["", "preempted", "suspended"]))
            slots, outcome = (
                draw(st.integers(1, 4)),
                draw(st.sampled_from(["stopped", "succeeded"])),
            )
            row = UsedSlots(job, *who, us(begin), us(at), slots, cause, outcome=outcome)
            rows.append(row)
        if not spans:
            rows.append(UsedSlots(job, *who, None, None, None, None))
    return rows


@settings(max_examples=examples(100))
@given(
    rows=attempts_of_jobs(),
    by=st.lists(st.sampled_from(USAGE_KEYS), unique=True),
    begin=st.integers(-10, 80),
    length=st.integers(0, 300),
)
def test_sums_are_those_over_every_second(
    rows: list[UsedSlots], by: Any, begin: int, length: int
) -> None:
    end = begin + length
    slots, jobs, preemptions = Counter[Any](), Counter[Any](), Counter[Any]()

    def key(row: UsedSlots, second: int) -> tuple[str, ...]:
        month = "2026-12" if second < 60 else "2027-01"
        values = {"user": row.user, "queue": row.queue, "month": month}
        return tuple(values[each] for each in by)

    for row in rows:
        for second in range(begin, end):
            if row.requested_us is not None and row.requested_us <= us(second) < row.ended_us:
                slots[key(row, second)] += row.processes
        took_effect = row.stop_cause == "preempted" and row.outcome != "succeeded"
        if took_effect and us(begin) <= row.ended_us < us(end):
            preemptions[key(row, row.ended_us // SECOND_US - END_OF_YEAR_S)] += 1
    for row in {row.job: row for row in rows}.values():
        if us(begin) <= row.submitted_us < us(end):
            jobs[key(row, row.submitted_us // SECOND_US - END_OF_YEAR_S)] += 1
    found = usage_sums(rows, by, us(begin), us(end))
    assert [each.keys for each in found] == sorted(slots.keys() | jobs.keys() | preemptions.keys())
    for each in found:
        assert each.slot_hours == pytest.approx(slots[each.keys] / 3600)
        assert (each.jobs, each.preemptions) == (jobs[each.keys], preemptions[each.keys])
        assert each.started <= each.jobs


def test_a_running_attempt_lasts_until_the_end_of_the_period_and_waits_are_to_first_slots() -> None:
    rows = [
        UsedSlots(1, "ann", "ml", us(0), us(10), us(20), 1, "preempted"),
        UsedSlots(1, "ann", "ml", us(0), us(40), None, 2, ""),
        UsedSlots(2, "ann", "ml", us(5), us(35), us(36), 1, ""),
    ]
    (found,) = usage_sums(rows, ("user",), 0, us(50))
    assert found.slot_hours == pytest.approx((10 + 2 * 10 + 1) / 3600)
    assert (found.jobs, found.started, found.preemptions) == (2, 2, 1)
    assert (found.mean_wait_s, found.median_wait_s) == (20, 20)
