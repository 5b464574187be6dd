"""Jobs that wait because machines are drained, closed or gone say so."""

from __future__ import annotations

from typing import Any

import pytest

from motet.domain.cluster import ClusterSpec
from motet.domain.events import Drained, Event, MachineCame, Started, Submitted
from motet.domain.snapshot import Queues
from motet.domain.units import FULL_SPEED
from motet.domain.wait import Wait
from motet.engine.journal.decision_log import DecisionLog
from motet.engine.measurements.late_fitters import late_fitted_measurements
from motet.engine.policy_loading.catalogue import built_in_policies, find_policy, make_policy
from motet.engine.state.cluster_state import ClusterState
from motet.engine.step import Engine
from motet.insight.log_events import story_event
from motet.insight.waits import wait_sentence
from motet.placement.planners import CountPlanner

LONG_US, SHORT_US = 300_000_000, 3_000_000
PREEMPTIVE = ("optimus", "sf", "slaq", "srsf", "srtf")
"""Policies that prefer the smaller job here, although the others run."""


class DrainedCluster:
    """Two machines of two GPUs."""

    def __init__(self, policy: str, sizes: Any = (2, 2)) -> None:
        chosen = make_policy(*find_policy(policy), {})
        state = ClusterState(ClusterSpec.of(sizes), dict(chosen.memory_columns), {}, Queues(("q",)))
        self.log, measured = DecisionLog(), late_fitted_measurements()
        self.engine = Engine(chosen, CountPlanner(), state, self.log, measurements=measured)

    def step(self, now_us: int, *events: Event) -> list[str]:
        """Names of the changes, and the jobs."""
        actions = self.engine.step(now_us, events)
        changes = [f"{type(each).__name__} {each.job}" for each in self.engine.changes]
        started = [Started(each.job, now_us, FULL_SPEED, FULL_SPEED) for each in actions]
        self.engine.step(now_us, [each for each in started if f"Preempt {each.job}" not in changes])
        return changes

    def codes(self) -> dict[int, Wait]:
        jobs, codes = self.engine.state.jobs, self.engine.state.table.column("wait_code")
        return {
            number: Wait(code)
            for number, code in zip(jobs.number.tolist(), codes.tolist(), strict=True)
        }

    def sentence(self, job: int) -> str:
        entry = [each for each in self.log if each.job == job][-1]
        return wait_sentence(story_event(entry, str, ["m0", "m1"]))


def job(number: int, gpus: int, remaining_us: int = LONG_US, **more: int) -> Submitted:
    columns = {"gpus": gpus, "queue": 0, "submit_us": number, "model": -1, **more}
    return Submitted(number, {**columns, "remaining_us": remaining_us})


@pytest.mark.parametrize("policy", built_in_policies())
def test_a_job_on_a_machine_that_drains_is_preempted_for_nobody(policy: str) -> None:
    cluster = DrainedCluster(policy)
    assert cluster.step(1, job(1, 2), job(2, 2)) == ["Start 1", "Start 2"]
    assert cluster.step(2, Drained(1)) == []
    changes = cluster.step(3, job(3, 1, SHORT_US))
    assert changes == (["Preempt 1", "Start 3"] if policy in PREEMPTIVE else [])
    assert 2 in cluster.engine.state.placements


@pytest.mark.parametrize("policy", built_in_policies())
def test_with_all_machines_drained_jobs_run_on_and_others_wait_for_the_machines(
    policy: str,
) -> None:
    cluster = DrainedCluster(policy)
    cluster.step(1, job(1, 2), job(2, 2))
    assert cluster.step(2, Drained(0), Drained(1)) == []
    assert cluster.step(3, job(3, 1, SHORT_US)) == []
    assert cluster.codes() == {1: Wait.RUNS, 2: Wait.RUNS, 3: Wait.MACHINES_DRAINED}
    assert cluster.sentence(3).startswith(
        "needs 1 GPU, none was free at its turn, and 4 of 4 GPUs are on machines that are drained, "
        "closed or gone"
    )


def test_a_job_that_idle_gpus_of_a_drained_machine_would_suffice_for_names_the_drain() -> None:
    cluster = DrainedCluster("best-effort")
    cluster.step(1, job(1, 1), Drained(1))
    cluster.step(2, job(2, 3), job(3, 2), job(4, 1))
    codes = cluster.codes()
    assert codes == {
        1: Wait.RUNS,
        2: Wait.MACHINES_DRAINED,
        3: Wait.MACHINES_DRAINED,
        4: Wait.RUNS,
    }
    assert cluster.sentence(2) == (
        "needs 3 GPUs, 1 was free at its turn, and 2 of 4 GPUs are on machines that are drained, "
        "closed or gone (place 1 in line)"
    )
    cluster.step(3, MachineCame(1))
    assert cluster.codes() == {1: Wait.RUNS, 2: Wait.TOO_FEW_GPUS, 3: Wait.RUNS, 4: Wait.RUNS}


def test_a_job_for_which_the_drained_machine_would_not_suffice_waits_for_others() -> None:
    cluster = DrainedCluster("best-effort")
    cluster.step(1, job(1, 2), job(2, 2))
    cluster.step(2, Drained(1), job(3, 2))
    assert cluster.codes()[3] is Wait.TOO_FEW_GPUS


def test_jobs_behind_a_head_that_waits_for_machines_wait_for_the_head() -> None:
    cluster = DrainedCluster("fifo")
    cluster.step(1, Drained(1), job(1, 4), job(2, 1))
    assert cluster.codes() == {1: Wait.MACHINES_DRAINED, 2: Wait.BEHIND_HEAD}
    assert cluster.sentence(2).startswith("may not overtake job 1, which needs 4 GPUs")


def test_an_elastic_job_that_the_policy_gives_nothing_less_names_the_drain_if_it_lacks_gpus() -> (
    None
):
    """`best-effort` gives an elastic job its full request: 3 GPUs, of which 1 is missing."""
    elastic = {"workers": 3, "min_workers": 1, "max_workers": 3}
    cluster = DrainedCluster("best-effort")
    cluster.step(1, Drained(1), job(1, 3, **elastic))
    assert cluster.codes() == {1: Wait.MACHINES_DRAINED}
    full = DrainedCluster("best-effort", (3, 0))
    full.step(1, Drained(1), job(1, 1), job(2, 3, **elastic))
    assert full.codes() == {1: Wait.RUNS, 2: Wait.TOO_FEW_GPUS}


def test_a_job_above_all_open_machines_names_the_drain_whatever_the_policy_compares() -> None:
    cluster = DrainedCluster("slaq")
    cluster.step(1, job(1, 1), job(2, 2))
    cluster.step(2, Drained(0), Drained(1), job(3, 2))
    entry = [each for each in cluster.log if each.job == 3][-1]
    assert (entry.event, entry.measure, entry.bar) == ("machines_drained", 4, 4)


def test_a_job_that_also_holds_gpus_of_an_open_machine_stays() -> None:
    cluster = DrainedCluster("sf")
    cluster.step(1, job(1, 3))
    assert cluster.step(2, Drained(0)) == []
    assert cluster.step(3, job(2, 1), job(3, 1)) == ["Start 2"]
