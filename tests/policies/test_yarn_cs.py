"""First in, first out on few machines: the head of the line waits for them, and all behind it."""

from __future__ import annotations

import pytest

from motet.domain.cluster import Cluster
from motet.domain.decision import Wait
from motet.domain.errors import BadInput
from motet.domain.units import SECOND_US
from motet.engine.decision_log import DecisionLog
from motet.placement.planners import ConsolidatingPlanner
from motet.policies.yarn_cs import YarnCs
from motet.sim.outcome import Outcome
from motet.sim.simulation import SameEverywhere, Simulation
from motet.sim.workload import Workload


def run(rows: list[tuple[int, int, int]], policy: YarnCs) -> tuple[Outcome, DecisionLog]:
    workload = Workload.of(
        [str(number) for number in range(len(rows))],
        [row[0] * SECOND_US for row in rows],
        [row[1] * SECOND_US for row in rows],
        [row[2] for row in rows],
    )
    log, cluster = DecisionLog(), Cluster.of([4, 4])
    planner = ConsolidatingPlanner()
    simulation = Simulation(workload, cluster, policy, planner, SameEverywhere(), None, log)
    return simulation.run(), log


def starts_s(outcome: Outcome) -> list[float]:
    return (outcome.columns["start_us"] / SECOND_US).tolist()


# Two jobs of one GPU keep both machines from being empty until 30 s.
HALF_USED = [(0, 30, 1), (0, 50, 1)]


def test_the_head_waits_for_one_machine_though_enough_gpus_are_free() -> None:
    outcome, log = run([*HALF_USED, (1, 10, 4)], YarnCs())
    assert starts_s(outcome) == [0, 0, 30]
    assert [entry.event for entry in log if entry.job == 2] == ["locality", "start"]
    assert outcome.waited_us[Wait.LOCALITY, 2] == 29 * SECOND_US


def test_nobody_overtakes_the_head() -> None:
    outcome, log = run([*HALF_USED, (1, 10, 4), (2, 5, 1)], YarnCs())
    assert starts_s(outcome) == [0, 0, 30, 30]
    assert next(entry.event for entry in log if entry.job == 3) == "behind_head"


def test_after_its_patience_the_head_takes_what_there_is() -> None:
    outcome, _ = run([*HALF_USED, (1, 10, 4)], YarnCs(locality_wait_s=12))
    assert starts_s(outcome) == [0, 0, 13]


def test_a_gang_that_is_larger_than_a_machine_gets_whole_ones() -> None:
    outcome, _ = run([(0, 20, 1), (0, 5, 8), (0, 5, 2)], YarnCs())
    assert starts_s(outcome) == [0, 20, 25]


def test_patience_is_not_negative() -> None:
    with pytest.raises(BadInput, match="locality_wait_s=-1"):
        YarnCs(locality_wait_s=-1)
