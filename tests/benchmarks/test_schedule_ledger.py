"""The time of a schedule is divided completely; the model is asked about the very same stays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from motet.estimate.colocation.group_time import SubtaskTimes
from support.schedule_ledger import Ledger, ledger, steps_in, training_s
from support.schedule_stays import EpochTimes, StayTimes

STEPS = [SubtaskTimes(3.0, 1.0), SubtaskTimes(1.0, 2.0)]


def epoch(at_s: float, cycle_s: float = 5.0) -> EpochTimes:
    """Of two mini-batches."""
    return EpochTimes(at_s, 2, cycle_s, 2.0, 1.0, 0.5, 0.25, 0.125, 0.6)


def stay(job: int, began_s: float, trains_s: float | None, *epochs_s: float) -> StayTimes:
    """Which ends a second after its last epoch."""
    ended_s = 1.0 + (epochs_s[-1] if epochs_s else began_s)
    return StayTimes(job, (0,), began_s, trains_s, ended_s, [epoch(each) for each in epochs_s])


def test_every_second_of_a_job_is_counted_once() -> None:
    stays = [stay(0, 2.0, 5.0, 11.0, 17.0), stay(0, 20.0, None), stay(0, 30.0, 34.0, 40.0)]
    found = ledger(stays)
    assert found == Ledger(
        waiting=2.0 + 2.0 + 9.0,
        starting=3.0 + 1.0 + 4.0,
        computing=6.0,
        communicating=3.0,
        tokens=1.5,
        barrier=0.75,
        data=0.375,
        rest=15.0 - 11.625,
        between=(17.0 - 5.0) + (40.0 - 34.0) - 15.0,
        stopping=1.0 + 1.0,
    )
    assert found.jct_s == 41.0


def test_times_are_means_over_jobs() -> None:
    both = ledger([stay(0, 0.0, 2.0, 8.0), stay(1, 4.0, 5.0, 12.0)])
    assert both.waiting == 2.0
    assert both.starting == 1.5
    assert both.jct_s == (9.0 + 13.0) / 2


def test_a_job_counts_in_a_group_while_it_trains() -> None:
    """Alone for 8 of 16 s at 4 s each, beside the second job (eq. 4.1: 4 s; its own 3 s)."""
    stays = [stay(0, 0.0, 0.0, 8.0, 16.0), stay(1, 0.0, 8.0, 16.0)]
    steps = {(job, 1): each for job, each in enumerate(STEPS)}
    measured, modelled = training_s(stays, steps)
    assert measured == 16.0 + 8.0
    assert modelled == pytest.approx(16.0 * 4 / (8 / 4 + 8 / 4) + 8.0 * 2 / (8 / 4))


def test_steps_are_those_on_as_many_machines() -> None:
    elsewhere = replace(stay(0, 9.0, 10.0, 30.0), place=(0, 1))
    steps = steps_in([stay(0, 0.0, 1.0, 7.0, 15.0), elsewhere, stay(1, 0.0, None)], cpus=0.2)
    outside_s = (0.6 / 0.2 - 2.0) / 2
    assert steps.keys() == {(0, 1), (0, 2)}
    assert steps[0, 1][:4] == pytest.approx((1.0, 0.5, outside_s, 14.0 / 4 - 1.0 - 0.5 - 0.25))
    assert steps[0, 2][:4] == pytest.approx((1.0, 0.5, outside_s, 20.0 / 2 - 1.0 - 0.5 - 0.25))
