"""Who held which machine's GPUs: nothing is lost, nothing is given out twice."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.cluster import ClusterSpec
from motet.domain.units import SECOND_US
from motet.interfaces.simulation_runs import Scenario, run_one
from motet.sim.experiment import Experiment
from motet.sim.replay.outcome import Outcome
from small_traces import Rows, result_of, workload_of

CLUSTER = ClusterSpec.of([2, 4, 2])
POLICIES = ("yarn-cs", "srtf", "tiresias-las", "gandiva")

workloads = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 90), st.integers(1, 8)), min_size=1, max_size=15
)


def outcome_of(rows: Rows, policy: str, **others: str) -> Outcome:
    scenario = Scenario(workload_of(rows), "0" * 64, CLUSTER)
    return run_one(Experiment(policy, others), scenario).outcome


def shared_at(outcome: Outcome) -> Iterator[tuple[int, list[tuple[int, int, int, int]]]]:
    """Placements in the middle of every interval: job, machine, GPUs and partner."""
    holds = outcome.holds
    edges = np.unique(np.concatenate([holds.start_us, holds.end_us]))
    for now_us in ((edges[:-1] + edges[1:]) // 2).tolist():
        here = np.flatnonzero((holds.start_us <= now_us) & (now_us < holds.end_us))
        columns = (holds.job, holds.machine, holds.gpus, holds.partner)
        yield now_us, list(zip(*(column[here].tolist() for column in columns), strict=True))


@settings(max_examples=examples(40))
@given(rows=workloads, policy=st.sampled_from(POLICIES))
def test_held_gpu_time_equals_attained_service(rows: Rows, policy: str) -> None:
    outcome = outcome_of(rows, policy)
    holds = outcome.holds
    share = np.where(holds.partner == -1, 2, 1)
    held = np.bincount(
        holds.job, holds.gpus * (holds.end_us - holds.start_us) * share, minlength=len(rows)
    )

    attained = 2 * outcome.columns["attained_gpu_us"]
    assert np.abs(held - attained).max() <= 2 * 8 * len(holds)  # a microsecond at each change


@settings(max_examples=examples(40))
@given(rows=workloads, policy=st.sampled_from(POLICIES))
def test_no_machine_gives_more_than_it_has(rows: Rows, policy: str) -> None:
    for _, held in shared_at(outcome_of(rows, policy)):
        used = np.zeros(CLUSTER.size)
        for _, machine, gpus, partner in held:
            used[machine] += gpus if partner == -1 else gpus / 2
        assert (used <= CLUSTER.gpus).all()


@settings(max_examples=examples(40))
@given(rows=workloads)
def test_packed_jobs_share_their_placement(rows: Rows) -> None:
    for _, held in shared_at(outcome_of(rows, "gandiva")):
        places = {(job, machine, gpus) for job, machine, gpus, _ in held}
        for _, machine, gpus, partner in held:
            assert partner == -1 or (partner, machine, gpus) in places


def test_two_that_share_are_parted_in_the_table_when_one_of_them_leaves() -> None:
    result = result_of([(0, 200, 2), (0, 30, 2)], policy="gandiva")
    rows = list(result.placement_rows())
    end = next(row[4] for row in rows if row[0] == "j1")

    assert rows == [
        ("j0", "m0", 2, "0", end, "j1"),
        ("j1", "m0", 2, "0", end, "j0"),
        ("j0", "m0", 2, end, rows[-1][4], ""),
    ]


@pytest.mark.parametrize("policy", POLICIES)
def test_the_end_of_the_last_hold_is_the_end_of_the_job(policy: str) -> None:
    outcome = outcome_of([(0, 30, 2), (5, 60, 8), (6, 10, 1)], policy)
    last_us = [int(outcome.holds.end_us[outcome.holds.job == job].max()) for job in range(3)]

    assert last_us == outcome.columns["end_us"].tolist()
    assert int(outcome.holds.start_us.min()) == 0 * SECOND_US
