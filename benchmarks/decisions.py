"""CPU-seconds of one decision of every policy: 10,000 jobs wait, and 1,000 run on 80 % of the GPUs.

The crowds differ in what may make a policy slow: queues, queues in queues, searches of eight jobs,
jobs that all need other CPUs and bytes, elastic jobs. Compiled code is warm. Losses and speeds of
elastic jobs were fitted before, as in `slaq_decisions`.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from motet.domain.estimates import MachineSpeeds
from motet.domain.policy import Policy
from motet.domain.snapshot import Snapshot
from motet.domain.units import SECOND_US
from motet.engine.policy_loading.catalogue import built_in_policies
from motet.policies.drf import Drf
from motet.policies.optimus import Optimus
from motet.policies.tetris import Tetris
from motet.policies.themis import Themis
from motet.policies.tiresias import TiresiasGittins
from motet.policies.yarn_cs import YarnCs
from support.crowded_cluster import NOW_US, RUNNING, WAITING, Crowd, crowded, seen_by
from support.figures import Figure, parser, report
from support.side_by_side import cpu_s

LIMIT_S, REPETITIONS = 0.3, 5
LEASE_US = 300 * SECOND_US
QUEUES = tuple(f"q{number}" for number in range(200))
NESTED = tuple(f"o{number % 10}/q{number}" for number in range(200))
CROWDS = {
    "one queue": Crowd(),
    "200 queues": Crowd(queues=QUEUES),
    "200 queues in 10": Crowd(queues=NESTED),
    "searches": Crowd(has_searches=True),
    "own demands": Crowd(queues=QUEUES, has_demands=True),
    "elastic": Crowd(queues=QUEUES, is_elastic=True),
    "elastic searches": Crowd(has_searches=True, is_elastic=True),
}


def figure(name: str, policy: Policy, snapshot: Snapshot) -> Figure:
    """The median of some decisions after one that does not count."""
    seen = seen_by(policy, snapshot)
    return _measured(name, policy, seen)


def _measured(name: str, policy: Policy, seen: Snapshot) -> Figure:
    running = int(np.count_nonzero(policy.decide(seen).gpus))
    took_s = statistics.median(cpu_s(lambda: policy.decide(seen)) for _ in range(REPETITIONS))
    measured = f"{took_s * 1e3:.3g} CPU-ms"
    return Figure(name, measured, f"{running:,} run", took_s, LIMIT_S, at_least=False)


def variants(snapshots: dict[str, Snapshot]) -> Iterator[Figure]:
    """Parameters and moments that make a decision longer than by default."""
    one, queues = snapshots["one queue"], snapshots["200 queues"]
    demands, elastic = snapshots["own demands"], snapshots["elastic"]
    yield figure("drf, not preemptive, 200 queues", Drf(preemptive=False), queues)
    yield figure("gittins without thresholds", TiresiasGittins(thresholds=()), one)
    yield figure("yarn-cs, 200 quotas", YarnCs(quotas="*:100"), demands)
    yield figure("tetris, fairness 0.5", Tetris(fairness=0.5), demands)
    for name, snapshot in (("rigid", one), ("elastic", elastic)):
        yield _measured(f"themis, leases hold, {name}", Themis(), leased(snapshot))
    yield _measured("optimus, slow machines", Optimus(), slowed(seen_by(Optimus(), elastic)))


def leased(snapshot: Snapshot) -> Snapshot:
    """Between two of Themis' auctions: only free GPUs are handed out."""
    seen, runs = seen_by(Themis(), snapshot), snapshot.jobs.held_gpus > 0
    ends_us = NOW_US + LEASE_US
    columns = {
        "lease_us": np.where(runs, ends_us, 0),
        "next_auction_us": np.full(len(runs), ends_us),
    }
    return replace(seen, memory={**seen.memory, **columns})


def slowed(snapshot: Snapshot) -> Snapshot:
    """Every tenth machine computes four times as long."""
    machines = np.arange(snapshot.cluster.size)
    speeds = MachineSpeeds(np.where(machines % 10, 1.0, 4.0), np.full_like(machines, NOW_US))
    return replace(snapshot, machine_speeds=speeds)


def main() -> None:
    """Every policy over every crowd."""
    arguments = parser(main.__doc__ or "").parse_args()
    scale = 10 if arguments.quick else 1
    sizes = {"running": RUNNING // scale, "waiting": WAITING // scale}
    snapshots = {name: crowded(replace(crowd, **sizes)) for name, crowd in CROWDS.items()}
    figures = [
        figure(f"{policy}, {crowd}", made(), snapshot)
        for policy, made in built_in_policies().items()
        for crowd, snapshot in snapshots.items()
    ]
    title = f"One decision: {sizes['waiting']:,} jobs wait, {sizes['running']:,} run"
    report("decisions", title, [*figures, *variants(snapshots)], plot=False)


if __name__ == "__main__":
    main()
