"""Questions about the past find the attempts that held slots then."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from motet.live.slots.slot_history import SlotHistory, SlotHolding

times = st.integers(0, 40)
runs = st.lists(st.tuples(times, st.none() | st.integers(0, 20)), max_size=12)
"""When a job gets its slots, and for how long it holds them; None: until now."""


@given(runs=runs, from_us=times, to_us=times)
def test_only_those_that_held_slots_between_two_times_are_found(
    runs: list[tuple[int, int | None]], from_us: int, to_us: int
) -> None:
    every = [
        SlotHolding(str(job), 1, at_us, None if lasted_us is None else at_us + lasted_us)
        for job, (at_us, lasted_us) in enumerate(runs)
    ]
    wanted = {
        each
        for each in every
        if each.from_us < to_us and (each.freed_us is None or each.freed_us > from_us)
    }
    found = [*noted(every).between(from_us, to_us)]
    assert len(found) == len(wanted)
    assert {*found} == wanted


def noted(every: list[SlotHolding]) -> SlotHistory:
    """In the order of the times, as a journal has them."""
    history = SlotHistory()
    begins = [(each.from_us, 0, each) for each in every]
    ends = [(each.freed_us, 1, each) for each in every if each.freed_us is not None]
    for at_us, is_end, each in sorted(begins + ends):
        job = int(each.job)
        if is_end:
            history.ended(job, at_us)
        else:
            history.began(job, each.slots, at_us)
    return history


def test_slots_of_an_attempt_that_is_being_stopped_are_held_until_its_end() -> None:
    history = SlotHistory()
    history.began(1, 2, 10)
    history.stops(1, 20)
    assert [*history.between(15, 30)] == [SlotHolding("1", 2, 10, None, 20)]
    history.ended(1, 25)
    assert [*history.between(24, 30)] == [SlotHolding("1", 2, 10, 25, 20)]
    assert not [*history.between(25, 30)]
