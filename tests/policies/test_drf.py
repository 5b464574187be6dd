"""Dominant resource fairness between queues, jobs and machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from elastic_workloads import Row, elastic_workload, rows_on
from example_count import examples
from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.domain.snapshot import Queues
from motet.domain.units import SECOND_US
from motet.domain.wait import Wait
from motet.engine.journal.decision_log import DecisionLog
from motet.estimate.speed_function import SpeedMode
from motet.placement.planners import ConsolidatingPlanner
from motet.policies.drf import Drf
from motet.policies.fair import Fair
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere
from motet.sim.workload.elastic_work import WorkModels
from motet.sim.workload.workload import Workload


def run(workload: Workload, cluster: ClusterSpec, policy: Any) -> tuple[Outcome, DecisionLog]:
    log, queues = DecisionLog(), Queues.without_quotas(workload.queue_names)
    speeds, planner = SameEverywhere(), ConsolidatingPlanner()
    return Simulation(
        workload, cluster, policy, planner, speeds, queues=queues, journal=log
    ).run(), log


def elastic(queues: Sequence[str], demands: Sequence[tuple[int, int]], most: int = 20) -> Workload:
    """A job per queue that takes up to `most` workers, each with so many CPUs and bytes."""
    size = len(queues)
    work = WorkModels.of(
        [1000] * size, int(SpeedMode.SYNC), (1.0, 0.0, 0.0, 0.0, 0.0, 1.0), workers=most
    )
    cpus, memory_bytes = zip(*((c * most, m * most) for c, m in demands), strict=True)
    ids = [f"j{number}" for number in range(size)]
    times = [0] * size
    return Workload.of(
        ids, times, times, times, queues=queues, cpus=cpus, memory_bytes=memory_bytes, work=work
    )


def workers_at_first(outcome: Outcome) -> list[int]:
    trained = outcome.trained
    first = np.flatnonzero(trained.start_us == 0)
    return trained.workers[first][np.argsort(trained.job[first])].tolist()


MACHINE = ClusterSpec.of([100], cpus=[9], memory_bytes=[18])


def test_the_example_of_the_paper_with_elastic_jobs() -> None:
    """Section 4.1: 9 CPUs, 18 GB; A's tasks take <1 CPU, 4 GB>, B's <3 CPUs, 1 GB>."""
    outcome, _ = run(elastic(["A", "B"], [(1, 4), (3, 1)]), MACHINE, Drf())
    assert workers_at_first(outcome) == [3, 2]


@pytest.mark.parametrize("preemptive", [True, False])
def test_the_example_of_the_paper_with_rigid_jobs(preemptive: bool) -> None:
    names = [*["A"] * 5, *["B"] * 5]
    jobs = Workload.of(
        [f"{queue}{number}" for number, queue in enumerate(names)],
        [0] * 10,
        [SECOND_US] * 10,
        [1] * 10,
        queues=names,
        cpus=[1] * 5 + [3] * 5,
        memory_bytes=[4] * 5 + [1] * 5,
    )
    outcome, _ = run(jobs, MACHINE, Drf(preemptive=preemptive))
    starts = outcome.columns["start_us"] == 0
    assert [starts[:5].sum(), starts[5:].sum()] == [3, 2]


def test_weights_of_queues_in_queues() -> None:
    """prod gets 3/4, of which ads gets 2/3; the others have what is left."""
    queues = ["prod/ads", "prod/maps", "dev"]
    jobs = elastic(queues, [(1, 0)] * 3, most=40)
    policy = Drf(weights="prod:3,prod/ads:2")
    outcome, _ = run(jobs, ClusterSpec.of([100], cpus=[36]), policy)
    assert workers_at_first(outcome) == [18, 9, 9]


def test_a_queue_may_hold_jobs_and_queues() -> None:
    jobs = elastic(["prod", "prod/ads", "dev"], [(1, 0)] * 3)
    outcome, _ = run(jobs, ClusterSpec.of([100], cpus=[12]), Drf())
    assert workers_at_first(outcome) == [3, 3, 6]


@settings(max_examples=examples(40))
@given(rows=rows_on(10))
def test_with_gpus_and_one_queue_only_it_is_fair(rows: list[Row]) -> None:
    """Another program with another way to count comes to the same schedule."""
    cluster = ClusterSpec.of([4, 4, 2])
    one, other = (run(elastic_workload(rows), cluster, policy)[0] for policy in (Drf(), Fair()))
    for name, column in one.columns.items():
        np.testing.assert_array_equal(column, other.columns[name], err_msg=name)
    np.testing.assert_array_equal(one.holds.gpus, other.holds.gpus)


def jobs_of_two_queues() -> Workload:
    """Queue "a" has six GPUs when "b" comes and wants four."""
    return Workload.of(
        ["a0", "a1", "a2", "b0"],
        [0, 0, 0, SECOND_US],
        [10 * SECOND_US] * 4,
        [2, 2, 2, 4],
        queues=["a", "a", "a", "b"],
    )


def test_a_queue_with_less_takes_gpus_from_one_with_more() -> None:
    outcome, log = run(jobs_of_two_queues(), ClusterSpec.of([6]), Drf())
    assert outcome.columns["preemptions"].tolist() == [0, 1, 1, 0]
    assert outcome.columns["start_us"][3] == SECOND_US
    waits = {entry.job: entry for entry in log if entry.event == "too_few_gpus"}
    assert set(waits) == {1, 2}


def test_without_preemption_a_queue_waits_until_gpus_are_free() -> None:
    outcome, log = run(jobs_of_two_queues(), ClusterSpec.of([6]), Drf(preemptive=False))
    assert outcome.columns["preemptions"].tolist() == [0] * 4
    assert outcome.columns["start_us"][3] == 10 * SECOND_US
    assert next(entry.event for entry in log if entry.job == 3) == "too_few_gpus"


def test_the_wait_reason_of_a_share_names_both_shares() -> None:
    """a holds 4 of 8 GPUs and wants 6, b holds none and wants 5: both wait, a for its share."""
    jobs = Workload.of(
        ["a0", "a1", "b0"],
        [0, 1, 1],
        [10 * SECOND_US] * 3,
        [4, 6, 5],
        queues=["a", "a", "b"],
    )
    outcome, log = run(jobs, ClusterSpec.of([8]), Drf(preemptive=False))
    first = {entry.job: entry for entry in reversed(list(log)) if entry.time_us == 1}
    assert first[2].event == "too_few_gpus"
    assert (first[1].event, first[1].measure, first[1].bar) == ("share", 0.5, 0.0)
    assert outcome.waited_us[Wait.SHARE, 1] > 0


@pytest.mark.parametrize("text", ["a", "a:0", "a:x", "a:1,a:2", ":3", "a:1e9"])
def test_weights_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="write QUEUE:WEIGHT"):
        Drf(weights=text)


def test_the_weight_of_a_queue_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadInput, match="no queue c; there are a, b"):
        run(jobs_of_two_queues(), ClusterSpec.of([6]), Drf(weights="c:2"))
