"""Requests of jobs: what is not used yet is not lent, and nothing is lent while it is taken."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from motet.remote_memory.core.head_room import MemoryUse
from motet.remote_memory.core.requested_memory import RequestedMemory


def test_a_request_counts_from_the_moment_it_is_made() -> None:
    requested = RequestedMemory()
    requested.replace({"a": 300, "b": 200})
    assert requested.unused_bytes == 500
    requested.replace({"b": 200})
    assert requested.unused_bytes == 200


def test_what_a_process_uses_counts_no_longer_and_its_surplus_for_no_other_one() -> None:
    requested = RequestedMemory()
    requested.replace({"a": 100, "b": 100})
    for _ in range(100):
        requested.measured({"a": 1000})
    assert requested.unused_bytes == 100


def test_a_repeated_request_keeps_what_was_measured() -> None:
    requested = RequestedMemory()
    requested.replace({"a": 100})
    requested.measured({"a": 100})
    before = requested.unused_bytes
    requested.replace({"a": 100, "b": 50})
    assert requested.unused_bytes == before + 50


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=30))
def test_the_sum_of_use_and_request_never_falls_while_a_process_takes_it(steps: list[int]) -> None:
    """Otherwise memory would be lent that a job is about to use."""
    requested, machine = RequestedMemory(), MemoryUse()
    machine.measured(0)
    requested.replace({"a": 1000})
    for used in sorted(steps):
        requested.measured({"a": used})
        assert machine.measured(used) + requested.unused_bytes == 1000
