"""Sizes of trainings by time, and the trainings on their machines."""

from __future__ import annotations

from motet.domain.snapshot import Placement
from motet.interfaces.forecasts.sizes.held_spans import HeldSpan, held_spans
from motet.live.jobs.attempt import Attempt, AttemptOutcome
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_file import job_spec

TRAINING = {"name": "fit", "kind": "ps", "app": "mlr", "data": "digits", "workdir": "/"}


def attempt(number: int, machines: tuple[int, ...], from_us: int, to_us: int | None) -> Attempt:
    place = Placement(machines, (1,) * len(machines))
    size = len(machines)
    return Attempt(number, place, from_us, size, size, ended_us=to_us)


def training(number: int, *attempts: Attempt, by_machine: bool = True) -> LiveJob:
    size = {"machines": "any"} if by_machine else {"workers": {"min": 1, "max": 4}}
    return LiveJob(number, job_spec({**TRAINING, **size}), "ann", 0, [*attempts])


def no_time(attempt: Attempt) -> int:
    del attempt
    return 0


def five_us(attempt: Attempt) -> int:
    del attempt
    return 5


def test_spans_end_where_neighbours_come_and_go() -> None:
    one = training(1, attempt(1, (0, 1), 0, 100))
    other = training(2, attempt(1, (1,), 30, 60))
    found = held_spans([one, other], 0, 100, no_time)
    assert found[1] == [
        HeldSpan(0, 30, 2, 2, ()),
        HeldSpan(30, 60, 2, 2, (2,)),
        HeldSpan(60, 100, 2, 2, ()),
    ]
    assert found[2] == [HeldSpan(30, 60, 1, 1, (1,))]


def test_a_span_tells_which_of_its_jobs_train_asynchronously() -> None:
    one = training(1, attempt(1, (0,), 0, 50), attempt(2, (0,), 50, 90))
    other = training(2, attempt(1, (0,), 30, 60))
    one.attempts[0].is_asynchronous = other.attempts[0].is_asynchronous = True
    found = held_spans([one, other], 0, 90, no_time)
    assert [(span.from_us, {*span.asynchronous}) for span in found[1]] == [
        (0, {1}),
        (30, {1, 2}),
        (50, {2}),
        (60, set()),
    ]


def test_attempts_work_after_their_start_up() -> None:
    job = training(1, attempt(1, (0,), 10, 40), attempt(2, (0, 1), 40, None))
    found = held_spans([job], 0, 90, five_us)
    assert found[1] == [HeldSpan(15, 40, 1, 1, ()), HeldSpan(45, 90, 2, 2, ())]


def test_what_an_attempt_did_after_it_was_to_stop_needs_no_slots_if_it_finished_then() -> None:
    """Else a replay would let it wait for slots for its last seconds."""
    done = attempt(1, (0,), 10, 40)
    done.stopping_us, done.outcome = 30, AttemptOutcome.SUCCEEDED
    assert held_spans([training(1, done)], 0, 90, no_time)[1] == [HeldSpan(10, 30, 1, 1, ())]
    done.outcome = AttemptOutcome.STOPPED
    assert held_spans([training(1, done)], 0, 90, no_time)[1] == [HeldSpan(10, 40, 1, 1, ())]


def test_only_the_time_of_the_period_counts() -> None:
    job = training(1, attempt(1, (0,), 10, 40), attempt(2, (0, 1), 40, None))
    assert held_spans([job], 60, 90, five_us)[1] == [HeldSpan(60, 90, 2, 2, ())]
    assert 1 not in held_spans([job], 0, 10, five_us)


def test_attempts_that_follow_each_other_at_once_are_no_neighbours() -> None:
    one = training(1, attempt(1, (0,), 0, 50))
    other = training(2, attempt(1, (0,), 50, 80))
    found = held_spans([one, other], 0, 100, no_time)
    assert [span.partners for spans in found.values() for span in spans] == [(), ()]


def test_trainings_with_slots_of_their_own_have_no_neighbours() -> None:
    one = training(1, attempt(1, (0,), 0, 50), by_machine=False)
    other = training(2, attempt(1, (0,), 10, 40))
    found = held_spans([one, other], 0, 100, no_time)
    assert (found[1], found[2]) == ([HeldSpan(0, 50, 1, 1, ())], [HeldSpan(10, 40, 1, 1, ())])
