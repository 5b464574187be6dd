"""Jobs that arrive when something else has happened."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from motet.domain.units import NEVER_US
from motet.sim.replay.agenda import Agenda
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
