"""Workers of a job by step, and what an Aggregator has to be told of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.aggregation.master.state.worker_schedule import WorkerSchedule, WorkerSet


def schedule(*sets: tuple[int, tuple[int, ...]]) -> WorkerSchedule:
    return WorkerSchedule(tuple(WorkerSet(step, ranks) for step, ranks in sets))


def test_a_worker_joins_from_its_step_on() -> None:
    joined = WorkerSchedule.of(2).with_rank(2, 40)
    assert joined == schedule((1, (0, 1)), (40, (0, 1, 2)))
    assert (joined.first_step(2), joined.first_step(0)) == (40, 1)


def test_a_worker_that_leaves_early_is_in_no_later_set() -> None:
    joined = WorkerSchedule.of(2).with_rank(2, 40)
    assert joined.without_rank(1, 30) == schedule((1, (0, 1)), (30, (0,)), (40, (0, 2)))


def test_workers_that_would_join_later_join_at_once_when_no_other_is_left() -> None:
    joined = WorkerSchedule.of(1).with_rank(1, 40)
    assert joined.without_rank(0, 30) == schedule((1, (0,)), (30, (1,)))


def test_a_job_may_have_no_workers_for_a_while() -> None:
    empty = WorkerSchedule.of(1).without_rank(0, 30)
    assert empty == schedule((1, (0,)), (30, ()))
    assert empty.with_rank(0, 31).ranks == (0,)


def test_a_join_can_be_put_off() -> None:
    joined = WorkerSchedule.of(1).with_rank(1, 40).with_rank(2, 50)
    assert joined.with_later_join(40, 60) == schedule((1, (0,)), (60, (0, 1, 2)))


@pytest.mark.parametrize(
    ("step", "left"),
    [(39, ((1, (0,)), (40, (0, 1)))), (40, ((40, (0, 1)),)), (99, ((40, (0, 1)),))],
)
def test_sets_of_applied_steps_are_forgotten(
    step: int, left: tuple[tuple[int, tuple[int, ...]], ...]
) -> None:
    assert WorkerSchedule.of(1).with_rank(1, 40).since(step) == schedule(*left)


changes = st.lists(
    st.tuples(
        st.sampled_from(["join", "leave", "put off", "forget"]),
        st.integers(0, 3),
        st.integers(1, 20),
        st.booleans(),
    ),
    max_size=8,
)


@given(changes)
def test_an_aggregator_that_is_told_one_set_after_the_other_knows_the_schedule(
    changes: list[tuple[str, int, int, bool]],
) -> None:
    """As Aggregators do: a set replaces those from its step on."""
    known = WorkerSchedule.of(2)
    told: tuple[WorkerSet, ...] = ()
    applied = 0
    for kind, rank, steps, is_told in changes:
        match kind:
            case "join":
                known = known.with_rank(rank, applied + steps)
            case "leave":
                known = known.without_rank(rank, applied + steps)
            case "put off":
                known = known.with_later_join(applied + steps, applied + 2 * steps)
            case _:
                applied += steps
                known = known.since(applied)
        if is_told:
            told = told_all(known, told)
    told = told_all(known, told)
    for step in range(applied or 1, applied + 60):
        assert in_force(told, step) == in_force(known.sets, step)


def told_all(known: WorkerSchedule, told: tuple[WorkerSet, ...]) -> tuple[WorkerSet, ...]:
    for _ in range(20):
        following = known.next_for(told)
        if following is None:
            return told
        told = (*(each for each in told if each.from_step < following.from_step), following)
    raise AssertionError("no end")


def in_force(sets: tuple[WorkerSet, ...], step: int) -> tuple[int, ...]:
    return [each for each in sets if each.from_step <= step][-1].ranks
