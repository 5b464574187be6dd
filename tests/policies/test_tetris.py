"""Jobs go where their demands point in the direction of what is free; short ones first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.domain.snapshot import Queues
from motet.domain.units import SECOND_US
from motet.engine.policy_loading.catalogue import make_policy
from motet.placement.planners import ConsolidatingPlanner
from motet.policies.tetris import Tetris
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere
from motet.sim.workload.workload import Workload
from policy_snapshots import snapshot
from tetris_oracle import packed

Job = tuple[int, int, int, int]
"""Seconds, GPUs, CPUs, bytes."""


def run(jobs: list[Job], cluster: ClusterSpec, policy: Any, **columns: Any) -> Outcome:
    seconds, gpus, cpus, memory_bytes = zip(*jobs, strict=True)
    workload = Workload.of(
        [f"j{number}" for number in range(len(jobs))],
        [0] * len(jobs),
        np.array(seconds) * SECOND_US,
        gpus,
        cpus=cpus,
        memory_bytes=memory_bytes,
        **columns,
    )
    queues, planner = Queues.without_quotas(workload.queue_names), ConsolidatingPlanner()
    return Simulation(workload, cluster, policy, planner, SameEverywhere(), queues=queues).run()


def where(outcome: Outcome, job: int) -> list[int]:
    return outcome.holds.machine[outcome.holds.job == job].tolist()


def starts_s(outcome: Outcome) -> list[float]:
    return (outcome.columns["start_us"] / SECOND_US).tolist()


def test_a_job_runs_on_the_machine_with_the_best_alignment() -> None:
    """1/4 x 4/4 of the GPUs and 1/8 x 8/8 of the CPUs on either, 40/100 or 40/400 of the memory."""
    cluster = ClusterSpec.of([4, 4], cpus=[8, 8], memory_bytes=[400, 100])
    assert where(run([(9, 1, 1, 40)], cluster, Tetris()), 0) == [1]


def test_a_job_avoids_a_machine_where_what_it_needs_is_used_up() -> None:
    """With 40 of 100 bytes free 40/100 x 40/100, on the empty machine 40/100 x 100/100."""
    cluster = ClusterSpec.of([4, 4], cpus=[8, 8], memory_bytes=[100, 100])
    outcome = run([(9, 1, 1, 60), (90, 1, 1, 40)], cluster, Tetris())
    assert (where(outcome, 0), where(outcome, 1)) == ([0], [1])


def test_of_two_gangs_the_better_aligned_one_packs_first() -> None:
    """Alignment 2/2 + 8/8 against 2/2 + 1/8; both cannot run at once."""
    jobs = [(10, 2, 1, 0), (10, 2, 8, 0)]
    outcome = run(jobs, ClusterSpec.of([2], cpus=[8]), Tetris(short_jobs=0.0))
    assert starts_s(outcome) == [10, 0]


def test_remaining_work_wins_where_it_counts_enough() -> None:
    jobs = [(10, 2, 1, 0), (100, 2, 8, 0)]
    cluster = ClusterSpec.of([2], cpus=[8])
    assert starts_s(run(jobs, cluster, Tetris(short_jobs=0.0))) == [100, 0]
    assert starts_s(run(jobs, cluster, Tetris(short_jobs=1.0))) == [0, 10]


def test_alike_jobs_run_shortest_first() -> None:
    jobs = [(30, 2, 0, 0), (10, 2, 0, 0), (20, 2, 0, 0)]
    assert starts_s(run(jobs, ClusterSpec.of([2]), Tetris())) == [30, 0, 10]


def test_a_gang_that_no_machine_holds_takes_those_that_hold_most() -> None:
    """Four GPUs of machine 1; of the others, which both hold the rest, the one that it fills."""
    cluster = ClusterSpec.of([4, 4, 4], memory_bytes=[20, 40, 30])
    outcome = run([(10, 6, 0, 60)], cluster, Tetris())
    assert outcome.holds.machine.tolist() == [0, 1]
    assert outcome.holds.gpus.tolist() == [2, 4]


def test_fairness_prefers_the_queue_with_the_smallest_holdings() -> None:
    """All of queue "a" is shorter than "b"'s only job."""
    jobs = [(10, 1, 0, 0), (10, 1, 0, 0), (10, 1, 0, 0), (50, 1, 0, 0)]
    queues = ["a", "a", "a", "b"]
    cluster = ClusterSpec.of([2])
    assert starts_s(run(jobs, cluster, Tetris(), queues=queues)) == [0, 0, 10, 10]
    fair = Tetris(fairness=0.9)
    assert starts_s(run(jobs, cluster, fair, queues=queues)) == [0, 10, 20, 0]


