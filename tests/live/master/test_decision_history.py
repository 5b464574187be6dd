"""Rounds of decisions: every entry once, the latest first, in pages."""

from __future__ import annotations

from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from motet.domain.log_entry import LogEntry, is_wait
from motet.domain.wait import Wait
from motet.live.master.decision_history import DecisionHistory

EVENTS = ["start", "preempt", Wait.TOO_FEW_GPUS.key]
entries = st.lists(
    st.builds(LogEntry, st.integers(0, 9), st.integers(1, 4), st.sampled_from(EVENTS))
).map(lambda found: sorted(found, key=lambda each: each.time_us))


def history_of(found: list[LogEntry]) -> DecisionHistory:
    history = DecisionHistory()
    for each in found:
        history.add(each)
    return history


@given(entries, st.integers(1, 4))
def test_pages_have_every_moment_once_latest_first(found: list[LogEntry], size: int) -> None:
    history = history_of(found)
    pages = -(-history.round_count // size)
    rounds = [each for page in range(pages + 1) for each in history.rounds(page * size, size)]
    moments = [(at, [*of]) for at, of in groupby(found, lambda each: each.time_us)]
    assert [(each.time_us, each.changes, each.waits) for each in rounds] == [
        (at, [e for e in of if not is_wait(e)], [e for e in of if is_wait(e)])
        for at, of in reversed(moments)
    ]


@given(entries)
def test_a_job_has_its_entries_in_order(found: list[LogEntry]) -> None:
    history = history_of(found)
    for job in range(6):
        assert [*history.of(job)] == [each for each in found if each.job == job]
