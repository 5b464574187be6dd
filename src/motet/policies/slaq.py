"""SLAQ: maximises the total loss reduction (Zhang et al., SoCC 2017, section 4).

Every job gets its minimum; then each further unit goes to the job with the largest predicted loss
reduction until the next epoch, normalised by the largest loss change of that job so far. If the
minima exceed the GPUs, jobs with the largest reduction per GPU come first.

Departures: the policy also decides at submissions and completions; a unit can be a parameter
server; the paper does not define which jobs wait when there are more jobs than cores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from motet.allocation.damping import damped
from motet.allocation.keep_current import next_multiple
from motet.allocation.marginal_gain import allot
from motet.allocation.marginal_utility import Speeds, Worth, fastest, utilities
from motet.allocation.max_min_share import Demand, RoleAllocation, demand_of
from motet.allocation.order import order_by
from motet.domain.arrays import Bools, Floats, Ints
from motet.domain.decision import Decision, Reasons
from motet.domain.policy import JobInput, Policy
from motet.domain.snapshot import UNKNOWN, JobTable, Snapshot
from motet.domain.units import NEVER_US, SHORTEST_S, check_seconds, microseconds
from motet.domain.wait import Wait
from motet.estimate.loss_fall import normalised_falls

_POINTS = 24
"""Points of a predicted curve; denser at its beginning, with linear interpolation."""
_SPACING = np.linspace(0.0, 1.0, _POINTS) ** 2
_SPACING.flags.writeable = False
_MOST_STEPS = 1e12
"""Upper bound on the steps of a job in an epoch, for any fitted speed."""


@dataclass(frozen=True)
class Slaq(Policy):
    """`epoch_s`: prediction horizon; decisions happen at its multiples. `starve_s`: a job that has
    waited this long for an epoch on GPUs precedes all others, longest wait first. `rescale_s`: cost
    of resuming a job or changing its numbers of workers and servers; a smaller gain changes
    nothing. `predictions`: the reductions of the fitted curves (`paper`), or nearer to those of
    jobs without a curve the less certain a curve is (`weighed`).
    """

    epoch_s: float = 10.0
    starve_s: float = 600.0
    rescale_s: float = 0.0
    predictions: Literal["paper", "weighed"] = "paper"

    memory_columns: ClassVar[dict[str, int]] = {"served_us": UNKNOWN, "executed_then_us": 0}
    wants_estimates: ClassVar[bool] = True
    may_overtake: ClassVar[bool] = True
    needed_inputs: ClassVar[dict[JobInput, str]] = {
        JobInput.LOSS: "all progress alike, so small jobs go first",
        JobInput.SPEED: "jobs keep the GPUs that they request",
    }

    def __post_init__(self) -> None:
        check_seconds("epoch_s", self.epoch_s, SHORTEST_S)
        check_seconds("starve_s", self.starve_s, SHORTEST_S)
        check_seconds("rescale_s", self.rescale_s)

    def decide(self, snapshot: Snapshot) -> Decision:
        """Allocate an empty cluster; keep jobs that would hardly gain."""
        jobs, demand = snapshot.jobs, demand_of(snapshot.jobs)
        memory = self._served(snapshot)
        starving_us = self._starving_us(snapshot, memory["served_us"])
        utility = self._utility(snapshot, demand)
        per_gpu = self._minimum_utility(utility, demand, jobs)
        order = order_by(-starving_us, -per_gpu, jobs.number)
        allocation = self._allocate(order, demand, snapshot, utility)
        changes = bool(jobs.is_elastic.any() or (allocation.gpus == 0).any())
        return Decision(
            allocation.gpus,
            _reasons(
                allocation, per_gpu, starving_us > 0, ~np.isnan(snapshot.wanted_estimates.loss)
            ),
            workers=allocation.workers,
            servers=allocation.servers,
            recheck_at_us=next_multiple(snapshot.now_us, self._epoch_us) if changes else NEVER_US,
            memory=memory,
        )

    def _allocate(
        self, order: Ints, demand: Demand, snapshot: Snapshot, utility: Worth
    ) -> RoleAllocation:
        """Allocate units; a job whose gain is below its pause for a resize keeps its size."""
        jobs, gpus = snapshot.jobs, snapshot.gpu_count
        allocation = allot(order, demand, jobs.number, utility, gpus)
        if not self.rescale_s:
            return allocation
        limits = self._resumed_part * utilities(utility, jobs.held_workers, jobs.held_servers)
        return damped(allocation, order, jobs, utility, gpus, limits)

    @property
    def _resumed_part(self) -> float:
        """Fraction of an epoch that a resize consumes: rescale_s / (epoch_s + rescale_s)."""
        return self.rescale_s / (self.epoch_s + self.rescale_s)

    def _served(self, snapshot: Snapshot) -> dict[str, Ints]:
        """Memory columns: the time at which each job last completed a whole epoch on GPUs."""
        executed_us, before = snapshot.jobs.executed_us, snapshot.memory
        is_served = executed_us - before["executed_then_us"] >= self._epoch_us
        return {
            "served_us": np.where(is_served, snapshot.now_us, before["served_us"]),
            "executed_then_us": np.where(is_served, executed_us, before["executed_then_us"]),
        }

    def _starving_us(self, snapshot: Snapshot, served_us: Ints) -> Ints:
        """Waiting time of starving jobs; 0 for all others."""
        waited_us = snapshot.now_us - np.maximum(served_us, snapshot.jobs.submit_us)
        return np.where(waited_us >= microseconds(self.starve_s), waited_us, 0)

    def _minimum_utility(self, utility: Worth, demand: Demand, jobs: JobTable) -> Floats:
        """Worth per GPU of each job at its minimum; resumed jobs lose the restore time."""
        gpus = demand.min_workers * demand.worker_gpus + demand.min_servers * demand.server_gpus
        found: Floats = utilities(utility, demand.min_workers, demand.min_servers) / gpus
        is_resumed = (jobs.held_gpus == 0) & (jobs.first_start_us != UNKNOWN)
        return np.where(is_resumed, (1 - self._resumed_part) * found, found)

    @cached_property
    def _epoch_us(self) -> int:
        return microseconds(self.epoch_s)

    def _utility(self, snapshot: Snapshot, demand: Demand) -> Worth:
        """Normalised loss reductions in an epoch as a function of the steps in it."""
        estimates = snapshot.wanted_estimates
        speeds = Speeds.of(estimates)
        most = self.epoch_s * fastest(speeds, demand, snapshot.gpu_count)
        most = np.minimum(most, _MOST_STEPS)
        steps = most[:, None] * _SPACING
        falls = normalised_falls(estimates, steps, is_weighed=self.predictions == "weighed")
        return Worth.of_points(speeds, self.epoch_s, steps, falls)


def _reasons(
    allocation: RoleAllocation, per_gpu: Floats, starves: Bools, has_loss: Bools
) -> Reasons:
    """Wait reasons: less predicted or assumed progress than running jobs, or too many GPUs."""
    runs = allocation.gpus > 0
    chosen = per_gpu[runs & ~starves]
    least = float(chosen.min()) if len(chosen) else float("-inf")
    is_worth_less = ~runs & ~starves & (per_gpu <= least)
    less = np.where(has_loss, int(Wait.LESS_PROGRESS), int(Wait.FALL_UNKNOWN))
    code = np.where(is_worth_less, less, allocation.reasons.code)
    return replace(allocation.reasons, code=code, measure=per_gpu, bar=least)


POLICIES = {"slaq": Slaq}
