"""Jobs on machines that are slow for a while."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elastic_workloads import Row, elastic_workload
from example_count import examples
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision, Reasons
from motet.domain.policy import Policy
from motet.domain.snapshot import UNKNOWN, Snapshot
from motet.domain.units import SECOND_US
from motet.engine.policy_loading.catalogue import built_in_policies
from motet.estimate.speed_function import SpeedMode, speed
from motet.placement.planners import ConsolidatingPlanner
from motet.sim.experiment import Experiment
from motet.sim.replay.machine_speeds import MachinePaces
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.replay.slow_machines import PaceChange
from motet.sim.speeds.speed_model import SameEverywhere
from motet.sim.workload.workload import Workload
from soak_cases import others_in_soak

SPEED = (3e-5, 1e-6, 2e-6, 1e-6, 1e-6, 4.0)
"""Of steps of some ten microseconds."""


@dataclass(frozen=True)
class Everything(Policy):
    """Gives every job its full request from submission on; decides every `look_us`."""

    look_us: int = 10**9
    seen: list[Snapshot] = field(default_factory=list)
    wants_machine_speeds: ClassVar[bool] = True

    def decide(self, snapshot: Snapshot) -> Decision:
        self.seen.append(snapshot)
        zeros = np.zeros(len(snapshot.jobs), dtype=np.int64)
        reasons = Reasons(zeros, zeros, np.arange(len(zeros)))
        return Decision(
            snapshot.jobs.gpus.copy(), reasons, recheck_at_us=snapshot.now_us + self.look_us
        )


def run(
    workload: Workload, changes: list[PaceChange], policy: Any = None, machines: int = 2
) -> Outcome:
    cluster, paces = ClusterSpec.uniform(machines, 4), MachinePaces(iter(changes))
    planner, speeds = ConsolidatingPlanner(), SameEverywhere()
    return Simulation(workload, cluster, policy or Everything(), planner, speeds, paces=paces).run()


def changes_of(spells: list[list[int]], times_as_long: list[float]) -> list[PaceChange]:
    """`spells`: of every machine, when it changes."""
    found = [
        PaceChange(time_us, machine, times_as_long[machine] if place % 2 == 0 else 1.0)
        for machine, times in enumerate(spells)
        for place, time_us in enumerate(sorted(times))
    ]
    return sorted(found)


def pace_at(changes: list[PaceChange], machine: int, time_us: int) -> float:
    own = [each for each in changes if each.machine == machine and each.time_us <= time_us]
    return own[-1].times_as_long if own else 1.0


spells = st.lists(st.sets(st.integers(0, 300), max_size=8).map(list), min_size=2, max_size=2)
factors = st.lists(st.floats(1.01, 20.0), min_size=2, max_size=2)


@given(spells=spells, times=factors, mode=st.sampled_from(SpeedMode), steps=st.integers(1, 30))
@settings(max_examples=examples(200))
def test_steps_are_those_of_every_microsecond_at_its_own_pace(
    spells: list[list[int]], times: list[float], mode: SpeedMode, steps: int
) -> None:
    """Half of its workers and servers are on each machine."""
    mode = SpeedMode.SYNC if mode == SpeedMode.UNKNOWN else mode
    changes = changes_of(spells, times)
    workload = elastic_workload([Row(0, steps, 6, 6, 2, 2, 1, int(mode), SPEED)])
    end_us, done = 0, Fraction(0)
    while done < steps * SECOND_US:
        paces = [pace_at(changes, machine, end_us) for machine in range(2)]
        if mode == SpeedMode.SYNC:
            done += Fraction(speed(mode, SPEED, 6, 2, max(paces)))
        else:
            done += sum(Fraction(speed(mode, SPEED, 6, 2, pace)) for pace in paces) / 2
        end_us += 1
    found = int(run(workload, changes).columns["end_us"][0])
    # The mean of workers' speeds is rounded as floating point is, a single speed is not.
    assert abs(found - end_us) <= (mode == SpeedMode.ASYNC)


@given(spells=spells, times=factors, duration_us=st.integers(1, 400))
def test_a_rigid_job_runs_at_the_pace_of_its_slowest_machine(
    spells: list[list[int]], times: list[float], duration_us: int
) -> None:
    """What it has left is whole microseconds of work: at each change, as at every change of speed,
    it may become almost one more or less, which takes longer on a slow machine."""
    changes = changes_of(spells, times)
    workload = Workload.of(["a"], [0], [duration_us], [8])
    end_us, done = 0, 0
    while done < duration_us * 10_000:
        done += round(10_000 / max(pace_at(changes, machine, end_us) for machine in range(2)))
        end_us += 1
    found = int(run(workload, changes).columns["end_us"][0])
    slowest = max(times)
    passed = sum(change.time_us < end_us for change in changes)
    rounded_us = (passed + 1) * slowest
    assert end_us - rounded_us <= found <= end_us + rounded_us


def test_jobs_on_other_machines_keep_their_speed() -> None:
    workload = Workload.of(["a", "b"], [0, 0], [100, 100], [4, 4])
    outcome = run(workload, [PaceChange(50, 1, 2.0)])
    assert sorted(outcome.columns["end_us"].tolist()) == [100, 150]


def test_only_a_currently_slow_machine_slows_a_new_job() -> None:
    workload = Workload.of(["a"], [100], [100], [4])
    for until_us, end_us in ((90, 200), (1000, 300), (150, 225)):
        changes = [PaceChange(10, 0, 2.0), PaceChange(until_us, 0, 1.0)]
        assert run(workload, changes, machines=1).columns["end_us"].tolist() == [end_us]


def test_a_pace_without_end_does_not_keep_a_simulation_from_ending() -> None:
    flips = (PaceChange(time_us, 0, 1.0 + time_us % 2) for time_us in range(10**18))
    workload = Workload.of(["a"], [0], [100], [4])
    paces, planner = MachinePaces(flips), ConsolidatingPlanner()
    cluster = ClusterSpec.of([4])
    simulation = Simulation(workload, cluster, Everything(), planner, SameEverywhere(), paces=paces)
    assert simulation.run().is_finished.all()


# -- what is measured ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Notes(Everything):
    """Keeps what it saw of the machines, which changes afterwards."""

    notes: list[tuple[int, list[float], list[int]]] = field(default_factory=list)

    def decide(self, snapshot: Snapshot) -> Decision:
        assert snapshot.machine_speeds is not None
        times, when = snapshot.machine_speeds.times_as_long, snapshot.machine_speeds.measured_us
        assert not times.flags.writeable
        assert not when.flags.writeable
        self.notes.append((snapshot.now_us, times.tolist(), when.tolist()))
        return super().decide(snapshot)


def test_a_machine_is_measured_by_its_jobs_and_remembered() -> None:
    policy = Notes(look_us=30)
    workload = Workload.of(["a", "b"], [0, 100], [60, 100], [4, 4])
    changes = [PaceChange(10, 0, 2.0), PaceChange(10, 1, 3.0), PaceChange(160, 0, 1.0)]
    run(workload, changes, policy)
    assert policy.notes[:7] == [
        (0, [1.0, 1.0], [UNKNOWN, UNKNOWN]),
        (30, [2.0, 1.0], [30, UNKNOWN]),
        (60, [2.0, 1.0], [60, UNKNOWN]),
        (90, [2.0, 1.0], [90, UNKNOWN]),
        (100, [2.0, 1.0], [100, UNKNOWN]),
        (110, [2.0, 3.0], [100, 110]),
        (140, [2.0, 3.0], [100, 140]),
    ]
    assert policy.notes[-1][1:] == ([2.0, 3.0], [100, 380])


def test_machines_are_measured_only_for_policies_that_want_it() -> None:
    @dataclass(frozen=True)
    class Indifferent(Everything):
        wants_machine_speeds: ClassVar[bool] = False

    policy = Indifferent(look_us=30)
    run(Workload.of(["a"], [0], [60], [4]), [PaceChange(10, 0, 2.0)], policy)
    assert {snapshot.machine_speeds for snapshot in policy.seen} == {None}
    policy = Everything(look_us=30)
    run(Workload.of(["a"], [0], [60], [4]), [], policy)
    assert {snapshot.machine_speeds for snapshot in policy.seen} == {None}


# -- every policy ----------------------------------------------------------------------------------


def small_workload() -> Workload:
    rows = [
        Row(0, 0, 2, 2, duration_s=300),
        Row(5, 400, 2, 6, 1, 3, 1, int(SpeedMode.ASYNC), (1.0, 0.1, 0.01, 0.01, 0.0, 1.0)),
        Row(9, 600, 3, 6, mode=int(SpeedMode.SYNC), speed=(1.0, 0.1, 0.01, 0.01, 0.0, 4.0)),
        Row(40, 0, 5, 5, duration_s=100),
        Row(40, 300, 1, 4),
    ]
    return elastic_workload(rows)


@pytest.mark.parametrize(
    "name",
    others_in_soak(
        sorted(built_in_policies()), ["fifo", "gandiva", "harmony", "optimus", "tiresias-las"]
    ),
)
def test_every_policy_copes_and_the_same_seed_gives_the_same(name: str) -> None:
    cluster, settings = ClusterSpec.of([4, 2, 2]), {"slow_machines": "0.3,60,4"}
    one, again, other, usual = (
        Experiment(name, own, seed).run(small_workload(), cluster)
        for own, seed in ((settings, 0), (settings, 0), (settings, 1), ({}, 0))
    )
    assert one.is_finished.all()
    for column, values in one.columns.items():
        np.testing.assert_array_equal(values, again.columns[column])
    assert one.columns["end_us"].tolist() != other.columns["end_us"].tolist()
    assert one.columns["end_us"].sum() > usual.columns["end_us"].sum()


def test_parameters_list_slow_machines_only_if_set() -> None:
    plain, slow = Experiment("fifo"), Experiment("fifo", {"slow_machines": "0.3,60,4"})
    assert "slow_machines" not in plain.parameters()
    assert slow.parameters()["slow_machines"] == "0.3,60,4"
    assert (plain.draws_lots, slow.draws_lots) == (False, True)


def test_time_slices_end_however_often_machines_change_their_pace() -> None:
    """Policies see when a job was restored, not when its speed changed last."""
    two = Workload.of(["a", "b"], [0, 0], [400 * SECOND_US] * 2, [4, 4])
    changes = [
        PaceChange(at * SECOND_US, 0, 1.001 if at % 40 else 1.0) for at in range(20, 2000, 20)
    ]
    gandiva = built_in_policies()["gandiva"]
    slices = [
        run(two, each, gandiva(quantum_s=30, packing=False), machines=1).columns["preemptions"]  # type: ignore[call-arg]
        for each in ([], changes)
    ]
    assert slices[0].min() > 0
    np.testing.assert_array_equal(slices[0], slices[1])
