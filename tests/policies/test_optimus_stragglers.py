"""Optimus leaves machines that have become slow."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elastic_workloads import Row, elastic_workload, linear, rows_on
from example_count import examples
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision, Straggler
from motet.domain.errors import BadInput
from motet.domain.policy import Policy
from motet.domain.snapshot import Placement, Snapshot
from motet.domain.units import SECOND_US
from motet.engine.measurements.fitters import fitted_measurements
from motet.estimate.speed_function import SpeedMode
from motet.placement.planners import ConsolidatingPlanner
from motet.policies.optimus import Optimus
from motet.sim.experiment import Experiment
from motet.sim.replay.machine_speeds import MachinePaces
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.replay.slow_machines import PaceChange
from motet.sim.speeds.speed_model import SameEverywhere
from motet.sim.workload.workload import Workload
from policy_snapshots import measured, snapshot

THREE = ClusterSpec.of([4, 4, 4])


def two_workers(places: list[Placement], steps_left: float = 100, **others: Any) -> Snapshot:
    """Jobs of two workers that each make a step per second; machine 0 is four times as slow."""
    usual: dict[str, Any] = {"times_as_long": [4.0, 1.0, 1.0]}
    return snapshot(
        THREE,
        len(places),
        gpus=2,
        workers=2,
        min_workers=2,
        max_workers=2,
        known={"steps_left": steps_left},
        held_gpus=[sum(place.counts) for place in places],
        held_workers=[sum(place.counts) for place in places],
        places={job: place for job, place in enumerate(places) if place.counts},
        **(usual | others),
    )


ON_SLOW, NOWHERE = Placement((0,), (2,)), Placement((), ())


def test_a_job_leaves_a_slow_machine_and_the_log_states_the_reason() -> None:
    decision = Optimus().decide(two_workers([ON_SLOW]))
    assert decision.places == {0: Placement((1,), (2,))}
    assert decision.exclude == {0: Straggler(0, 4.0)}


def test_one_slow_machine_of_several_is_enough() -> None:
    """Asynchronous workers make 1 + 1/4 steps per second, and would make 2: 80 s and 50 s."""
    seen = two_workers([Placement((0, 1), (1, 1))])
    assert Optimus(rescale_s=29).decide(seen).exclude == {0: Straggler(0, 4.0)}
    assert Optimus(rescale_s=31).decide(seen).exclude == {}


@pytest.mark.parametrize(
    ("policy", "others"),
    [
        (Optimus(straggler_ratio=float("inf")), {}),
        (Optimus(straggler_ratio=4.5), {}),
        (Optimus(spread_evenly=False), {}),
        (Optimus(), {"times_as_long": None}),
        (Optimus(), {"times_as_long": [4.0, 4.0, 4.0]}),
        (Optimus(), {"steps_left": 6}),  # It ends in 12 s, elsewhere in 3 s.
        (Optimus(straggler_ratio=1.5), {"times_as_long": [1.4, 1.0, 1.0]}),
    ],
)
def test_a_job_stays_if_a_move_does_not_pay_or_speeds_are_unknown(
    policy: Optimus, others: dict[str, Any]
) -> None:
    decision = policy.decide(two_workers([ON_SLOW], **others))
    assert not decision.places
    assert not decision.exclude


def test_a_job_with_little_computation_stays_without_a_predicted_end() -> None:
    seen = two_workers([ON_SLOW], steps_left=float("nan"))
    assert Optimus().decide(seen).exclude == {0: Straggler(0, 4.0)}
    assert seen.estimates is not None
    seen.estimates.speed[:] = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]
    assert Optimus().decide(seen).exclude == {}


def test_old_measurements_expire() -> None:
    seen = two_workers([ON_SLOW], now_s=1000)
    object.__setattr__(seen, "machine_speeds", measured([4.0, 1.0, 1.0], 0, 1000, 1000))
    assert Optimus(straggler_memory_s=1000).decide(seen).places
    assert not Optimus(straggler_memory_s=999).decide(seen).places


def test_new_jobs_avoid_slow_machines() -> None:
    decision = Optimus().decide(two_workers([NOWHERE] * 4))
    assert {machine for place in decision.places.values() for machine in place.machines} == {1, 2}


def test_rather_on_a_slow_machine_than_not_at_all() -> None:
    decision = Optimus().decide(two_workers([NOWHERE] * 6))
    assert decision.gpus.tolist() == [2] * 6
    assert sum(0 in place.machines for place in decision.places.values()) == 2


def test_no_job_moves_without_room() -> None:
    places = [Placement((machine,), (2,)) for machine in (0, 0, 1, 1, 2, 2)]
    assert not Optimus().decide(two_workers(places)).places


def test_the_job_with_the_largest_gain_gets_the_room() -> None:
    places = [Placement((machine,), (2,)) for machine in (0, 0, 1, 1, 2)]
    seen = two_workers(places, steps_left=[100, 200, 100, 100, 100])  # type: ignore[arg-type]
    assert Optimus().decide(seen).places == {1: Placement((2,), (2,))}


def test_elastic_jobs_make_room_for_each_other() -> None:
    """Eight GPUs are left for two jobs that had four and eight."""
    seen = snapshot(
        THREE,
        2,
        max_workers=12,
        known={"steps_left": 1000},
        held_gpus=[4, 8],
        held_workers=[4, 8],
        places={0: Placement((0,), (4,)), 1: Placement((1, 2), (4, 4))},
        times_as_long=[4.0, 1.0, 1.0],
    )
    decision = Optimus().decide(seen)
    assert decision.gpus.tolist() == [4, 4]
    assert all(0 not in place.machines for place in decision.places.values())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("straggler_ratio", value) for value in (1.0, 0.0, float("nan"))),
        *(("straggler_memory_s", value) for value in (-1.0, float("inf"), float("nan"))),
    ],
)
def test_impossible_parameters_are_refused(name: str, value: float) -> None:
    with pytest.raises(BadInput, match=name):
        Optimus(**{name: value})


# -- simulated -------------------------------------------------------------------------------------


def run(workload: Workload, changes: list[PaceChange], policy: Policy, cost_us: int = 0) -> Outcome:
    paces, book = MachinePaces(iter(changes)), fitted_measurements()
    planner, speeds = ConsolidatingPlanner(), SameEverywhere(cost_us)
    return Simulation(
        workload, THREE, policy, planner, speeds, measurements=book, paces=paces
    ).run()


SLOW_SOON = [PaceChange(100 * SECOND_US, machine, 4.0) for machine in (0,)]


@pytest.mark.parametrize("mode", [SpeedMode.SYNC, SpeedMode.ASYNC])
def test_a_job_that_is_moved_ends_sooner(mode: SpeedMode) -> None:
    """It computes for 2000 s on three workers, and on a slow machine from 100 s on."""
    workload = elastic_workload([Row(0, 6000, 3, 3, mode=int(mode))])
    stays, moves = (
        run(workload, SLOW_SOON, Optimus(straggler_ratio=ratio), 10 * SECOND_US).columns
        for ratio in (float("inf"), 2.0)
    )
    assert moves["end_us"].max() < 0.5 * stays["end_us"].max()
    assert moves["migrations"].sum() + moves["rescales"].sum() == 1


def test_changes_for_a_slow_machine_are_limited_by_the_memory_period() -> None:
    """The job wants all twelve GPUs and tries again every time."""
    memory_s = 3000.0
    policy = Optimus(straggler_memory_s=memory_s)
    columns = run(elastic_workload([linear(0, 12 * 20_000, 12)]), SLOW_SOON, policy).columns
    passed_s = columns["end_us"][0] / SECOND_US
    changes = int(columns["rescales"][0] + columns["migrations"][0])
    assert 2 <= changes <= 1 + 2 * passed_s / memory_s
    assert passed_s < 12 * 20_000 / 8 * 1.3


def test_rigid_jobs_of_which_no_end_is_known_leave_slow_machines_too(tmp_path: Path) -> None:
    path = tmp_path / "slow.csv"
    path.write_text("machine,start,end,times_as_long\nm0,10,100000,4\n", encoding="utf-8")
    workload = Workload.of(["a"], [0], [4000 * SECOND_US], [2])
    own = {"slow_machines": str(path), "preemption_cost": "5"}
    outcome = Experiment("optimus", own).run(workload, ClusterSpec.of([4, 4]))
    # 10 s as usual until 10 s, a quarter of that until 600 s, five to move, then the rest.
    left_us = (4000 - 10 - (600 - 10) / 4) * SECOND_US
    assert outcome.columns["end_us"][0] == 605 * SECOND_US + left_us
    assert outcome.columns["migrations"].tolist() == [1]


class TruthfulAboutLeaving(Policy):
    """Every job with the reason of a slow machine is placed on other machines."""

    wants_estimates: ClassVar[bool] = True
    wants_machine_speeds: ClassVar[bool] = True

    def __init__(self, policy: Optimus) -> None:
        self._policy = policy

    def decide(self, snapshot: Snapshot) -> Decision:
        decision = self._policy.decide(snapshot)
        for row, left in decision.exclude.items():
            assert left.machine not in decision.places[row].machines
        return decision


@given(
    rows=rows_on(THREE.gpu_count),
    flips=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 2), st.floats(1, 9)), max_size=12),
    memory_s=st.sampled_from([0.0, 5.0, 1000.0]),
    rescale_s=st.sampled_from([0.0, 3.0]),
)
@settings(max_examples=examples(50))
def test_every_job_completes_its_steps_on_any_slow_machines(
    rows: list[Row], flips: list[tuple[int, int, float]], memory_s: float, rescale_s: float
) -> None:
    changes = sorted(PaceChange(at * SECOND_US, it, times) for at, it, times in flips)
    policy = Optimus(
        interval_s=7, rescale_s=rescale_s, straggler_ratio=1.5, straggler_memory_s=memory_s
    )
    workload = elastic_workload(rows)
    outcome = run(workload, changes, TruthfulAboutLeaving(policy), SECOND_US)
    assert outcome.is_finished.all()
    assert workload.work is not None
    done = np.zeros(len(workload))
    trained = outcome.trained
    np.add.at(done, trained.job, trained.last_step - trained.first_step)
    np.testing.assert_allclose(done, workload.work.steps, rtol=1e-9)
    assert (outcome.used_gpus <= THREE.gpu_count).all()
