"""What a simulation does beside replaying policies exactly (see test_exactness)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision, Reasons
from motet.domain.policy import Policy
from motet.domain.snapshot import Snapshot
from motet.domain.units import SECOND_US
from motet.placement.planners import ConsolidatingPlanner
from motet.sim.replay import progress_watch
from motet.sim.replay.progress_watch import EndlessSimulation
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere
from motet.sim.workload.workload import Workload
from soak_cases import others_in_soak


@dataclass(frozen=True)
class TakeTurns(Policy):
    """One job after the other has the only GPU for a second."""

    def decide(self, snapshot: Snapshot) -> Decision:
        jobs = snapshot.jobs
        gpus = np.zeros(len(jobs), dtype=np.int64)
        if len(jobs):
            turn = snapshot.now_us // SECOND_US % len(jobs)
            gpus[np.argsort(jobs.number)[turn]] = 1
        reasons = Reasons((gpus == 0).astype(np.int64), gpus, np.arange(len(jobs)))
        return Decision(gpus, reasons, recheck_at_us=snapshot.now_us + SECOND_US)


def turns(cost_s: float) -> Simulation:
    workload = Workload.of(["a", "b"], [0, 0], [5 * SECOND_US] * 2, [1, 1])
    speeds = SameEverywhere(round(cost_s * SECOND_US))
    return Simulation(workload, ClusterSpec.of([1]), TakeTurns(), ConsolidatingPlanner(), speeds)


@pytest.mark.parametrize("cost_s", [1, 2])
def test_a_simulation_without_training_raises_an_error(
    cost_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_watch, "FUTILE_DECISIONS", 50)
    with pytest.raises(EndlessSimulation, match="lower preemption_cost"):
        turns(cost_s).run()


@pytest.mark.parametrize("cost_s", [0, 0.5])
def test_a_slow_simulation_continues(cost_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_watch, "FUTILE_DECISIONS", 3)
    assert turns(cost_s).run().is_finished.all()


@dataclass(frozen=True)
class AsksAtOnce(Policy):
    """Keeps what it has, and asks for a decision after `distance_us`; `gpus`: for every job."""

    distance_us: int = 1
    gpus: int = 1

    def decide(self, snapshot: Snapshot) -> Decision:
        gpus = np.full(len(snapshot.jobs), self.gpus)
        reasons = Reasons((gpus == 0).astype(np.int64), gpus, np.arange(len(gpus)))
        return Decision(gpus, reasons, recheck_at_us=snapshot.now_us + self.distance_us)


TOLD = "50 decisions, the last 50 s after the simulation began"


def asking(policy: AsksAtOnce, submit_us: int = 0) -> Simulation:
    workload = Workload.of(["a"], [submit_us], [3600 * SECOND_US], [1])
    cluster, speeds = ClusterSpec.of([1]), SameEverywhere()
    return Simulation(workload, cluster, policy, ConsolidatingPlanner(), speeds)


@pytest.mark.parametrize("gpus", others_in_soak([0, 1], [1]))
def test_a_policy_that_decides_at_every_microsecond_is_reported(gpus: int) -> None:
    with pytest.raises(EndlessSimulation, match=r"test_simulation\.py.* in decide: 10,000 deci"):
        asking(AsksAtOnce(gpus=gpus)).run()


def test_a_policy_that_asks_again_and_again_and_gives_nothing_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress_watch, "FUTILE_DECISIONS", 50)
    with pytest.raises(EndlessSimulation, match=f"{TOLD}, that start no job"):
        asking(AsksAtOnce(SECOND_US, gpus=0)).run()


def test_a_report_counts_time_from_the_first_decision_where_the_clock_is_unix_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress_watch, "FUTILE_DECISIONS", 50)
    simulation = asking(AsksAtOnce(SECOND_US, gpus=0), 1_700_000_000 * SECOND_US)
    with pytest.raises(EndlessSimulation, match=TOLD):
        simulation.run()


def test_decisions_a_tenth_of_a_second_apart_are_no_error() -> None:
    assert asking(AsksAtOnce(SECOND_US // 10)).run().is_finished.all()
