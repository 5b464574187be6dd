"""Who held which machine's GPUs: nothing is lost, nothing is given out twice."""

from __future__ import annotations

from collections import Counter
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
    """Placements in the middle of every interval: job, machine, GPUs and number of sharers."""
    holds = outcome.holds
    edges = np.unique(np.concatenate([holds.start_us, holds.end_us]))
    for now_us in ((edges[:-1] + edges[1:]) // 2).tolist():
        here = np.flatnonzero((holds.start_us <= now_us) & (now_us < holds.end_us))
        columns = (holds.job, holds.machine, holds.gpus, holds.sharers)
        yield now_us, list(zip(*(column[here].tolist() for column in columns), strict=True))


@settings(max_examples=examples(40))
@given(rows=workloads, policy=st.sampled_from(POLICIES))
def test_held_gpu_time_equals_attained_service(rows: Rows, policy: str) -> None:
    outcome = outcome_of(rows, policy)
    holds = outcome.holds
    held_us = (holds.end_us - holds.start_us) / holds.sharers
    held = np.bincount(holds.job, holds.gpus * held_us, minlength=len(rows))
    attained = outcome.columns["attained_gpu_us"]
    assert np.abs(held - attained).max() <= 8 * len(holds)  # a microsecond at each change


@settings(max_examples=examples(40))
@given(rows=workloads, policy=st.sampled_from(POLICIES))
def test_no_machine_gives_more_than_it_has(rows: Rows, policy: str) -> None:
    for _, held in shared_at(outcome_of(rows, policy)):
        used = np.zeros(CLUSTER.size)
        for _, machine, gpus, sharers in held:
            used[machine] += gpus / sharers
        assert (used <= CLUSTER.gpus + 1e-9).all()


@settings(max_examples=examples(40))
@given(rows=workloads)
def test_packed_jobs_share_their_placement(rows: Rows) -> None:
    outcome = outcome_of(rows, "gandiva")
    company = outcome.holds.shared_with()
    assert [1 + len(others) for others in company] == outcome.holds.sharers.tolist()
    for _, held in shared_at(outcome):
        places = Counter((machine, gpus) for _, machine, gpus, sharers in held if sharers == 2)
        assert all(count % 2 == 0 for count in places.values())


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
