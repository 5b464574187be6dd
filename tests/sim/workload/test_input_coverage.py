"""What policies decide by and the jobs of a workload lack."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from elastic_workloads import elastic_workload, linear
from motet.domain.policy import JobInput
from motet.engine.policy_loading.catalogue import built_in_policies
from motet.sim.workload.input_coverage import missing_inputs
from motet.sim.workload.workload import Workload
from small_traces import QUEUE_OF_THREE, workload_of

POLICIES = built_in_policies()


def lacks(policy: str, jobs: Workload) -> dict[str, tuple[int, bool]]:
    """(jobs that lack it, whether it is needed) by input."""
    found = missing_inputs(POLICIES[policy], jobs)
    return {each.input: (each.jobs, each.is_needed) for each in found}


def test_rigid_jobs_lack_what_policies_for_elastic_ones_need() -> None:
    jobs = workload_of(QUEUE_OF_THREE)

    assert lacks("slaq", jobs) == {"loss curves": (3, True), "speed functions": (3, True)}
    assert lacks("optimus", jobs) == {"speed functions": (3, True)}
    assert lacks("drf", jobs) == {"CPUs or memory": (3, False), "queues": (3, False)}
    assert lacks("gandiva", jobs) == {"models": (3, False)}
    for policy in ("fifo", "best-effort", "sf", "srtf", "themis", "tiresias-las", "yarn-cs"):
        assert lacks(policy, jobs) == {}


def test_elastic_jobs_have_them() -> None:
    jobs = elastic_workload([linear(0, 40, 1, 4), linear(10, 40, 1, 4)])

    assert jobs.work is not None
    without_loss = int((jobs.work.curve < 0).sum())
    expected = {"loss curves": (without_loss, True)} if without_loss else {}
    assert lacks("slaq", jobs) == expected
    assert lacks("fair", jobs) == {}


def test_stopped_jobs_have_no_whole_run_time() -> None:
    jobs = Workload.of(["b", "a", "c"], [5, 5, 0], 1, 1, cut=[True, False, True])

    assert jobs.ids == ("c", "a", "b")
    assert jobs.is_cut.tolist() == [True, False, True]
    assert lacks("srtf", jobs) == {"whole run times": (2, True)}
    assert lacks("themis", jobs) == {"whole run times": (2, False)}


def test_demands_queues_and_models_count_where_jobs_have_them() -> None:
    jobs = replace(workload_of(QUEUE_OF_THREE), cpus=np.array([0, 2, 0]))

    assert lacks("tetris", jobs) == {"CPUs or memory": (2, False)}
    queues = Workload.of(["a", "b"], [0, 1], 1, 1, queues=["x", "y"], models=["m", ""])
    assert "queues" not in lacks("drf", queues)
    assert lacks("gandiva", queues) == {"models": (1, False)}


@pytest.mark.parametrize("policy", POLICIES)
def test_oracles_declare_that_they_decide_by_run_times(policy: str) -> None:
    declared = {**POLICIES[policy].needed_inputs, **POLICIES[policy].useful_inputs}

    assert POLICIES[policy].knows_durations == (JobInput.DURATION in declared)
