"""Under Themis elastic jobs bid for what they would gain and run on whole workers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elastic_workloads import Row, elastic_workload, linear, rows_on
from example_count import examples
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision
from motet.domain.errors import BadInput
from motet.domain.policy import Policy
from motet.domain.snapshot import Snapshot
from motet.domain.wait import Wait
from motet.engine.measurements.fitters import fitted_measurements
from motet.estimate.widths import request_of, widths_of
from motet.placement.planners import ConsolidatingPlanner
from motet.policies.themis import Themis
from motet.sim.experiment import Experiment
from motet.sim.generate.named import drawn_trace
from motet.sim.metrics.finish_time import FinishTimes
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere

CLUSTER = ClusterSpec.of([4, 4, 2])
policies = st.builds(
    Themis,
    fairness=st.sampled_from([0.0, 0.8, 1.0]),
    lease_s=st.sampled_from([3.0, 10.0, 600.0]),
    waiting=st.sampled_from(["share", "nothing"]),
    rescale_s=st.sampled_from([0.0, 2.0]),
)


class Watched(Policy):
    """Checks every decision."""

    knows_durations: ClassVar[bool] = True
    wants_estimates: ClassVar[bool] = True
    memory_columns: ClassVar[dict[str, int]] = Themis.memory_columns

    def __init__(self, policy: Themis) -> None:
        self._policy = policy

    def decide(self, snapshot: Snapshot) -> Decision:
        decision = self._policy.decide(snapshot)
        jobs, known = snapshot.jobs, snapshot.estimates
        assert known is not None
        request = request_of(jobs)
        together = int(snapshot.cluster.gpus.max())
        widths = widths_of(request, known.speed_mode, known.speed, snapshot.gpu_count, together)
        free = snapshot.gpu_count - decision.used_gpus
        assert free >= 0
        assert (widths.least[decision.gpus == 0] > free).all(), "somebody waits for no reason"
        starts = np.flatnonzero((decision.gpus > 0) & (jobs.held_gpus == 0))
        for row in starts.tolist():
            entry = widths.entry(row, int(decision.gpus[row]))
            assert widths.gpus[entry] == decision.gpus[row]
            is_widest = entry + 1 == widths.of(row).stop
            assert is_widest or widths.gpus[entry + 1] - widths.gpus[entry] > free
        np.testing.assert_array_equal(decision.reasons.code != Wait.RUNS, decision.gpus == 0)
        return decision


@settings(max_examples=examples(60))
@given(rows=rows_on(CLUSTER.gpu_count), policy=policies, cost_s=st.sampled_from([0, 2]))
def test_no_job_waits_or_starts_small_while_gpus_are_free(
    rows: list[Row], policy: Themis, cost_s: int
) -> None:
    book, speeds = fitted_measurements(), SameEverywhere(cost_s * 1_000_000)
    simulation = Simulation(
        elastic_workload(rows),
        CLUSTER,
        Watched(policy),
        ConsolidatingPlanner(),
        speeds,
        measurements=book,
    )
    assert simulation.run().is_finished.all()


def test_equal_elastic_jobs_share_the_cluster_and_end_as_on_their_shares() -> None:
    """Twice as many GPUs, twice as fast; four of them on 16 GPUs have four each."""
    four = elastic_workload([linear(0, 4000, 2, 16)] * 4)
    settings = {"fairness": "0", "waiting": "nothing"}
    outcome = Experiment("themis", settings).run(four, ClusterSpec.uniform(4, 4))
    assert outcome.trained.workers[outcome.trained.start_us == 0].tolist() == [4] * 4
    assert outcome.columns["end_us"].max() <= 1_000_000_001


def test_a_single_job_gets_all_gpus_that_make_it_faster() -> None:
    """Steps of w workers take 1 / w + 0.1 w seconds: with three it is fastest."""
    slower = linear(0, 100, 1, 8)._replace(speed=(1.0, 0.0, 0.0, 0.1, 0.0, 1.0))
    outcome = Experiment("themis").run(elastic_workload([slower]), ClusterSpec.uniform(2, 4))
    assert outcome.trained.workers.tolist() == [3]


@pytest.mark.soak
def test_elastic_jobs_end_sooner_and_more_fairly_than_as_gangs() -> None:
    jobs = drawn_trace("optimus-50", 0).workload
    cluster = ClusterSpec.uniform(16, 4)
    outcomes = [Experiment(name).run(jobs, cluster) for name in ("themis", "tiresias-las")]
    elastic, gangs = (float(outcome.jct_us.mean()) for outcome in outcomes)
    assert elastic <= 0.95 * gangs
    worst = [float(FinishTimes.of_outcome(outcome).rho.max()) for outcome in outcomes]
    assert worst[0] <= 0.8 * worst[1]


def test_a_cost_that_cannot_be_is_refused() -> None:
    own: dict[str, Any] = {"rescale_s": -1.0}
    with pytest.raises(BadInput, match=r"rescale_s=-1\.0: give seconds, not below 0"):
        Themis(**own)
