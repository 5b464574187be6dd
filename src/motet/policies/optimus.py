"""Optimus: workers and servers go where they save most time (Peng et al., EuroSys 2018).

How long a job still needs is what it has left to do, as predicted from its loss, divided by the
speed that was fitted for its workers and servers (section 3). Every job gets the least that it runs
with; then a worker or a server at a time goes to the job that it saves most time per GPU, until
nobody gains any more (section 4.1). Machines: evenly over as few as possible (section 4.2).

Departures: it decides at submissions and completions, too; who comes first when not even the least
is there for all, the paper leaves open: here whose least GPU time left. A job is resized only where
that pays for itself; the paper counts on rare decisions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from motet.allocation.damping import damped
from motet.allocation.deal import Dealt, demand_of
from motet.allocation.hold import next_multiple
from motet.allocation.marginal_gain import allot
from motet.allocation.order import order_by
from motet.allocation.worth import Speeds, Worth, speeds_with
from motet.domain.decision import Decision, Reasons, Wait
from motet.domain.errors import BadInput
from motet.domain.estimates import Estimates
from motet.domain.snapshot import Placement, Snapshot
from motet.domain.units import NEVER_US, microseconds
from motet.placement.even import Gangs, place_evenly

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Optimus:
    """`interval_s`: decide at its multiples. `rescale_s`: what it costs a job to go on with other
    numbers of workers and servers; it keeps those that it has where its end would change by less.
    `spread_evenly`: choose machines as Optimus does (false: as `placement` says).
    """

    interval_s: float = 600.0
    rescale_s: float = 10.0
    spread_evenly: bool = True

    memory_columns: ClassVar[dict[str, int]] = {}
    wants_estimates: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 1e-6 <= self.interval_s < float("inf"):
            raise BadInput(f"interval_s={self.interval_s}: give seconds, at least 0.000001")
        if not 0 <= self.rescale_s < float("inf"):
            raise BadInput(f"rescale_s={self.rescale_s}: give seconds, not below 0")

    def decide(self, snapshot: Snapshot) -> Decision:
        """From an empty cluster, each time anew; who would hardly change stays as it is."""
        jobs, demand = snapshot.jobs, demand_of(snapshot.jobs)
        speeds = Speeds.of(snapshot.wanted_estimates)
        slowest = speeds_with(speeds, jobs.min_workers, jobs.min_servers)
        steps_left = _steps_left(snapshot.wanted_estimates, slowest)
        worth = Worth.of_time(speeds, steps_left)
        least_gpus = jobs.min_workers * jobs.worker_gpus + jobs.min_servers * jobs.server_gpus
        gpu_s = steps_left / slowest * least_gpus
        order = order_by(gpu_s, jobs.number)
        dealt = allot(order, demand, jobs.number, worth, snapshot.gpu_count)
        if self.rescale_s > 0:
            dealt = damped(dealt, order, jobs, worth, snapshot.gpu_count, self.rescale_s)
        # It looks at GPUs only: where CPUs or memory count, the planner finds machines with them.
        is_free_to_choose = self.spread_evenly and snapshot.free_cpus is None
        places = _places(snapshot, dealt) if is_free_to_choose else {}
        next_us = next_multiple(snapshot.now_us, microseconds(self.interval_s))
        return Decision(
            dealt.gpus,
            _reasons(dealt, gpu_s),
            places,
            workers=dealt.workers,
            servers=dealt.servers,
            recheck_at_us=next_us if jobs.is_elastic.any() else NEVER_US,
        )


def _steps_left(estimates: Estimates, slowest: Floats) -> Floats:
    """At least one. Who has no end in sight needs as long with its least as others, in the
    median."""
    left = np.maximum(estimates.steps_left, 1.0)
    is_known = np.isfinite(left)
    usual_s = float(np.median(left[is_known] / slowest[is_known])) if is_known.any() else 1.0
    return np.where(is_known, left, usual_s * slowest)


def _reasons(dealt: Dealt, gpu_s: Floats) -> Reasons:
    """Who waits has more left than those that run, or is too wide for what is left."""
    runs = dealt.gpus > 0
    most = float(gpu_s[runs].max()) if runs.any() else float("inf")
    has_more = ~runs & (gpu_s >= most)
    code = np.where(has_more, int(Wait.MORE_LEFT), dealt.reasons.code)
    return replace(dealt.reasons, code=code, measure=gpu_s, bar=most)


def _places(snapshot: Snapshot, dealt: Dealt) -> dict[int, Placement]:
    """Of the jobs that come to GPUs or change; the others stay where they are."""
    jobs = snapshot.jobs
    stays = (jobs.held_gpus == dealt.gpus) & (jobs.held_workers == dealt.workers)
    stays &= jobs.held_servers == dealt.servers
    rows = np.flatnonzero((dealt.gpus > 0) & ~stays)
    if not len(rows):
        return {}
    rows = rows[np.argsort(jobs.number[rows])]
    free = snapshot.free_gpus.copy()
    for number in jobs.number[(jobs.held_gpus > 0) & ~stays].tolist():
        place = snapshot.placements[number]
        free[list(place.machines)] += place.counts
    columns = (dealt.workers, dealt.servers, jobs.worker_gpus, jobs.server_gpus)
    gangs = Gangs(*(column[rows] for column in columns))
    return dict(zip(rows.tolist(), place_evenly(free, gangs), strict=True))


POLICIES = {"optimus": Optimus}
