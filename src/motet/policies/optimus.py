"""Optimus: workers and servers go where they save most time (Peng et al., EuroSys 2018).

How long a job still needs is what it has left to do, as predicted from its loss, divided by the
speed that was fitted for its workers and servers (section 3). Every job gets the least that it runs
with; then a worker or a server at a time goes to the job that it saves most time per GPU, until
nobody gains any more (section 4.1). Machines: evenly over as few as possible (section 4.2). Workers
on a machine that has become slow are replaced by others elsewhere.

Departures: it decides at submissions and completions, too; who comes first when not even the least
is there for all, the paper leaves open: here whose least GPU time left. A job is resized only where
that pays for itself; the paper counts on rare decisions. GPUs of a slow machine stay idle unless
somebody would have to wait.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from motet.allocation.damping import damped
from motet.allocation.keep_current import next_multiple
from motet.allocation.leave_slow_machines import Exodus, exodus_from
from motet.allocation.marginal_gain import allot
from motet.allocation.marginal_utility import Speeds, Worth, speeds_with
from motet.allocation.max_min_share import Dealt, demand_of
from motet.allocation.order import order_by
from motet.domain.arrays import Bools, Floats, Ints
from motet.domain.decision import Decision, Reasons
from motet.domain.errors import BadInput
from motet.domain.estimates import Estimates
from motet.domain.policy import Policy
from motet.domain.snapshot import Placement, Snapshot
from motet.domain.units import NEVER_US, SHORTEST_S, check_seconds, microseconds
from motet.domain.wait import Wait
from motet.estimate.stragglers import stragglers
from motet.placement.avoiding import place_avoiding
from motet.placement.even import Gangs


@dataclass(frozen=True)
class Optimus(Policy):
    """`interval_s`: decide at its multiples. `rescale_s`: what it costs a job to go on with other
    numbers of workers and servers; it keeps those that it has where its end would change by less.
    `spread_evenly`: choose machines as Optimus does (false: as `placement` says), which is
    needed for what follows. `straggler_ratio`: a machine on which computing takes so many times as
    long as on others is left where that pays for `rescale_s`, and avoided (inf: none is);
    `straggler_memory_s`: so long after the last job trained on it.
    """

    interval_s: float = 600.0
    rescale_s: float = 10.0
    spread_evenly: bool = True
    straggler_ratio: float = 2.0
    straggler_memory_s: float = 600.0

    wants_estimates: ClassVar[bool] = True
    wants_machine_speeds: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_seconds("interval_s", self.interval_s, SHORTEST_S)
        check_seconds("rescale_s", self.rescale_s)
        check_seconds("straggler_memory_s", self.straggler_memory_s)
        if not self.straggler_ratio > 1:
            raise BadInput(
                f"straggler_ratio={self.straggler_ratio}: give more than 1, inf for never"
            )

    def decide(self, snapshot: Snapshot) -> Decision:
        """From an empty cluster, each time anew; who would hardly change stays as it is."""
        jobs, demand = snapshot.jobs, demand_of(snapshot.jobs)
        speeds = Speeds.of(snapshot.wanted_estimates)
        slowest = speeds_with(speeds, jobs.min_workers, jobs.min_servers)
        is_known = np.isfinite(snapshot.wanted_estimates.steps_left)
        steps_left = _steps_left(snapshot.wanted_estimates, slowest)
        worth = Worth.of_time(speeds, steps_left)
        least_gpus = jobs.min_workers * jobs.worker_gpus + jobs.min_servers * jobs.server_gpus
        gpu_s = steps_left / slowest * least_gpus
        order = order_by(gpu_s, jobs.number)
        exodus = self._exodus(snapshot, speeds, steps_left)
        gpus = snapshot.gpu_count if exodus is None else exodus.gpus
        dealt = allot(order, demand, jobs.number, worth, gpus)
        if self.rescale_s > 0:
            dealt = damped(dealt, order, jobs, worth, gpus, self._limits(exodus))
        places = _places(snapshot, dealt, exodus) if self._chooses_machines(snapshot) else {}
        next_us = next_multiple(snapshot.now_us, microseconds(self.interval_s))
        may_be_slowed = snapshot.machine_speeds is not None and dealt.gpus.any()
        return Decision(
            dealt.gpus,
            _reasons(dealt, gpu_s, is_known),
            places,
            workers=dealt.workers,
            servers=dealt.servers,
            recheck_at_us=next_us if jobs.is_elastic.any() or may_be_slowed else NEVER_US,
            exclude={} if exodus is None else exodus.left_by(places),
        )

    def _chooses_machines(self, snapshot: Snapshot) -> bool:
        """By GPUs only: where CPUs or memory count, the planner finds machines that have them."""
        return self.spread_evenly and snapshot.free_cpus is None

    def _exodus(self, snapshot: Snapshot, speeds: Speeds, steps_left: Floats) -> Exodus | None:
        """From stragglers, if there are any."""
        measured = snapshot.machine_speeds
        if measured is None or not self._chooses_machines(snapshot):
            return None
        memory_us = microseconds(self.straggler_memory_s)
        slow = stragglers(measured, snapshot.now_us, self.straggler_ratio, memory_us)
        if not slow.any():
            return None
        ends_are_known = np.isfinite(snapshot.wanted_estimates.steps_left).any()
        left = steps_left if ends_are_known else np.full(len(steps_left), np.inf)
        return exodus_from(slow, snapshot, speeds, left, self.rescale_s)

    def _limits(self, exodus: Exodus | None) -> Floats | float:
        """Whose end changes by less keeps its workers and servers; who has to move anyway may have
        any others."""
        if exodus is None or not exodus.has_room:
            return self.rescale_s
        return np.where(exodus.leaves, -1.0, self.rescale_s)


def _steps_left(estimates: Estimates, slowest: Floats) -> Floats:
    """At least one. Who has no end in sight needs as long with its least as others, in the
    median."""
    left = np.maximum(estimates.steps_left, 1.0)
    is_known = np.isfinite(left)
    usual_s = float(np.median(left[is_known] / slowest[is_known])) if is_known.any() else 1.0
    return np.where(is_known, left, usual_s * slowest)


def _reasons(dealt: Dealt, gpu_s: Floats, is_known: Bools) -> Reasons:
    """Who waits has more left than those that run, as predicted or as taken for granted, or is too
    wide for what is left. Times that nothing is known of are no measure."""
    runs = dealt.gpus > 0
    most = float(gpu_s[runs].max()) if runs.any() else float("inf")
    has_more = ~runs & (gpu_s >= most)
    more = np.where(is_known, int(Wait.MORE_LEFT), int(Wait.LEFT_UNKNOWN))
    code = np.where(has_more, more, dealt.reasons.code)
    measure = gpu_s if is_known.any() else np.full(len(gpu_s), np.nan)
    return replace(dealt.reasons, code=code, measure=measure, bar=most)


def _places(snapshot: Snapshot, dealt: Dealt, exodus: Exodus | None) -> dict[int, Placement]:
    """Of the jobs that come to GPUs, change or leave a slow machine; others stay where they are."""
    jobs = snapshot.jobs
    stays = (jobs.held_gpus == dealt.gpus) & (jobs.held_workers == dealt.workers)
    stays &= jobs.held_servers == dealt.servers
    slow = np.zeros(snapshot.cluster.size, dtype=np.bool_) if exodus is None else exodus.slow
    if exodus is not None:
        room = int(_free_gpus(snapshot, stays)[~slow].sum() - dealt.gpus[~stays].sum())
        stays &= ~exodus.movers(stays, jobs.number, room)
    rows = np.flatnonzero((dealt.gpus > 0) & ~stays)
    if not len(rows):
        return {}
    rows = rows[np.argsort(jobs.number[rows])]
    columns = (dealt.workers, dealt.servers, jobs.worker_gpus, jobs.server_gpus)
    gangs = Gangs(*(column[rows] for column in columns))
    found = place_avoiding(_free_gpus(snapshot, stays), slow, gangs)
    return dict(zip(rows.tolist(), found, strict=True))


def _free_gpus(snapshot: Snapshot, stays: Bools) -> Ints:
    """By machine, once all others have given back what they hold."""
    jobs, free = snapshot.jobs, snapshot.free_gpus.copy()
    for number in jobs.number[(jobs.held_gpus > 0) & ~stays].tolist():
        place = snapshot.placements[number]
        free[list(place.machines)] += place.counts
    return free


POLICIES = {"optimus": Optimus}
