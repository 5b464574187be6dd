"""First in, first out on few machines: the head of the line waits for them, and all behind it."""

from __future__ import annotations

import pytest

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.domain.snapshot import Queues
from motet.domain.units import SECOND_US
from motet.domain.wait import Wait
from motet.engine.journal.decision_log import DecisionLog
from motet.placement.planners import ConsolidatingPlanner
from motet.policies.yarn_cs import YarnCs
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere
from motet.sim.workload.workload import Workload


def run(
    rows: list[tuple[int, int, int]], policy: YarnCs, queues: list[str] | None = None
) -> tuple[Outcome, DecisionLog]:
    workload = Workload.of(
        [str(number) for number in range(len(rows))],
        [row[0] * SECOND_US for row in rows],
        [row[1] * SECOND_US for row in rows],
        [row[2] for row in rows],
        queues=queues,
    )
    known = Queues.without_quotas(workload.queue_names)
    log, cluster = DecisionLog(), ClusterSpec.of([4, 4])
    planner = ConsolidatingPlanner()
    simulation = Simulation(
        workload, cluster, policy, planner, SameEverywhere(), queues=known, journal=log
    )
    return simulation.run(), log


def starts_s(outcome: Outcome) -> list[float]:
    return (outcome.columns["start_us"] / SECOND_US).tolist()


# Two jobs of one GPU keep both machines from being empty until 30 s.
HALF_USED = [(0, 30, 1), (0, 50, 1)]


def test_the_head_waits_for_one_machine_though_enough_gpus_are_free() -> None:
    outcome, log = run([*HALF_USED, (1, 10, 4)], YarnCs())
    assert starts_s(outcome) == [0, 0, 30]
    assert [entry.event for entry in log if entry.job == 2] == [
        "locality",
        "start",
        "finish",
    ]
    assert outcome.waited_us[Wait.LOCALITY, 2] == 29 * SECOND_US


def test_no_job_overtakes_the_head_of_the_line() -> None:
    outcome, log = run([*HALF_USED, (1, 10, 4), (2, 5, 1)], YarnCs())
    assert starts_s(outcome) == [0, 0, 30, 30]
    assert next(entry.event for entry in log if entry.job == 3) == "behind_locality"


def test_after_its_patience_the_head_takes_what_there_is() -> None:
    outcome, _ = run([*HALF_USED, (1, 10, 4)], YarnCs(locality_wait_s=12))
    assert starts_s(outcome) == [0, 0, 13]


def test_a_gang_larger_than_a_machine_gets_whole_machines() -> None:
    outcome, _ = run([(0, 20, 1), (0, 5, 8), (0, 5, 2)], YarnCs())
    assert starts_s(outcome) == [0, 20, 25]


def test_patience_is_not_negative() -> None:
    with pytest.raises(BadInput, match="locality_wait_s=-1"):
        YarnCs(locality_wait_s=-1)


def test_a_queue_uses_no_more_than_its_quota_while_others_go_on() -> None:
    rows = [(0, 10, 4), (0, 10, 2), (1, 10, 1), (2, 10, 4)]
    outcome, log = run(rows, YarnCs(quotas="a:4,b:4"), ["a", "a", "a", "b"])
    assert starts_s(outcome) == [0, 10, 10, 2]
    assert [entry.event for entry in log if entry.job == 1] == [
        "quota",
        "start",
        "finish",
    ]
    assert outcome.waited_us[Wait.QUOTA].tolist() == [0, 10 * SECOND_US, 9 * SECOND_US, 0]


def test_only_the_line_of_a_head_that_waits_is_held_up() -> None:
    rows = [(0, 10, 3), (0, 30, 2), (1, 10, 4), (2, 5, 1)]
    outcome, _ = run(rows, YarnCs(quotas="a:6,*:8"), ["a", "b", "a", "b"])
    assert starts_s(outcome) == [0, 0, 10, 2]


def test_a_job_without_a_queue_falls_under_the_quota_of_all_others() -> None:
    outcome, _ = run([(0, 10, 2), (0, 10, 2)], YarnCs(quotas="*:2"), ["", ""])
    assert starts_s(outcome) == [0, 10]


@pytest.mark.parametrize(
    ("quotas", "message"),
    [("a", "write QUEUE:GPUS"), ("a:1,a:2", "each queue once"), ("a:x", "write QUEUE:GPUS")],
)
def test_quotas_must_be_readable(quotas: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        YarnCs(quotas=quotas)


def test_quotas_of_unknown_queues_and_jobs_beyond_them_are_refused() -> None:
    with pytest.raises(BadInput, match="no queue z"):
        run([(0, 10, 2)], YarnCs(quotas="z:3"), ["a"])
    with pytest.raises(BadInput, match="queue a requests 2 GPUs, its limit is 1"):
        run([(0, 10, 2)], YarnCs(quotas="a:1"), ["a"])
    with pytest.raises(BadInput, match="a job without a queue requests 2 GPUs, its limit is 1"):
        run([(0, 10, 1), (0, 10, 2)], YarnCs(quotas="a:4,*:1"), ["a", ""])


def test_those_behind_a_head_that_insists_wait_for_its_locality() -> None:
    outcome, _ = run([*HALF_USED, (1, 10, 4), (2, 5, 1)], YarnCs())
    assert outcome.waited_us[Wait.BEHIND_LOCALITY, 3] == 28 * SECOND_US


def test_without_consolidation_the_head_takes_what_there_is() -> None:
    outcome, _ = run([*HALF_USED, (1, 10, 4)], YarnCs(consolidate=False))
    assert starts_s(outcome) == [0, 0, 1]
