"""What holds for every policy that is given elastic jobs, among rigid ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elastic_workloads import Row, elastic_workload, rows_on
from example_count import examples
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision
from motet.domain.policy import Policy
from motet.domain.snapshot import Snapshot
from motet.domain.units import SECOND_US
from motet.domain.wait import Wait
from motet.engine.measurements.fitters import fitted_measurements
from motet.engine.policy_loading.catalogue import built_in_policies
from motet.placement.planners import ConsolidatingPlanner
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere
from motet.sim.workload.workload import Workload
from soak_cases import others_in_soak

CLUSTER = ClusterSpec.of([4, 4, 2])
workloads = rows_on(CLUSTER.gpu_count)
costs = st.sampled_from([0, 2 * SECOND_US])


class Watched(Policy):
    """A policy, with every snapshot and decision checked."""

    wants_estimates: ClassVar[bool] = True

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.memory_columns = policy.memory_columns
        self.knows_durations = policy.knows_durations
        self.keeps_requests = policy.keeps_requests

    def decide(self, snapshot: Snapshot) -> Decision:
        decision, again = self._policy.decide(snapshot), self._policy.decide(snapshot)
        assert snapshot.estimates is not None
        assert len(snapshot.estimates) == len(snapshot.jobs)
        assert decision.used_gpus <= snapshot.gpu_count
        assert snapshot.free_gpus.min() >= 0
        np.testing.assert_array_equal(decision.gpus, again.gpus)
        if self.keeps_requests:
            assert decision.workers is None
            assert ((decision.gpus == 0) | (decision.gpus == snapshot.jobs.gpus)).all()
        np.testing.assert_array_equal(decision.reasons.code != Wait.RUNS, decision.gpus == 0)
        return decision


def run(workload: Workload, policy: Any, cost_us: int = 0) -> Outcome:
    planner, speeds = ConsolidatingPlanner(), SameEverywhere(cost_us)
    book = fitted_measurements() if policy.wants_estimates else None
    watched = Watched(policy)
    return Simulation(workload, CLUSTER, watched, planner, speeds, measurements=book).run()


def policies(fast: Collection[str]) -> Iterator[Any]:
    """All; `make test` runs the `fast` ones."""
    assert fast <= built_in_policies().keys()
    for name, policy in built_in_policies().items():
        yield pytest.param(policy, id=name, marks=() if name in fast else pytest.mark.soak)


# `make test` runs all that choose sizes, and of the others one without preemptions, one that shares
# slots and one with queues.
CHOOSING = {"drf", "fair", "harmony", "optimus", "slaq", "themis"}
FAST = CHOOSING | {"fifo", "gandiva", "tiresias-las"}


def test_policies_that_choose_sizes_keep_no_requests() -> None:
    choose = {name for name, policy in built_in_policies().items() if not policy.keeps_requests}
    assert choose == CHOOSING


@pytest.mark.parametrize("policy", list(policies(FAST)))
@settings(max_examples=examples(25))
@given(rows=workloads, cost_us=costs)
def test_every_job_does_its_steps_and_no_others(policy: Any, rows: list[Row], cost_us: int) -> None:
    workload = elastic_workload(rows)
    outcome = run(workload, policy(), cost_us)
    assert outcome.is_finished.all()
    assert workload.work is not None
    trained = outcome.trained
    done = np.zeros(len(workload))
    np.add.at(done, trained.job, trained.last_step - trained.first_step)
    np.testing.assert_allclose(done, workload.work.steps, rtol=1e-9)
    columns = outcome.columns
    jct_us = columns["end_us"] - workload.submit_us
    np.testing.assert_array_equal(jct_us, columns["executed_us"] + columns["waiting_us"])
    least_us = np.where(workload.work.is_modelled, 0, workload.duration_us)
    assert (columns["executed_us"] >= least_us + columns["overhead_us"]).all()


@pytest.mark.parametrize("policy", list(policies(FAST)))
@settings(max_examples=examples(25))
@given(rows=workloads)
def test_no_machine_gives_more_gpus_than_it_has(policy: Any, rows: list[Row]) -> None:
    holds = run(elastic_workload(rows), policy()).holds
    shares = holds.gpus / holds.sharers
    for machine, gpus in enumerate(CLUSTER.gpus.tolist()):
        on = holds.machine == machine
        for start_us in holds.start_us[on]:
            now = on & (holds.start_us <= start_us) & (start_us < holds.end_us)
            assert shares[now].sum() <= gpus


@pytest.mark.parametrize("policy", list(policies({"fair", "gandiva", "optimus", "themis"})))
@settings(max_examples=examples(25))
@given(rows=workloads, data=st.data())
def test_the_order_of_the_input_changes_nothing(policy: Any, rows: list[Row], data: Any) -> None:
    order = data.draw(st.permutations(range(len(rows))))
    one = run(elastic_workload(rows), policy())
    other = run(elastic_workload(rows, order), policy())
    for name, column in one.columns.items():
        np.testing.assert_array_equal(column, other.columns[name], err_msg=name)


@pytest.mark.parametrize(
    "name",
    others_in_soak(
        sorted(built_in_policies().keys() - CHOOSING | {"harmony"}),
        ["fifo", "gandiva", "harmony", "tiresias-las"],
    ),
)
@settings(max_examples=examples(10))
@given(rows=workloads)
def test_policies_without_elasticity_run_elastic_jobs_on_their_full_request(
    name: str, rows: list[Row]
) -> None:
    workload = elastic_workload(rows)
    trained = run(workload, built_in_policies()[name]()).trained
    assert workload.work is not None
    np.testing.assert_array_equal(trained.workers, workload.work.workers[trained.job])
    np.testing.assert_array_equal(trained.servers, workload.work.servers[trained.job])
