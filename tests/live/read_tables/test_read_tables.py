"""Pages of jobs and periods of attempts, against a list that is searched in Python."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.snapshot import Placement
from motet.live.jobs.attempt import Attempt, AttemptPhase
from motet.live.jobs.job import JobArray, LiveJob
from motet.live.jobs.job_file import job_spec
from motet.live.jobs.job_state import JobState
from motet.live.read_tables.read_tables import SORT_COLUMNS, JobQuery, ReadTables
from motet.live.read_tables.rows import JobRow, attempt_row, job_row

NAMES = ("a", "a%", "ab", "b_", "B")


@st.composite
def jobs(draw: st.DrawFn) -> list[LiveJob]:
    count = draw(st.integers(0, 30))
    return [draw(job(number)) for number in range(1, count + 1)]


@st.composite
def job(draw: st.DrawFn, number: int) -> LiveJob:
    spec = {
        "name": draw(st.sampled_from(["a", "ab", "abc", "B", "z"])),
        "queue": draw(st.sampled_from(["default", "q"])),
        "priority": draw(st.integers(-2, 2)),
        "processes": draw(st.integers(1, 3)),
        "run": "true",
        "workdir": "/",
    }
    found = LiveJob(number, job_spec(spec), draw(st.sampled_from(["ann", "bob"])), 10 * number)
    begin = found.submitted_us
    for attempt in range(draw(st.integers(0, 3))):
        begin += draw(st.integers(0, 20))
        found.attempts.append(Attempt(attempt + 1, Placement((0,), (1,)), begin))
        begin += draw(st.integers(0, 20))
        found.attempts[-1].running_us = draw(st.sampled_from([None, begin]))
        if attempt < 2 or draw(st.booleans()):
            found.attempts[-1].ended_us = begin
            found.attempts[-1].phase = AttemptPhase.ENDED
    if draw(st.booleans()):
        found.end, found.ended_us = draw(st.sampled_from([*JobState][-3:])), begin
    return found


queries = st.builds(
    JobQuery,
    states=st.frozensets(st.sampled_from([*JobState])),
    queue=st.sampled_from(["", "q", "none"]),
    user=st.sampled_from(["", "ann"]),
    name=st.sampled_from(["", *NAMES]),
    sort=st.sampled_from(SORT_COLUMNS),
    descending=st.booleans(),
    page=st.integers(-1, 5),
    size=st.sampled_from([1, 7, 50]),
)


def expected(known: list[LiveJob], query: JobQuery) -> list[int]:
    rows = [
        row
        for row in map(job_row, known)
        if (not query.states or row.state in query.states)
        and query.queue in ("", row.queue)
        and query.user in ("", row.user)
        and row.name.startswith(query.name)
    ]
    rows.sort(key=lambda row: order_of(row, query.sort), reverse=query.descending)
    return [row.number for row in rows]


def order_of(row: JobRow, column: str) -> tuple[Any, ...]:
    """Without a value first."""
    value = getattr(row, column)
    return (0, row.number) if value is None else (1, value, row.number)


@given(jobs(), queries)
def test_a_page_is_a_part_of_the_sorted_list(known: list[LiveJob], query: JobQuery) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tables = ReadTables(Path(folder))
        tables.follow(known)
        found = tables.find(query)
        tables.close()
    wanted = expected(known, query)
    assert found.total == len(wanted)
    assert found.pages == max(1, -(-len(wanted) // query.size))
    assert found.page == (found.pages if query.page < 0 else min(max(1, query.page), found.pages))
    begin = (found.page - 1) * query.size
    assert list(found.numbers) == wanted[begin : begin + query.size]


@given(jobs(), st.integers(0, 400), st.integers(0, 400), st.sampled_from([1, 3, 100]))
def test_a_period_has_the_attempts_of_the_latest_jobs_in_it(
    known: list[LiveJob], begin: int, length: int, most: int
) -> None:
    end = begin + length
    with tempfile.TemporaryDirectory() as folder:
        tables = ReadTables(Path(folder))
        tables.follow(known)
        found = tables.attempts_between(begin, end, most)
        tables.close()
    inside = [
        attempt_row(each, attempt)
        for each in known
        for attempt in each.attempts
        if attempt.requested_us <= end and (attempt.ended_us is None or attempt.ended_us >= begin)
    ]
    latest = sorted({row.job for row in inside})[-most:]
    assert found == [row for row in inside if row.job in latest]


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[ReadTables]:
    found = ReadTables(tmp_path)
    yield found
    found.close()


def test_a_job_that_changes_replaces_its_row(tables: ReadTables) -> None:
    changing = LiveJob(1, job_spec({"name": "a", "run": "true", "workdir": "/"}), "ann", 5)
    tables.follow([changing])
    assert tables.counts() == {JobState.PENDING: 1}
    changing.end = JobState.CANCELLED
    tables.follow([changing])
    assert tables.counts() == {JobState.CANCELLED: 1}
    assert tables.find(JobQuery()).numbers == (1,)


def test_borrowed_memory_may_exceed_the_integers_of_sqlite(tables: ReadTables) -> None:
    borrowing = LiveJob(1, job_spec({"name": "a", "run": "true", "workdir": "/"}), "ann", 5)
    lenders = {"0": 2**63, "1": 2**63}
    borrowing.attempts.append(Attempt(1, Placement((0,), (1,)), 6, borrowed_byte_s=lenders))
    tables.follow([borrowing])
    assert [each.borrowed_byte_s for each in tables.used_slots()] == [2.0**64]


def test_what_an_earlier_attempt_has_borrowed_may_be_known_late(tables: ReadTables) -> None:
    """A lender may have been silent while later attempts began."""
    borrowing = LiveJob(1, job_spec({"name": "a", "run": "true", "workdir": "/"}), "ann", 5)
    for number in (1, 2, 3, 4):
        borrowing.attempts.append(Attempt(number, Placement((0,), (1,)), 5 + number))
    tables.follow([borrowing])
    for total in (7, 9):
        borrowing.attempts[0].borrowed_byte_s["0"] = total
        tables.follow([borrowing])
        found = [each.borrowed_byte_s for each in tables.used_slots()]
        assert found == [float(total), 0.0, 0.0, 0.0]


def test_an_array_is_a_row_with_the_state_of_its_jobs(tables: ReadTables) -> None:
    array = JobArray(1, "sweep", "ann", 5, None)
    spec = job_spec({"name": "sweep", "run": "true", "workdir": "/"})
    array.jobs = [LiveJob(number, spec, "ann", 5, array=array) for number in (2, 3)]
    alone = LiveJob(4, spec, "ann", 6)
    tables.follow([*array.jobs, alone])
    assert tables.find(JobQuery()).numbers == (4, 1)
    assert tables.find(JobQuery(array=1, descending=False)).numbers == (2, 3)
    array.jobs[0].end, array.jobs[0].ended_us = JobState.FAILED, 9
    tables.follow([array.jobs[0]])
    pending = frozenset([JobState.PENDING])
    assert tables.find(JobQuery(states=pending)).numbers == (4, 1)
    array.jobs[1].end, array.jobs[1].ended_us = JobState.SUCCEEDED, 10
    tables.follow([array.jobs[1]])
    assert tables.find(JobQuery(states=frozenset([JobState.FAILED]))).numbers == (1,)
    assert tables.counts() == {JobState.FAILED: 1, JobState.PENDING: 1, JobState.SUCCEEDED: 1}


def test_the_tables_begin_empty_after_a_restart(tmp_path: Path) -> None:
    known = LiveJob(1, job_spec({"name": "a", "run": "true", "workdir": "/"}), "ann", 5)
    first = ReadTables(tmp_path)
    first.follow([known])
    second = ReadTables(tmp_path)
    second.follow([])
    assert second.counts() == {}
    first.close()
    second.close()
