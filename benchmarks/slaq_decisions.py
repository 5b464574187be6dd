"""CPU-seconds of one decision of SLAQ and Optimus on clusters of the papers' sizes, compiled.

SLAQ: 4,000 jobs on 16,000 cores (the paper: hundreds of ms to seconds). Optimus: 4,000 jobs with
100,000 workers and servers on 16,000 machines (the paper: 5 s), all of which are to be placed.
Then the same jobs run, and a tenth of the machines has become slow: many of them are to be moved.
Losses and speeds were fitted before; refits are made as reports come, see `loss_curves`.
"""

from __future__ import annotations

import statistics
from dataclasses import replace

import numpy as np

from motet.domain.estimates import MachineSpeeds
from motet.domain.policy import Policy
from motet.domain.snapshot import Snapshot
from motet.policies.optimus import Optimus
from motet.policies.slaq import Slaq
from support.elastic_snapshots import elastic_snapshot
from support.figures import Figure, parser, report
from support.side_by_side import cpu_s

JOBS, REPETITIONS = 4_000, 5


def figure(name: str, policy: Policy, snapshot: Snapshot, limit_s: float) -> Figure:
    """The median of some decisions."""
    decision = policy.decide(snapshot)
    workers = 0 if decision.workers is None else int(decision.workers.sum())
    servers = 0 if decision.servers is None else int(decision.servers.sum())
    took_s = statistics.median(cpu_s(lambda: policy.decide(snapshot)) for _ in range(REPETITIONS))
    return Figure(
        name,
        f"{took_s * 1e3:.0f} CPU-ms",
        f"{workers + servers:,} tasks",
        took_s,
        limit_s,
        at_least=False,
    )


def with_slow_machines(snapshot: Snapshot, policy: Policy) -> Snapshot:
    """What the policy wants is done, then every tenth machine computes four times as long."""
    wanted, jobs = policy.decide(snapshot), snapshot.jobs
    free = snapshot.cluster.gpus.copy()
    for place in wanted.places.values():
        free[list(place.machines)] -= place.counts
    slow = np.arange(len(free)) % 10 == 0
    return replace(
        snapshot,
        jobs=replace(
            jobs,
            held_gpus=wanted.gpus,
            held_workers=wanted.workers,
            held_servers=wanted.servers,
        ),
        free_gpus=free,
        placements={int(jobs.number[row]): place for row, place in wanted.places.items()},
        machine_speeds=MachineSpeeds(np.where(slow, 4.0, 1.0), np.zeros(len(free), np.int64)),
    )


def main() -> None:
    """Every policy on its cluster."""
    arguments = parser(main.__doc__ or "").parse_args()
    jobs = JOBS // 10 if arguments.quick else JOBS
    cores = elastic_snapshot(jobs, machines=jobs // 8, gpus=32, servers=0, most=64)
    scarce = replace(cores, gpu_count=jobs // 2)
    machines = elastic_snapshot(jobs, machines=4 * jobs, gpus=7, servers=1, most=100)
    slowed = with_slow_machines(machines, Optimus())
    report(
        "slaq_decisions",
        f"One decision over {jobs:,} elastic jobs",
        [
            figure("slaq, 4 cores per job", Slaq(), cores, 0.3),
            figure("slaq, 2 jobs per core", Slaq(), scarce, 0.3),
            figure("optimus, with places", Optimus(), machines, 1.0),
            figure("optimus, slow machines", Optimus(), slowed, 1.0),
        ],
    )


if __name__ == "__main__":
    main()