def alignment(job: Job, free: tuple[int, ...], sizes: tuple[int, ...]) -> float:
    """By the paper's definition, for one machine that holds the gang."""
    return sum(
        needed / size * left / size for needed, left, size in zip(job[1:], free, sizes, strict=True)
    )


@given(
    machines=st.lists(
        st.tuples(st.integers(1, 4), st.integers(1, 8), st.integers(1, 50)), min_size=1, max_size=3
    ),
    demand=st.tuples(st.just(5), st.integers(1, 4), st.integers(0, 8), st.integers(0, 50)),
)
def test_a_single_gang_gets_the_machine_with_the_largest_dot_product(
    machines: list[tuple[int, int, int]], demand: Job
) -> None:
    able = [
        number
        for number, sizes in enumerate(machines)
        if all(needed <= size for needed, size in zip(demand[1:], sizes, strict=True))
    ]
    if not able:
        return
    gpus, cpus, memory_bytes = zip(*machines, strict=True)
    cluster = ClusterSpec.of(gpus, cpus=cpus, memory_bytes=memory_bytes)
    (chosen,) = where(run([demand], cluster, Tetris()), 0)
    scores = {number: alignment(demand, machines[number], machines[number]) for number in able}
    assert chosen in able
    assert scores[chosen] == pytest.approx(max(scores.values()))


MACHINE = st.tuples(st.integers(1, 8), st.integers(0, 9), st.integers(0, 50))
"""GPUs, CPUs and bytes; 0: not counted."""


@settings(max_examples=examples(300))
@given(
    machines=st.lists(MACHINE, min_size=1, max_size=8),
    used=st.lists(st.tuples(*[st.floats(0, 1)] * 3), min_size=8, max_size=8),
    jobs=st.lists(
        st.tuples(st.integers(1, 20), st.integers(1, 12), st.integers(0, 12), st.integers(0, 70)),
        max_size=25,
    ),
    queues=st.lists(st.integers(0, 3), min_size=25, max_size=25),
    runs=st.lists(st.sampled_from([False, False, False, True]), min_size=25, max_size=25),
    short_jobs=st.sampled_from([0.0, 0.5, 1.0, 4.0]),
    fairness=st.sampled_from([0.0, 0.3, 0.5, 0.9]),
)
def test_decides_as_if_every_job_were_tried_on_every_machine_after_each_start(
    machines: list[tuple[int, int, int]],
    used: list[tuple[float, float, float]],
    jobs: list[Job],
    queues: list[int],
    runs: list[bool],
    short_jobs: float,
    fairness: float,
) -> None:
    size = len(jobs)
    sizes, remaining_us, needed = np.array(machines), [job[0] for job in jobs], np.array(jobs)
    needed = needed.reshape(-1, 4)[:, 1:]
    seen = replace(
        snapshot(
            ClusterSpec.of(sizes[:, 0], cpus=sizes[:, 1], memory_bytes=sizes[:, 2]),
            size,
            gpus=needed[:, 0],
            cpus=needed[:, 1],
            memory_bytes=needed[:, 2],
            queue=queues[:size],
            held_gpus=np.where(runs[:size], needed[:, 0], 0),
            remaining_us=remaining_us,
        ),
        **free_columns(sizes - (sizes * np.array(used)[: len(machines)]).astype(np.int64)),
    )
    decision = Tetris(short_jobs, fairness).decide(seen)
    expected = packed(seen, short_jobs, fairness)
    assert list(decision.places.items()) == list(expected.places.items())
    assert np.flatnonzero(decision.gpus).tolist() == sorted(
        [*np.flatnonzero(seen.jobs.held_gpus), *expected.places]
    )
    codes = {row: int(code) for row, code in enumerate(decision.reasons.code) if code}
    assert codes == expected.code


def free_columns(free: Any) -> dict[str, Any]:
    return {"free_gpus": free[:, 0], "free_cpus": free[:, 1], "free_memory_bytes": free[:, 2]}


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"short_jobs": "-1"}, "short_jobs=-1"), ({"fairness": "1"}, "fairness=1")],
)
def test_parameters_that_cannot_be_are_refused(settings: dict[str, str], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        make_policy("tetris", Tetris, settings)
