"""A decision is cut down to what the machines' CPUs and memory can hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from decisions import decision, on, state_with
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision
from motet.domain.wait import Wait
from motet.engine.actions.diff import changes_of
from motet.engine.actions.fitting import Fitting, Overcommitted
from motet.engine.state.partners import Partners
from motet.placement.planners import ConsolidatingPlanner

CLUSTER = ClusterSpec.of([4, 4], cpus=[8, 8])
ELASTIC = {"gpus": 4, "workers": 4, "min_workers": 1, "max_workers": 4, "worker_gpus": 1}


def fitted(asked: Decision, *jobs: dict[str, int], closed: Any = (), **others: Any) -> Decision:
    state = state_with(*jobs, cluster=CLUSTER, **others)
    snapshot = state.snapshot()
    partners = Partners(asked, snapshot.jobs)
    changes = changes_of(asked, snapshot, partners, has_elastic=True, has_shared=False)
    machines = np.array(closed, dtype=np.int64)
    return Fitting(snapshot, asked, ConsolidatingPlanner(), machines).fit(changes, partners)


def test_jobs_that_fit_get_places() -> None:
    found = fitted(decision([2, 2]), {"gpus": 2, "cpus": 8}, {"gpus": 2, "cpus": 8})
    assert found.gpus.tolist() == [2, 2]
    assert {place.machines for place in found.places.values()} == {(0,), (1,)}


def test_a_job_that_trains_another_way_keeps_its_place_before_others_get_theirs() -> None:
    jobs, held = [{"gpus": 2, "cpus": 8}] * 3, {10: on(0, 2), 12: on(1, 2)}
    asked = decision([2, 2, 2], order=[1, 2, 0], asynchronous=np.array([False, False, True]))
    found = fitted(asked, *jobs, held=held)
    assert found.gpus.tolist() == [2, 0, 2]
    assert found.places == {2: on(1, 2)}


def test_a_job_without_cpus_beside_its_gpus_waits_for_that_reason() -> None:
    jobs = [{"gpus": 2, "cpus": 8}] * 3
    found = fitted(decision([2, 2, 2]), *jobs)
    assert found.gpus.tolist() == [2, 2, 0]
    assert found.reasons.code.tolist() == [Wait.RUNS, Wait.RUNS, Wait.TOO_FEW_CPUS]
    assert found.reasons.free_gpus[2] == 4
    assert found.reasons.usable_gpus is not None
    assert found.reasons.usable_gpus.tolist() == [-1, -1, 0]


def test_jobs_come_in_the_order_of_the_policy() -> None:
    jobs = [{"gpus": 2, "cpus": 8}] * 3
    assert fitted(decision([2, 2, 2], order=[2, 1, 0]), *jobs).gpus.tolist() == [0, 2, 2]


def test_what_a_preempted_job_held_is_there_for_others() -> None:
    jobs = {"gpus": 2, "cpus": 8}, {"gpus": 2, "cpus": 8}, {"gpus": 4, "cpus": 16}
    held = {10: on(0, 2), 11: on(1, 2)}
    assert fitted(decision([0, 0, 4]), *jobs, held=held).gpus.tolist() == [0, 0, 4]


def test_an_elastic_job_runs_with_as_many_workers_as_fit() -> None:
    found = fitted(decision([4, 4]), {"gpus": 4, "cpus": 8}, {**ELASTIC, "cpus": 16})
    assert found.workers is not None
    assert (found.gpus[1], found.workers[1]) == (2, 2)


def test_no_job_comes_to_a_closed_machine() -> None:
    found = fitted(decision([4, 4]), {"gpus": 4}, {"gpus": 4}, closed=[0])
    assert found.gpus.tolist() == [4, 0]
    assert found.places == {0: on(1, 4)}


def test_a_policy_that_names_machines_is_held_to_their_cpus() -> None:
    asked = decision([2, 2], places={0: on(0, 2), 1: on(0, 2)})
    with pytest.raises(Overcommitted, match=r"2 GPUs, 8 CPUs .* on machine 0, which has 2, 0"):
        fitted(asked, {"gpus": 2, "cpus": 8}, {"gpus": 2, "cpus": 8})
