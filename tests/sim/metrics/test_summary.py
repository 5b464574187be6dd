"""The figures of a run, computed by hand and as properties."""

from __future__ import annotations

import json
from dataclasses import astuple
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet import simulate
from motet.domain.units import SECOND_US
from motet.domain.wait import Wait
from motet.report.rendering.json_text import to_json
from motet.sim.metrics.finish_time import FinishTimes
from motet.sim.metrics.summary import (
    Summary,
    delay_causes_s,
    gpu_utilization,
)
from small_traces import QUEUE_OF_THREE, Rows, result_of

workloads = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 30), st.integers(1, 4)), min_size=1, max_size=20
)
KEYS = [
    *("policy", "params", "seed", "trace_sha256", "jobs", "finished", "jct_s", "queueing_delay_s"),
    *("delay_causes_s", "makespan_s", "gpu_utilization", "preemptions", "migrations"),
    *("restart_costs", "finish_time_fairness", "placement_score", "events", "decisions", "wall_s"),
    *("compile_s", "missing_inputs", "knows_durations"),
]


def test_three_jobs_one_after_the_other() -> None:
    outcome = result_of(QUEUE_OF_THREE).outcome
    summary = Summary.of(outcome, FinishTimes.of_outcome(outcome))

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
    rho = FinishTimes.of_outcome(result_of([(5, 60, 2)]).outcome).rho_of_jobs

    np.testing.assert_array_equal(rho, [1.0])


def test_rho_of_two_consecutive_jobs() -> None:
    """Both want both GPUs for 100 s. With half of the cluster each they take 200 s."""
    rho = FinishTimes.of_outcome(result_of([(0, 100, 2), (0, 100, 2)]).outcome).rho_of_jobs

    np.testing.assert_allclose(rho, [100 / 200, 200 / 200])


def ideal_times(rows: Rows, gpus: int) -> list[Fraction]:
    """On shares of their own: from one arrival or end to the next, in exact fractions."""
    left = {number: Fraction(length * width) for number, (_, length, width) in enumerate(rows)}
    ends: dict[int, Fraction] = {}
    now = Fraction(min(submit for submit, _, _ in rows))
    while len(ends) < len(rows):
        here = [each for each in left if rows[each][0] <= now and each not in ends]
        speed = {each: min(Fraction(gpus, len(here)), Fraction(rows[each][2])) for each in here}
        to_come = [submit - now for submit, _, _ in rows if submit > now]
        passed = min([*to_come, *(left[each] / speed[each] for each in here)])
        for each in here:
            left[each] -= passed * speed[each]
        now += passed
        ends |= {each: now for each in here if not left[each]}
    return [ends[number] - rows[number][0] for number in range(len(rows))]


@settings(max_examples=examples(60))
@given(rows=workloads)
def test_the_ideal_time_is_that_with_an_equal_share_at_every_moment(rows: Rows) -> None:
    outcome = result_of(rows, 4, "srtf").outcome
    rows = [
        (submit_us // SECOND_US, length_us // SECOND_US, gpus)
        for submit_us, length_us, gpus in zip(
            *(outcome.workload.submit_us.tolist(), outcome.workload.duration_us.tolist()),
            outcome.workload.gpus.tolist(),
            strict=True,
        )
    ]

    expected = [float(each) * SECOND_US for each in ideal_times(rows, 4)]
    np.testing.assert_allclose(FinishTimes.of_outcome(outcome).ideal_us_of_jobs, expected)


@pytest.mark.parametrize("policy", ["best-effort", "srtf", "tiresias-las", "gandiva", "themis"])
def test_all_policies_are_compared_with_the_same_ideal_times(policy: str) -> None:
    rows = [(0, 30, 4), (0, 20, 1), (3, 10, 3), (5, 40, 2), (9, 1, 1)]
    outcomes = [result_of(rows, 4, name).outcome for name in ("fifo", policy)]
    ideal_us = [FinishTimes.of_outcome(each).ideal_us_of_jobs for each in outcomes]

    np.testing.assert_array_equal(*ideal_us)


def test_a_cancelled_job_takes_no_share_afterwards(tmp_path: Path) -> None:
    trace = tmp_path / "jobs.csv"
    trace.write_text("job_id,submit_time,num_gpus,duration,cancel_time\na,0,2,100,\nb,0,2,100,20\n")
    outcome = simulate(trace, "1x2", "fifo").runs[0].outcome

    ideal_us = FinishTimes.of_outcome(outcome).ideal_us_of_jobs
    assert ideal_us[0] == pytest.approx((20 + 90) * SECOND_US)


def test_a_job_without_duration_has_no_rho() -> None:
    rho = FinishTimes.of_outcome(result_of([(0, 0, 1), (0, 10, 1)]).outcome).rho_of_jobs

    np.testing.assert_array_equal(np.isnan(rho), [True, False])


def test_waits_for_quota_are_fair_share_delay_and_waits_for_locality_fragmentation() -> None:
    outcome = result_of(QUEUE_OF_THREE).outcome
    outcome.waited_us[:] = 0
    for code in Wait:
        outcome.waited_us[code, 0] = 2**code * SECOND_US

    causes = delay_causes_s(outcome)

    queues = Wait.QUOTA, Wait.SHARE, Wait.QUEUE_LIMIT, Wait.QUEUE_GUARANTEE
    assert causes["fair_share"] == sum(2**code for code in queues)
    beside = 2**Wait.TOO_FEW_CPUS + 2**Wait.TOO_LITTLE_MEMORY + 2**Wait.GROUP_MEMORY
    near = 2**Wait.LOCALITY + 2**Wait.BEHIND_LOCALITY
    assert causes["fragmentation"] == near + beside + 2**Wait.MACHINES_DRAINED
    guessed = Wait.LEFT_UNKNOWN, Wait.FALL_UNKNOWN
    compared = Wait.LESS_PROGRESS, Wait.MORE_LEFT, Wait.OUTBID, Wait.LEASE_OVER, *guessed
    delayed = Wait.RESTART_DELAYED, Wait.MIN_RUNTIME, Wait.PREEMPTION_RATE, Wait.QUEUE_HELD
    others = (Wait.TOO_FEW_GPUS, Wait.BEHIND_HEAD, Wait.ORDER, Wait.NO_GAIN, *delayed, *compared)
    assert causes["policy_order"] == sum(2**code for code in others)


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
