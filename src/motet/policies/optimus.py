"""Optimus: minimises remaining time by greedy allocation (Peng et al., EuroSys 2018).

A job's remaining time is its remaining work, predicted from its loss, divided by its speed, fitted
as a function of workers and servers (section 3). Every job gets its minimum; then one worker or
server at a time goes to the job with the largest time saving per GPU, until no job gains (section
4.1). Placement spreads tasks evenly over as few machines as possible (section 4.2). Workers on
machines that become slow are replaced by workers on other machines.

Departures: the policy also decides at submissions and completions. The paper does not define an
order for jobs whose minimum exceeds the free GPUs; here the least remaining GPU time comes first.
A job is resized only if the saving exceeds the cost; the paper relies on infrequent decisions. GPUs
of a slow machine stay idle unless a job would otherwise wait.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from motet.allocation.damping import damped
from motet.allocation.keep_current import next_multiple
from motet.allocation.leave_slow_machines import SlowMachinePlan, slow_machine_plan
from motet.allocation.marginal_gain import allot
from motet.allocation.marginal_utility import Speeds, Worth, speeds_with
from motet.allocation.max_min_share import RoleAllocation, demand_of
from motet.allocation.order import order_by
from motet.domain.arrays import Bools, Floats, Ints
from motet.domain.decision import Decision, Reasons
from motet.domain.errors import BadInput
from motet.domain.estimates import Estimates
from motet.domain.policy import JobInput, Policy
from motet.domain.snapshot import Placement, Snapshot
from motet.domain.units import NEVER_US, SHORTEST_S, check_seconds, microseconds
from motet.domain.wait import Wait
from motet.estimate.stragglers import stragglers
from motet.placement.avoiding import place_avoiding
from motet.placement.even import Gangs


@dataclass(frozen=True)
class Optimus(Policy):
    """`interval_s`: decide at multiples of this interval. `rescale_s`: cost of changing a job's
    numbers of workers and servers; a job keeps its numbers if a change would shift its end by less.
    `spread_evenly`: place tasks as Optimus does (false: as `placement` defines); the following
    settings require it. `straggler_ratio`: a machine on which computing takes this many times as
    long as on others is avoided, and left if the saving exceeds `rescale_s` (inf: never);
    `straggler_memory_s`: validity of a machine's measurement after the last job on it.
    `predictions`: remaining steps are those until the predicted loss reaches its target (`paper`),
    or nearer to the others' median the less certain this is (`weighed`).
    """

    interval_s: float = 600.0
    rescale_s: float = 10.0
    spread_evenly: bool = True
    straggler_ratio: float = 2.0
    straggler_memory_s: float = 600.0
    predictions: Literal["paper", "weighed"] = "paper"

    wants_estimates: ClassVar[bool] = True
    may_overtake: ClassVar[bool] = True
    needed_inputs: ClassVar[dict[JobInput, str]] = {
        JobInput.SPEED: "jobs keep the GPUs that they request, and small jobs go first",
    }
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
        """Allocate an empty cluster; keep jobs whose end would hardly change."""
        jobs, demand = snapshot.jobs, demand_of(snapshot.jobs)
        speeds = Speeds.of(snapshot.wanted_estimates)
        slowest = speeds_with(speeds, jobs.min_workers, jobs.min_servers)
        is_known = np.isfinite(snapshot.wanted_estimates.steps_left)
        steps_left = _steps_left(
            snapshot.wanted_estimates, slowest, is_weighed=self.predictions == "weighed"
        )
        utility = Worth.of_time(speeds, steps_left)
        least_gpus = jobs.min_workers * jobs.worker_gpus + jobs.min_servers * jobs.server_gpus
        gpu_s = steps_left / slowest * least_gpus
        order = order_by(gpu_s, jobs.number)
        slow_machines = self._slow_machine_plan(snapshot, speeds, steps_left)
        gpus = snapshot.gpu_count if slow_machines is None else slow_machines.gpus
        allocation = allot(order, demand, jobs.number, utility, gpus)
        if self.rescale_s > 0:
            allocation = damped(allocation, order, jobs, utility, gpus, self._limits(slow_machines))
        places = (
            _places(snapshot, allocation, slow_machines) if self._chooses_machines(snapshot) else {}
        )
        next_us = next_multiple(snapshot.now_us, microseconds(self.interval_s))
        may_be_slowed = snapshot.machine_speeds is not None and allocation.gpus.any()
        return Decision(
            allocation.gpus,
            _reasons(allocation, gpu_s, is_known),
            places,
            workers=allocation.workers,
            servers=allocation.servers,
            recheck_at_us=next_us if jobs.is_elastic.any() or may_be_slowed else NEVER_US,
            exclude={} if slow_machines is None else slow_machines.left_by(places),
        )

    def _chooses_machines(self, snapshot: Snapshot) -> bool:
        """Whether the policy places jobs; with CPU or memory limits the planner places them."""
        return self.spread_evenly and snapshot.free_cpus is None

    def _slow_machine_plan(
        self, snapshot: Snapshot, speeds: Speeds, steps_left: Floats
    ) -> SlowMachinePlan | None:
        """Jobs to move off stragglers; None without stragglers."""
        measured = snapshot.machine_speeds
        if measured is None or not self._chooses_machines(snapshot):
            return None
        memory_us = microseconds(self.straggler_memory_s)
        slow = stragglers(measured, snapshot.now_us, self.straggler_ratio, memory_us)
        if not slow.any():
            return None
        ends_are_known = np.isfinite(snapshot.wanted_estimates.steps_left).any()
        left = steps_left if ends_are_known else np.full(len(steps_left), np.inf)
        return slow_machine_plan(slow, snapshot, speeds, left, self.rescale_s)

    def _limits(self, slow_machines: SlowMachinePlan | None) -> Floats | float:
        """Largest change of the end, in seconds, at which a job keeps its size; -1 for
        moving jobs.
        """
        if slow_machines is None or not slow_machines.has_room:
            return self.rescale_s
        return np.where(slow_machines.leaves, -1.0, self.rescale_s)


def _steps_left(estimates: Estimates, slowest: Floats, is_weighed: bool) -> Floats:
    """Remaining steps, at least 1; jobs without a predicted end get the median time of the others,
    at the speed of their minimum. `is_weighed`: the geometric mean of both, by the confidence.
    """
    left = np.maximum(estimates.steps_left, 1.0)
    is_known = np.isfinite(left)
    usual_s = float(np.median(left[is_known] / slowest[is_known])) if is_known.any() else 1.0
    if not is_weighed or estimates.end_confidence is None:
        return np.where(is_known, left, usual_s * slowest)
    weight = np.where(is_known, estimates.end_confidence, 0.0)
    known = np.where(is_known, left, 1.0)
    found: Floats = known**weight * (usual_s * slowest) ** (1 - weight)
    return found


def _reasons(allocation: RoleAllocation, gpu_s: Floats, is_known: Bools) -> Reasons:
    """Wait reasons: more predicted or assumed remaining work than running jobs, or too many GPUs.

    The measure is NaN if no remaining time is known.
    """
    runs = allocation.gpus > 0
    most = float(gpu_s[runs].max()) if runs.any() else float("inf")
    has_more = ~runs & (gpu_s >= most)
    more = np.where(is_known, int(Wait.MORE_LEFT), int(Wait.LEFT_UNKNOWN))
    code = np.where(has_more, more, allocation.reasons.code)
    measure = gpu_s if is_known.any() else np.full(len(gpu_s), np.nan)
    return replace(allocation.reasons, code=code, measure=measure, bar=most)


def _places(
    snapshot: Snapshot, allocation: RoleAllocation, slow_machines: SlowMachinePlan | None
) -> dict[int, Placement]:
    """Placements of jobs that start, resize or leave a slow machine; other jobs keep theirs."""
    jobs = snapshot.jobs
    stays = (jobs.held_gpus == allocation.gpus) & (jobs.held_workers == allocation.workers)
    stays &= jobs.held_servers == allocation.servers
    slow = (
        np.zeros(snapshot.cluster.size, dtype=np.bool_)
        if slow_machines is None
        else slow_machines.slow
    )
    if slow_machines is not None:
        room = int(_free_gpus(snapshot, stays)[~slow].sum() - allocation.gpus[~stays].sum())
        stays &= ~slow_machines.movers(stays, jobs.number, room)
    rows = np.flatnonzero((allocation.gpus > 0) & ~stays)
    if not len(rows):
        return {}
    rows = rows[np.argsort(jobs.number[rows])]
    columns = (allocation.workers, allocation.servers, jobs.worker_gpus, jobs.server_gpus)
    gangs = Gangs(*(column[rows] for column in columns))
    found = place_avoiding(_free_gpus(snapshot, stays), slow, gangs)
    return dict(zip(rows.tolist(), found, strict=True))


def _free_gpus(snapshot: Snapshot, stays: Bools) -> Ints:
    """Free GPUs by machine after all jobs outside `stays` have released theirs."""
    jobs, free = snapshot.jobs, snapshot.free_gpus.copy()
    for number in jobs.number[(jobs.held_gpus > 0) & ~stays].tolist():
        place = snapshot.placements[number]
        free[list(place.machines)] += place.counts
    return free


POLICIES = {"optimus": Optimus}
