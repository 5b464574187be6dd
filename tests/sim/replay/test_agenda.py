"""Jobs that arrive when something else has happened."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from motet.domain.cluster import ClusterSpec
from motet.domain.snapshot import Queues
from motet.domain.units import NEVER_US
from motet.engine.state.cluster_state import ClusterState
from motet.sim.replay.agenda import Agenda, Completions
from small_traces import workload_of


def held_agenda() -> Agenda:
    """One job at 5, two that never arrive."""
    workload = workload_of([(5, 10, 1), (6, 10, 1), (7, 10, 1)])
    held = replace(workload, arrival_us=np.array([5, NEVER_US, NEVER_US], np.int64))
    return Agenda(held, [], with_durations=False)


def test_a_released_job_arrives_with_the_columns_it_is_given() -> None:
    agenda = held_agenda()
    assert [*agenda.arrivals(agenda.next_us)] == [0]
    assert agenda.next_us == NEVER_US
    agenda.release(30, {"submit_us": 20, "priority": 3, "gpus": 9})
    assert agenda.next_us == 30
    assert [*agenda.arrivals(30)] == [1]
    columns = agenda.submitted(1)
    assert (columns["submit_us"], columns["priority"], columns["gpus"]) == (20, 3, 1)
    assert agenda.has_arrivals


def test_no_more_jobs_are_released_than_there_are() -> None:
    agenda = held_agenda()
    for _ in range(2):
        agenda.release(30, {})
    with pytest.raises(AssertionError, match="all jobs have arrived"):
        agenda.release(30, {})


def training_jobs(count: int) -> tuple[ClusterState, Completions]:
    """Jobs that are complete at 10, 20, ..."""
    state = ClusterState(ClusterSpec.uniform(1, 4), {}, {"finish_us": NEVER_US}, Queues())
    completions = Completions(state)
    for number in range(count):
        state.submitted({"number": number, "gpus": 1})
        completions.set(number, number, 10 * number + 10)
    return state, completions


def test_a_job_is_complete_at_its_last_time_alone_and_once() -> None:
    _, completions = training_jobs(2)
    for finish_us in (30, 5, 30):  # Slower, faster, slower again.
        completions.set(0, 0, finish_us)
    completions.set(1, 1, 30)
    assert completions.next_us == 30
    assert completions.take(30) == [0, 1]
    assert completions.next_us == NEVER_US


def test_jobs_that_stop_or_leave_are_not_complete() -> None:
    _, completions = training_jobs(3)
    completions.stop(0, 0)
    completions.left(1)
    assert completions.next_us == 30
    assert completions.take(20) == []


def test_former_times_do_not_pile_up() -> None:
    _, completions = training_jobs(1)
    for finish_us in range(10_000):
        completions.set(0, 0, 10_000 - finish_us)
    assert len(completions._heap) < 2_000
    assert completions.next_us == 1


def test_restored_times_are_those_of_the_column() -> None:
    state, completions = training_jobs(3)
    state.table.column("finish_us")[0] = 25
    completions.restore()
    assert [completions.take(at_us) for at_us in (10, 20, 25, 30)] == [[], [1], [0], [2]]
