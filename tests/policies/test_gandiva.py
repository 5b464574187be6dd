"""Gangs take turns, share GPUs while that pays, and move together when there is room."""

from __future__ import annotations

from typing import Any

import pytest

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.domain.model_profile import profile_of
from motet.domain.units import SECOND_US
from motet.engine.journal.decision_log import DecisionLog
from motet.placement.planners import ConsolidatingPlanner
from motet.policies.gandiva import Gandiva
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.profiled import ProfiledSpeeds
from motet.sim.speeds.speed_model import SameEverywhere, SpeedModel
from motet.sim.workload.workload import Workload


def run(
    rows: list[tuple[int, int, int]],
    policy: Gandiva,
    cluster: Any = (4,),
    model: str = "",
    log: DecisionLog | None = None,
    cost_s: int = 0,
) -> Outcome:
    machines = ClusterSpec.of(cluster)
    workload = Workload.of(
        [str(number) for number in range(len(rows))],
        [row[0] * SECOND_US for row in rows],
        [row[1] * SECOND_US for row in rows],
        [row[2] for row in rows],
        models=[model] * len(rows),
    )
    speeds: SpeedModel = SameEverywhere(cost_s * SECOND_US)
    if model:
        speeds = ProfiledSpeeds(machines.gpus, [profile_of(model)], 0)
    planner = ConsolidatingPlanner()
    return Simulation(workload, machines, policy, planner, speeds, journal=log).run()


def ends_s(outcome: Outcome) -> list[float]:
    return (outcome.columns["end_us"] / SECOND_US).tolist()


def test_gangs_share_gpus_in_time_slices() -> None:
    policy = Gandiva(quantum_s=10, packing=False)
    outcome = run([(0, 20, 4), (0, 20, 4), (0, 20, 4)], policy)
    assert ends_s(outcome) == [40, 50, 60]
    assert outcome.columns["preemptions"].tolist() == [1, 1, 1]


@pytest.mark.parametrize("cost_s", [5, 10, 25])
def test_slices_that_a_restore_would_fill_are_lengthened(cost_s: int) -> None:
    policy = Gandiva(quantum_s=10, packing=False)
    outcome = run([(0, 20, 4), (0, 20, 4), (0, 20, 4)], policy, cost_s=cost_s)
    assert outcome.is_finished.all()
    resumed = outcome.columns["preemptions"] * cost_s * SECOND_US
    assert outcome.columns["overhead_us"].tolist() == resumed.tolist()


def test_without_contention_no_job_is_preempted() -> None:
    outcome = run([(0, 35, 2), (1, 35, 2)], Gandiva(quantum_s=10))
    assert ends_s(outcome) == [35, 36]
    assert outcome.columns["preemptions"].sum() == 0


def test_two_that_leave_the_gpu_idle_run_at_once_on_the_same_gpus() -> None:
    outcome = run([(0, 95, 4), (0, 95, 4)], Gandiva(quantum_s=10), model="VGG16")
    assert ends_s(outcome) == pytest.approx([100, 100])
    assert outcome.columns["preemptions"].sum() == 0
    assert outcome.used_gpus.max() == 4


def test_packing_that_slows_down_is_undone_at_the_end_of_the_slice() -> None:
    outcome = run([(0, 20, 4), (0, 20, 4)], Gandiva(quantum_s=10))
    # Ten seconds at half speed each, then turns of ten: 15 s of work are left to both.
    assert ends_s(outcome) == [35, 40]
    assert outcome.columns["preemptions"].tolist() == [1, 2]


def test_a_job_regains_its_speed_after_its_partner_ends() -> None:
    outcome = run([(0, 10, 4), (0, 30, 4)], Gandiva(quantum_s=100))
    # Both at half speed until the first has done its 10 s, then the second alone.
    assert ends_s(outcome) == [20, 40]
    assert outcome.columns["attained_gpu_us"].tolist() == [40 * SECOND_US, 120 * SECOND_US]


def test_a_spread_job_moves_together_when_there_is_room() -> None:
    log = DecisionLog()
    policy = Gandiva(quantum_s=10, packing=False)
    outcome = run([(0, 15, 3), (0, 15, 3), (0, 60, 2)], policy, (4, 4), "", log)
    moves = [entry for entry in log if entry.event == "migrate"]
    assert [len(move.placement.machines) for move in moves] == [1]
    assert outcome.columns["migrations"].tolist() == [0, 0, 1]


def test_a_slice_must_have_a_length() -> None:
    with pytest.raises(BadInput, match="quantum_s=0"):
        Gandiva(quantum_s=0)
