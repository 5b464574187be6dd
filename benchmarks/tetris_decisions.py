"""CPU-seconds of first decisions of Tetris and DRF over jobs that all ask for something else.

No two demands of GPUs, CPUs and memory are alike, so that no job can be looked at for another, and
all machines are empty. Then a whole simulation of such jobs under Tetris, all submitted at once.
"""

from __future__ import annotations

import statistics

import numpy as np

from motet.domain.cluster import ClusterSpec
from motet.domain.policy import Policy
from motet.domain.snapshot import Queues, Snapshot
from motet.domain.units import SECOND_US
from motet.engine.state.cluster_state import ClusterState
from motet.policies.drf import Drf
from motet.policies.tetris import Tetris
from motet.sim.experiment import Experiment
from motet.sim.workload.workload import Workload
from support.figures import Figure, parser, report
from support.side_by_side import cpu_s

REPETITIONS, GB = 3, 10**9
SIZES = {200: 3_000, 1_000: 10_000}
SIMULATED = 32, 2_000
LIMIT_S = {200: 1.0, 1_000: 5.0}


def machines(count: int) -> ClusterSpec:
    """Of 4 GPUs, 32 CPUs and 256 GB."""
    return ClusterSpec.of([4] * count, cpus=32, memory_bytes=256 * GB)


def distinct(jobs: int, most_gpus: int = 4) -> Workload:
    """1 to 10 CPUs and 1 to 80 GB per GPU, a median of 20 minutes; submitted at once."""
    rng = np.random.default_rng(0)
    gpus = rng.integers(1, most_gpus + 1, jobs)
    return Workload.of(
        [f"job-{number}" for number in range(jobs)],
        np.zeros(jobs),
        rng.lognormal(np.log(1200), 1.2, jobs) * SECOND_US,
        gpus,
        cpus=gpus * rng.integers(1, 11, jobs),
        memory_bytes=gpus * rng.uniform(1, 80, jobs) * GB,
    )


def first_snapshot(workload: Workload, cluster: ClusterSpec) -> Snapshot:
    """Everybody waits, and durations are known."""
    state = ClusterState(cluster, {}, {}, Queues.without_quotas(workload.queue_names))
    for number in range(len(workload)):
        columns = {"queue": 0, "gpus": 0, "cpus": 0, "memory_bytes": 0}
        known = {name: int(getattr(workload, name)[number]) for name in columns}
        left_us = int(workload.duration_us[number])
        state.submitted({"number": number, "remaining_us": left_us, **known})
    return state.snapshot()


def decision(name: str, policy: Policy, snapshot: Snapshot, limit_s: float | None) -> Figure:
    """The median of some, compiled."""
    started = int(np.count_nonzero(policy.decide(snapshot).gpus))
    took_s = statistics.median(cpu_s(lambda: policy.decide(snapshot)) for _ in range(REPETITIONS))
    return _figure(name, took_s, f"{started:,} start", limit_s)


def simulation(jobs: int, count: int) -> Figure:
    """From the first submission to the last completion."""
    workload, cluster = distinct(jobs), machines(count)
    took_s = cpu_s(lambda: Experiment("tetris").run(workload, cluster))
    return _figure(f"tetris, {jobs:,} jobs on {count} simulated", took_s, "", None)


def _figure(name: str, took_s: float, beside: str, limit_s: float | None) -> Figure:
    return Figure(name, f"{took_s:.2f} CPU-s", beside, took_s, limit_s, at_least=False)


def main() -> None:
    """Every policy on every cluster."""
    arguments = parser(main.__doc__ or "").parse_args()
    scale = 10 if arguments.quick else 1
    figures: list[Figure] = []
    for count, jobs in SIZES.items():
        size = f"{jobs // scale:,} jobs on {count // scale}"
        snapshot = first_snapshot(distinct(jobs // scale), machines(count // scale))
        gangs = first_snapshot(distinct(jobs // scale, 12), machines(count // scale))
        limit_s = LIMIT_S[count]
        figures += [
            decision(f"tetris, {size}", Tetris(), snapshot, limit_s),
            decision(f"tetris, {size}, gangs of up to 12", Tetris(), gangs, limit_s),
            decision(f"tetris, {size}, packing only", Tetris(short_jobs=0.0), snapshot, limit_s),
            decision(f"drf, {size}", Drf(), snapshot, limit_s),
        ]
    count, jobs = SIMULATED
    figures.append(simulation(jobs // scale, count))
    report("tetris_decisions", "First decisions over jobs that are all different", figures)


if __name__ == "__main__":
    main()
