"""The figures of a run, computed by hand and as properties."""

from __future__ import annotations

import json
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.units import SECOND_US
from motet.domain.wait import Wait
from motet.report.rendering.json_text import to_json
from motet.sim.metrics.summary import (
    Summary,
    delay_causes_s,
    finish_time_fairness,
    gpu_utilization,
)
from small_traces import QUEUE_OF_THREE, Rows, result_of

workloads = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 30), st.integers(1, 4)), min_size=1, max_size=20
)
KEYS = [
    *("policy", "params", "seed", "trace_sha256", "jobs", "finished", "jct_s", "queueing_delay_s"),
    *("delay_causes_s", "makespan_s", "gpu_utilization", "preemptions", "migrations"),
    *("finish_time_fairness", "placement_score", "events", "decisions", "wall_s"),
    *("missing_inputs", "knows_durations"),
]


def test_three_jobs_one_after_the_other() -> None:
    summary = Summary.of(result_of(QUEUE_OF_THREE).outcome)

    assert (summary.jobs, summary.finished) == (3, 3)
    assert astuple(summary.jct_s) == pytest.approx((400 / 3, 150, 150, 150, 150))
    assert summary.queueing_delay_s.mean == pytest.approx((0 + 100 + 140) / 3)
    assert summary.delay_causes_s == {"fair_share": 0, "fragmentation": 0, "policy_order": 240}
    assert summary.makespan_s == 160
    assert summary.gpu_utilization == pytest.approx((150 * 2 + 10) / (160 * 2))
    assert (summary.preemptions, summary.migrations) == (0, 0)
    assert (summary.events, summary.decisions) == (9, 5)


def test_the_document_has_the_keys_of_the_contract_in_their_order() -> None:
    document = json.loads(to_json(result_of(QUEUE_OF_THREE).summary))

    assert list(document) == KEYS
    assert list(document["jct_s"]) == ["mean", "median", "p95", "p99", "max"]
    assert list(document["delay_causes_s"]) == ["fair_share", "fragmentation", "policy_order"]
    fairness = ["mean", "max", "jain", "within_share", "worst"]
    assert list(document["finish_time_fairness"]) == fairness


def test_parameters_stand_in_the_document_as_one_would_set_them() -> None:
    params = result_of(QUEUE_OF_THREE, policy="tiresias-las").summary["params"]

    assert params["thresholds"] == (3200.0,)
    assert params["promote_knob"] == "inf"
    assert "memory_columns" not in params


def test_a_single_job_has_a_fair_rho() -> None:
    rho = finish_time_fairness(result_of([(5, 60, 2)]).outcome)

    np.testing.assert_array_equal(rho, [1.0])


def test_rho_of_two_consecutive_jobs() -> None:
    """Both want both GPUs for 100 s. The first meets one other all its life, the second half of it.

    Ideal: half of the cluster each, so 200 s; for the second 1.5 jobs on average, so 150 s.
    """
    rho = finish_time_fairness(result_of([(0, 100, 2), (0, 100, 2)]).outcome)

    np.testing.assert_allclose(rho, [100 / 200, 200 / 150])


@settings(max_examples=examples(60))
@given(rows=workloads)
def test_rho_equals_that_of_counting_jobs_each_second(rows: Rows) -> None:
    outcome = result_of(rows, 4, "srtf").outcome
    submit, end = outcome.workload.submit_us // SECOND_US, outcome.columns["end_us"] // SECOND_US
    present = [((submit <= now) & (now < end)).sum() for now in range(int(end.max()))]
    jobs = zip(submit, end, outcome.workload.gpus, outcome.workload.duration_us, strict=True)
    expected = [
        (left - came) / (work_us / SECOND_US * max(1, gpus * np.mean(present[came:left]) / 4))
        for came, left, gpus, work_us in jobs
    ]

    np.testing.assert_allclose(finish_time_fairness(outcome), expected)


def test_a_job_without_duration_has_no_rho() -> None:
    rho = finish_time_fairness(result_of([(0, 0, 1), (0, 10, 1)]).outcome)

    np.testing.assert_array_equal(np.isnan(rho), [True, False])


def test_waits_for_quota_are_fair_share_delay_and_waits_for_locality_fragmentation() -> None:
    outcome = result_of(QUEUE_OF_THREE).outcome
    outcome.waited_us[:] = 0
    for code in Wait:
        outcome.waited_us[code, 0] = 4**code * SECOND_US

    causes = delay_causes_s(outcome)

    assert causes["fair_share"] == 4**Wait.QUOTA + 4**Wait.SHARE
    beside = 4**Wait.TOO_FEW_CPUS + 4**Wait.TOO_LITTLE_MEMORY
    near = 4**Wait.LOCALITY + 4**Wait.BEHIND_LOCALITY
    assert causes["fragmentation"] == near + beside
    guessed = Wait.LEFT_UNKNOWN, Wait.FALL_UNKNOWN
    compared = Wait.LESS_PROGRESS, Wait.MORE_LEFT, Wait.OUTBID, Wait.LEASE_OVER, *guessed
    others = (Wait.TOO_FEW_GPUS, Wait.BEHIND_HEAD, Wait.ORDER, *compared)
    assert causes["policy_order"] == sum(4**code for code in others)


@settings(max_examples=examples(60))
@given(rows=workloads, policy=st.sampled_from(["fifo", "best-effort", "srtf", "tiresias-las"]))
def test_the_causes_of_delay_add_up_to_the_delay(rows: Rows, policy: str) -> None:
    result = result_of(rows, 4, policy)
    waited_s = result.outcome.columns["waiting_us"].sum() / SECOND_US

    assert sum(result.summary["delay_causes_s"].values()) == pytest.approx(waited_s)


@settings(max_examples=examples(60))
@given(rows=workloads)
def test_utilisation_is_total_service_over_capacity(rows: Rows) -> None:
    outcome = result_of(rows, 4, "srtf").outcome
    served_us = outcome.columns["attained_gpu_us"].sum()
    span_us = outcome.columns["end_us"].max() - outcome.workload.submit_us.min()

    assert gpu_utilization(outcome) == pytest.approx(served_us / (4 * span_us))
