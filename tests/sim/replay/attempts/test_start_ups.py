"""Starts and preemptions that take time: slots are held, no service is attained; a preemption
withdraws a start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from motet.domain.cluster import ClusterSpec
from motet.domain.events import Cancelled, MachineCame, MachineLeft, Suspended
from motet.domain.snapshot import UNKNOWN
from motet.domain.units import SECOND_US
from motet.sim.experiment import Experiment
from motet.sim.replay.outcome import Outcome
from motet.sim.workload.interventions import TimedEvent
from motet.sim.workload.workload import Workload


def outcome(
    rows: list[tuple[float, float, int]],
    policy: str,
    start_up_s: Callable[[int], float],
    timeline: tuple[TimedEvent, ...] = (),
    stop_s: float = 0.0,
    finishes_within_s: float = -1.0,
    **settings: str,
) -> Outcome:
    """Of (submission, duration, GPUs) on two GPUs."""
    columns = np.array([(s * SECOND_US, d * SECOND_US, g) for s, d, g in rows], np.int64).T
    workload = Workload.of(tuple(map(str, range(len(rows)))), *columns)
    experiment = Experiment(policy, {"placement": "count", "preemption_cost": "0", **settings})
    simulation = experiment.simulation(workload, ClusterSpec.of([2]), None, timeline)
    simulation.take_time_to_start(lambda job: round(start_up_s(job) * SECOND_US))
    simulation.take_time_to_stop(
        lambda job: round(stop_s * SECOND_US),
        lambda job, left_us: left_us <= finishes_within_s * SECOND_US,
    )
    return simulation.run()


def ends_s(found: Outcome) -> list[float]:
    return [each / SECOND_US for each in found.columns["end_us"].tolist()]


def test_a_job_holds_its_slots_while_it_starts() -> None:
    found = outcome([(0, 10, 2), (0, 5, 2)], "fifo", lambda job: 3.0)
    assert ends_s(found) == [13.0, 21.0]


def test_each_start_takes_its_own_time() -> None:
    found = outcome([(0, 10, 1), (0, 10, 1)], "fifo", lambda job: [0.0, 4.0][job])
    assert ends_s(found) == [10.0, 14.0]


def test_a_starting_job_attains_no_service() -> None:
    """The first job is demoted after 8 GPU-seconds, four seconds after its processes run."""
    rows = [(0.0, 10.0, 2), (1.0, 2.0, 2)]
    settings = {"thresholds": "8", "quantum_s": "1"}
    at_once = outcome(rows, "tiresias-las", lambda job: 0.0, **settings)
    later = outcome(rows, "tiresias-las", lambda job: 3.0 * (job == 0), **settings)
    assert ends_s(at_once)[1] == 4 + 2
    assert ends_s(later)[1] == 3 + 4 + 2


def test_a_preempted_start_is_begun_again() -> None:
    rows = [(0.0, 10.0, 2), (1.0, 2.0, 2)]
    settings = {"thresholds": "8", "quantum_s": "1"}
    found = outcome(rows, "tiresias-las", lambda job: 1.0, **settings)
    # The first job runs from 1 to 5, the second one from 6 to 8, the first one again from 9 on.
    assert ends_s(found) == [15.0, 8.0]


def test_a_suspended_start_is_withdrawn() -> None:
    suspended = ((SECOND_US, Suspended(0)),)
    found = outcome([(0, 10, 2), (0, 5, 2)], "fifo", lambda job: 3.0, suspended)
    assert found.columns["end_us"][0] == UNKNOWN
    assert ends_s(found)[1] == 9.0


def test_slots_of_a_preempted_job_are_free_when_it_has_stopped() -> None:
    rows = [(0.0, 10.0, 2), (1.0, 2.0, 2)]
    settings = {"thresholds": "8", "quantum_s": "1"}
    found = outcome(rows, "tiresias-las", lambda job: 0.0, stop_s=3.0, **settings)
    # The first job runs until 4 and has stopped at 7; the second one runs until 9.
    assert ends_s(found) == [9 + 6.0, 9.0]


def test_a_job_that_is_about_to_finish_does_so_instead_of_being_preempted() -> None:
    rows = [(0.0, 5.0, 2), (1.0, 2.0, 2)]
    settings: dict[str, Any] = {"thresholds": "8", "quantum_s": "1", "stop_s": 0.5}
    settings["finishes_within_s"] = 1.0
    found = outcome(rows, "tiresias-las", lambda job: 0.0, **settings)
    assert ends_s(found) == [4.5, 6.5]
    settings["finishes_within_s"] = 0.9
    assert ends_s(outcome(rows, "tiresias-las", lambda job: 0.0, **settings)) == [8.0, 6.5]


def test_a_job_that_is_cancelled_while_it_stops_gives_its_slots_back_then() -> None:
    rows = [(0.0, 10.0, 2), (1.0, 2.0, 2)]
    cancelled = ((5 * SECOND_US, Cancelled(0)),)
    settings: dict[str, Any] = {"thresholds": "8", "quantum_s": "1", "stop_s": 3.0}
    settings["finishes_within_s"] = 9.0
    found = outcome(rows, "tiresias-las", lambda job: 0.0, cancelled, **settings)
    assert ends_s(found)[1] == 9.0
    assert found.columns["end_us"][0] == UNKNOWN


def lost_at(lost_s: float, back_s: float, machine: int = 1) -> tuple[TimedEvent, ...]:
    lost_us, back_us = round(lost_s * SECOND_US), round(back_s * SECOND_US)
    return (lost_us, MachineLeft(machine)), (back_us, MachineCame(machine))


def losing(
    rows: list[tuple[float, float, int]],
    timeline: tuple[TimedEvent, ...],
    start_up_s: float = 0.0,
    policy: str = "fifo",
) -> list[float]:
    """Ends of jobs on two machines with a GPU each, whose losses take five seconds."""
    columns = np.array([(s * SECOND_US, d * SECOND_US, g) for s, d, g in rows], np.int64).T
    workload = Workload.of(tuple(map(str, range(len(rows)))), *columns)
    experiment = Experiment(policy, {"placement": "count", "preemption_cost": "0"})
    simulation = experiment.simulation(workload, ClusterSpec.of([1, 1]), None, timeline)
    simulation.take_time_to_start(lambda job: round(start_up_s * SECOND_US))
    simulation.take_time_to_lose(lambda job: 5 * SECOND_US)
    return ends_s(simulation.run())


def test_a_job_that_lost_a_machine_goes_on_when_the_loss_is_over() -> None:
    assert losing([(0, 10, 2)], lost_at(4, 6)) == [15.0]
    assert losing([(0, 10, 2)], lost_at(4, 30)) == [36.0]


def test_a_job_that_loses_its_next_machine_before_the_loss_is_over_waits_on() -> None:
    timeline = (*lost_at(4, 5), *lost_at(6, 7))
    assert losing([(0, 10, 2)], timeline) == [15.0]


def test_a_job_that_lost_a_machine_keeps_the_slots_of_the_others_until_then() -> None:
    """The second job fits on the machine that is left, and gets it when the loss is over."""
    assert losing([(0, 10, 2), (6, 2, 1)], lost_at(4, 30), policy="best-effort") == [36.0, 11.0]


def test_a_start_is_withdrawn_when_a_machine_is_lost() -> None:
    assert losing([(0, 10, 2)], lost_at(2, 3), start_up_s=3.0) == [20.0]
