"""What holds for every policy that is found."""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.actions import Start
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision
from motet.domain.events import MachineAdded, Submitted
from motet.domain.policy import Policy
from motet.domain.snapshot import Queues, Snapshot
from motet.domain.units import SECOND_US
from motet.domain.wait import Wait
from motet.engine.policy_loading.catalogue import built_in_policies
from motet.engine.state.cluster_state import ClusterState
from motet.engine.step import Engine
from motet.placement.planners import ConsolidatingPlanner
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere
from motet.sim.workload.workload import Workload

CLUSTER = ClusterSpec.of([4, 4, 2])
MODELS = ["VGG19", "ResNet50", ""]
jobs = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.integers(1, 40),
        st.integers(1, CLUSTER.gpu_count),
        st.sampled_from(MODELS),
    ),
    min_size=1,
    max_size=15,
)


class Watched(Policy):
    """A policy, with every snapshot and decision checked."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.memory_columns = policy.memory_columns
        self.knows_durations = policy.knows_durations
        self.wants_estimates = policy.wants_estimates

    def decide(self, snapshot: Snapshot) -> Decision:
        decision = self._policy.decide(snapshot)
        again = self._policy.decide(snapshot)
        gpus, wanted = decision.gpus, snapshot.jobs.gpus
        assert decision.used_gpus <= snapshot.gpu_count
        assert np.isin(gpus, [0, *wanted]).all()
        assert ((gpus == 0) | (gpus == wanted)).all()
        assert decision.recheck_at_us > snapshot.now_us
        np.testing.assert_array_equal(gpus, again.gpus)
        waits = decision.reasons.code != Wait.RUNS
        np.testing.assert_array_equal(waits, gpus == 0)
        return decision


def workload_of(rows: list[tuple[int, int, int, str]], order: list[int] | None = None) -> Workload:
    order = order or list(range(len(rows)))
    return Workload.of(
        [f"job-{number}" for number in order],
        [rows[number][0] * SECOND_US for number in order],
        [rows[number][1] * SECOND_US for number in order],
        [rows[number][2] for number in order],
        models=[rows[number][3] for number in order],
    )


def run(workload: Workload, policy: Any, cost_us: int = 0) -> Outcome:
    watched = Watched(policy)
    return Simulation(
        workload, CLUSTER, watched, ConsolidatingPlanner(), SameEverywhere(cost_us)
    ).run()


def policies(in_soak: Set[str] = frozenset()) -> Iterator[Any]:
    """All; those `in_soak` are left out of `make test`."""
    assert in_soak <= built_in_policies().keys()
    for name, policy in built_in_policies().items():
        yield pytest.param(policy, id=name, marks=pytest.mark.soak if name in in_soak else ())


# Their rules resemble those of policies that stay: fifo, tiresias-las and fair.
ALIKE = {"best-effort", "sf", "srsf", "srtf", "yarn-cs", "tiresias-gittins", "drf"}


@pytest.mark.parametrize("policy", list(policies()))
@settings(max_examples=examples(40))
@given(rows=jobs)
def test_every_job_finishes_within_the_cluster(policy: Any, rows: Any) -> None:
    outcome = run(workload_of(rows), policy())
    assert outcome.is_finished.all()
    assert (outcome.used_gpus <= CLUSTER.gpu_count).all()
    assert all(one <= later for one, later in pairwise(outcome.times_us.tolist()))


@pytest.mark.parametrize("policy", list(policies(ALIKE)))
@settings(max_examples=examples(40))
@given(rows=jobs, cost_us=st.sampled_from([0, 3 * SECOND_US]))
def test_service_is_demand_plus_the_cost_of_preemptions(
    policy: Any, rows: Any, cost_us: int
) -> None:
    workload = workload_of(rows)
    outcome = run(workload, policy(), cost_us)
    overhead_us = outcome.columns["overhead_us"]
    served = outcome.columns["attained_gpu_us"]
    most = (workload.duration_us + overhead_us) * workload.gpus
    if getattr(policy(), "packing", False):  # who restores beside a partner attains half of it
        least = (workload.duration_us + overhead_us // 2) * workload.gpus
        assert ((least <= served) & (served <= most)).all()
    else:
        np.testing.assert_array_equal(served, most)
    jct_us = outcome.columns["end_us"] - workload.submit_us
    np.testing.assert_array_equal(
        jct_us, outcome.columns["executed_us"] + outcome.columns["waiting_us"]
    )
    np.testing.assert_array_equal(outcome.waited_us[1:].sum(axis=0), outcome.columns["waiting_us"])


@pytest.mark.parametrize("policy", list(policies(ALIKE)))
@settings(max_examples=examples(40))
@given(rows=jobs, data=st.data())
def test_the_order_of_the_input_changes_nothing(policy: Any, rows: Any, data: Any) -> None:
    order = data.draw(st.permutations(range(len(rows))))
    one, other = run(workload_of(rows), policy()), run(workload_of(rows, order), policy())
    for name, column in one.columns.items():
        np.testing.assert_array_equal(column, other.columns[name], err_msg=name)


@pytest.mark.parametrize("policy", list(policies()))
def test_a_cluster_without_machines_has_jobs_that_wait(policy: Any) -> None:
    """A team's server begins so, until machines join."""
    policy = policy()
    state = ClusterState(ClusterSpec.of([]), policy.memory_columns, {}, Queues())
    engine = Engine(policy, ConsolidatingPlanner(), state)
    engine.try_policy(policy)
    assert engine.step(0, [Submitted(1, {"gpus": 1, "remaining_us": SECOND_US})]) == []
    (start,) = engine.step(1, [MachineAdded(0, "m0", 1)])
    assert isinstance(start, Start)
