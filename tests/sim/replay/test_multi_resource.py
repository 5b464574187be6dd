"""Jobs that ask for CPUs and memory, too, on machines that count them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elastic_workloads import Row, elastic_workload, linear, rows_on
from example_count import examples
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision, Reasons
from motet.domain.errors import BadInput
from motet.domain.policy import Policy
from motet.domain.snapshot import Placement, Queues, Snapshot
from motet.domain.units import SECOND_US
from motet.domain.wait import Wait
from motet.engine.journal.decision_log import DecisionLog
from motet.engine.policy_loading.catalogue import built_in_policies
from motet.engine.policy_loading.faults import BrokenPolicy
from motet.placement.planners import ConsolidatingPlanner
from motet.placement.room import ResourceDemand
from motet.sim.experiment import Experiment
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere
from motet.sim.workload.workload import Workload

CLUSTER = ClusterSpec.of([4, 4, 2], cpus=[8, 16, 0], memory_bytes=[64, 0, 32])


class Ask(NamedTuple):
    submit_s: int
    duration_s: int
    gpus: int
    cpus: int
    memory_bytes: int


def workload_of(asks: list[Ask]) -> Workload:
    submit, duration, gpus, cpus, memory_bytes = zip(*asks, strict=True)
    return Workload.of(
        [f"j{number}" for number in range(len(asks))],
        np.array(submit) * SECOND_US,
        np.array(duration) * SECOND_US,
        gpus,
        cpus=cpus,
        memory_bytes=memory_bytes,
        queues=[("a", "b")[number % 2] for number in range(len(asks))],
    )


def run(workload: Workload, policy: Any, cluster: ClusterSpec = CLUSTER) -> Outcome:
    queues, planner = Queues.without_quotas(workload.queue_names), ConsolidatingPlanner()
    return Simulation(workload, cluster, policy, planner, SameEverywhere(), queues=queues).run()


def fits_alone(ask: Ask) -> bool:
    try:
        Experiment("fifo").run(workload_of([ask]), CLUSTER)
    except BadInput:
        return False
    return True


asks = st.lists(
    st.builds(
        Ask,
        st.integers(0, 20),
        st.integers(1, 30),
        st.integers(1, 10),
        st.integers(0, 30),
        st.integers(0, 120),
    ).filter(fits_alone),
    min_size=1,
    max_size=12,
)


def policies(fast: Collection[str]) -> Iterator[Any]:
    """All; `make test` runs the `fast` ones."""
    assert fast <= built_in_policies().keys()
    for name, policy in built_in_policies().items():
        yield pytest.param(policy, id=name, marks=() if name in fast else pytest.mark.soak)


def check_no_machine_gives_more_than_it_has(outcome: Outcome) -> None:
    holds, jobs = outcome.holds, outcome.workload
    for machine in range(outcome.cluster.size):
        for start_us in np.unique(holds.start_us[holds.machine == machine]):
            now = (holds.machine == machine) & (holds.start_us <= start_us)
            now &= start_us < holds.end_us
            used = np.zeros(3)
            for job, gpus, sharers in zip(
                holds.job[now], holds.gpus[now], holds.sharers[now], strict=True
            ):
                ask = (jobs.gpus[job], jobs.cpus[job], jobs.memory_bytes[job])
                demand = ResourceDemand(*(int(each) for each in ask))
                used += (gpus / sharers, *demand.beside(int(gpus)))
            cluster = outcome.cluster
            sizes = (cluster.gpus, cluster.cpus, cluster.memory_bytes)
            for name, size, amount in zip(("gpu", "cpu", "byte"), sizes, used, strict=True):
                assert amount <= size[machine] or not size[machine], (name, machine, start_us)


@pytest.mark.parametrize(
    "policy",
    list(policies({"best-effort", "drf", "fair", "gandiva", "optimus", "tetris", "themis"})),
)
@settings(max_examples=examples(25))
@given(asks=asks)
def test_every_policy_finishes_within_cpus_and_memory(policy: Any, asks: list[Ask]) -> None:
    outcome = run(workload_of(asks), policy())
    assert outcome.is_finished.all()
    check_no_machine_gives_more_than_it_has(outcome)
    waited_us = outcome.waited_us[1:].sum(axis=0)
    np.testing.assert_array_equal(waited_us, outcome.columns["waiting_us"])


@pytest.mark.parametrize("policy", list(policies({"fair", "gandiva", "tetris", "themis"})))
@settings(max_examples=examples(10))
@given(asks=asks)
def test_demands_that_no_machine_counts_change_nothing(policy: Any, asks: list[Ask]) -> None:
    uncounted = ClusterSpec.of(CLUSTER.gpus)
    plain = [ask._replace(cpus=0, memory_bytes=0) for ask in asks]
    one, other = run(workload_of(asks), policy(), uncounted), run(workload_of(plain), policy())
    for name, column in one.columns.items():
        np.testing.assert_array_equal(column, other.columns[name], err_msg=name)


@pytest.mark.parametrize(
    ("demands", "code"),
    [
        ({"cpus": [12, 12]}, Wait.TOO_FEW_CPUS),
        ({"memory_bytes": [60, 60]}, Wait.TOO_LITTLE_MEMORY),
    ],
)
def test_the_wait_reason_is_the_short_resource(demands: Mapping[str, Any], code: Wait) -> None:
    cluster = ClusterSpec.of([4], cpus=[16], memory_bytes=[100])
    second = SECOND_US
    jobs = Workload.of(["a", "b"], [0, 0], [10 * second, 5 * second], [1, 1], **demands)
    outcome = run(jobs, built_in_policies()["best-effort"](), cluster)
    assert outcome.columns["end_us"].tolist() == [10 * second, 15 * second]
    assert outcome.waited_us[code].tolist() == [0, 10 * second]


def test_a_gang_is_spread_where_memory_is_left() -> None:
    cluster = ClusterSpec.of([4, 4], memory_bytes=[30, 90])
    jobs = Workload.of(["a"], [0], [SECOND_US], [4], memory_bytes=[120])
    holds = run(jobs, built_in_policies()["fifo"](), cluster).holds
    assert (holds.machine.tolist(), holds.gpus.tolist()) == ([0, 1], [1, 3])


def with_memory(rows: list[Row], memory_bytes: list[int]) -> Workload:
    return replace(elastic_workload(rows), memory_bytes=np.array(memory_bytes))


def test_an_elastic_job_gets_the_workers_that_memory_allows() -> None:
    cluster = ClusterSpec.of([4, 4], memory_bytes=[25, 35])
    outcome = run(with_memory([linear(0, 50, 4, 8)], [40]), built_in_policies()["fair"](), cluster)
    assert outcome.trained.workers.tolist() == [5]
    assert outcome.columns["end_us"].tolist() == [10 * SECOND_US]


@pytest.mark.parametrize(
    ("taken", "found"), [(30, (2, 1)), (40, (1, 1)), (41, (3, 3)), (0, (3, 3))]
)
def test_an_elastic_job_gets_the_servers_that_memory_allows(
    taken: int, found: tuple[int, int]
) -> None:
    """Of 60 bytes beside 8 GPUs a rigid job takes some; 10 go with every worker and server. With
    less than 20 it waits for all of them."""
    rigid, elastic = Row(0, 0, 2, 2, duration_s=5), Row(0, 9, 3, 3, 3, 3, 1)
    cluster, log = ClusterSpec.of([8], memory_bytes=[60]), DecisionLog()
    jobs = with_memory([rigid, elastic], [taken, 60])
    Experiment("fair").run(jobs, cluster, journal=log)
    first = next(entry for entry in log if entry.job == 1)
    if taken <= 40:
        assert first.team is not None
        assert first.team[:2] == found
    else:
        assert (first.event, first.free_gpus) == ("too_little_memory", 6)
        assert (first.least_gpus, first.usable_gpus) == (2, 1)


@pytest.mark.parametrize(
    ("gpus", "cpus", "gigabytes", "said"),
    [
        (2, 0, 3, "job big needs 3 GB on 2 GPUs"),
        (1, 0, 3, "job big needs 3 GB on 1 GPU:"),
        (2, 9, 0, "job big needs 9 CPUs on 2 GPUs"),
        (2, 1, 3, "job big needs 1 CPU and 3 GB on 2 GPUs"),
    ],
)
def test_a_job_that_no_machines_can_hold_is_refused_before_anything_runs(
    gpus: int, cpus: int, gigabytes: int, said: str
) -> None:
    jobs = Workload.of(["big"], [0], [1], [gpus], cpus=cpus, memory_bytes=gigabytes * 10**9)
    cluster = ClusterSpec.of([2, 2], cpus=[3, 3], memory_bytes=[10**9, 10**9])
    with pytest.raises(BadInput, match=said):
        Experiment("fifo").run(jobs, cluster)


def test_the_error_states_that_the_full_request_of_an_elastic_job_must_fit() -> None:
    with pytest.raises(BadInput, match=r"needs 4 GPUs, the cluster has 3; the full request of an"):
        Experiment("fair").run(elastic_workload([linear(0, 50, 4, 8)]), ClusterSpec.of([3]))


SHORT = {"too_few_cpus", "too_little_memory"}


@pytest.mark.parametrize("policy", ["fair", "optimus", "slaq"])
@settings(max_examples=examples(30))
@given(rows=rows_on(CLUSTER.gpu_count), data=st.data())
def test_waiting_jobs_did_not_fit_the_free_resources(
    policy: str, rows: list[Row], data: st.DataObject
) -> None:
    each = st.integers(0, 4)
    cpus, memory = (
        [times * row.gpus for times, row in zip(data.draw(numbers), rows, strict=True)]
        for numbers in (st.lists(each, min_size=len(rows), max_size=len(rows)),) * 2
    )
    workload = replace(elastic_workload(rows), cpus=np.array(cpus), memory_bytes=np.array(memory))
    cluster, log = ClusterSpec.of([6, 4], cpus=[8, 40], memory_bytes=[40, 10]), DecisionLog()
    try:
        Experiment(policy).run(workload, cluster, journal=log)
    except BadInput:
        return  # A job that fits on no machines.
    waits = [entry for entry in log if not entry.placement.machines and entry.least_gpus > 0]
    for entry in waits:
        if entry.event == "too_few_gpus":
            assert entry.free_gpus < entry.least_gpus
        if entry.event in SHORT:
            assert entry.usable_gpus < entry.least_gpus <= entry.free_gpus


@dataclass(frozen=True)
class Stubborn(Policy):
    """Places every job on machine 0."""

    seen: list[int] = field(default_factory=list)

    def decide(self, snapshot: Snapshot) -> Decision:
        gpus = snapshot.jobs.gpus.copy()
        zeros = np.zeros_like(gpus)
        places = {row: Placement((0,), (int(count),)) for row, count in enumerate(gpus)}
        return Decision(gpus, Reasons(zeros, zeros, np.arange(len(gpus))), places)


def test_a_policy_that_names_machines_without_room_is_refused() -> None:
    cluster = ClusterSpec.of([4, 4], memory_bytes=[100, 100])
    jobs = Workload.of(["a", "b"], [0, 0], [1, 1], [1, 1], memory_bytes=[60, 60])
    said = "job b: places: 1 GPUs, 0 CPUs and 60 bytes on machine 0, which has 3, 0 and 40 free"
    with pytest.raises(BrokenPolicy, match=said):
        run(jobs, Stubborn(), cluster)
