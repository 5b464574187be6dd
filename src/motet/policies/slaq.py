"""SLAQ: GPUs go where losses fall most (Zhang et al., SoCC 2017, section 4).

Every job gets the least that it runs with, then unit by unit goes to the job whose loss is
predicted to fall most by it until the next epoch, in units of the largest change that the job has
shown. With too few GPUs for all, those whose losses fall most per GPU get theirs.

Departures: it decides at submissions and completions, too; a unit may be a parameter server; the
paper leaves open who waits when there are more jobs than cores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from motet.allocation.damping import damped
from motet.allocation.keep_current import next_multiple
from motet.allocation.marginal_gain import allot
from motet.allocation.marginal_utility import Speeds, Worth, fastest, worth_with
from motet.allocation.max_min_share import Dealt, Demand, demand_of
from motet.allocation.order import order_by
from motet.domain.arrays import Bools, Floats, Ints
from motet.domain.decision import Decision, Reasons
from motet.domain.policy import Policy
from motet.domain.snapshot import UNKNOWN, JobTable, Snapshot
from motet.domain.units import NEVER_US, SHORTEST_S, check_seconds, microseconds
from motet.domain.wait import Wait
from motet.estimate.loss_fall import normalised_falls

_POINTS = 24
"""Of a predicted curve; denser at its beginning, straight in between."""
_MOST_STEPS = 1e12
"""Nobody does more in an epoch, whatever was fitted."""


@dataclass(frozen=True)
class Slaq(Policy):
    """`epoch_s`: predict so far ahead, and decide at its multiples. `starve_s`: who has waited so
    long for an epoch on GPUs goes before all others, longest first. `rescale_s`: what it costs a
    job to be resumed, or to go on with other numbers of workers and servers; what gains less is
    left.
    """

    epoch_s: float = 10.0
    starve_s: float = 600.0
    rescale_s: float = 0.0

    memory_columns: ClassVar[dict[str, int]] = {"served_us": UNKNOWN, "executed_then_us": 0}
    wants_estimates: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_seconds("epoch_s", self.epoch_s, SHORTEST_S)
        check_seconds("starve_s", self.starve_s, SHORTEST_S)
        check_seconds("rescale_s", self.rescale_s)

    def decide(self, snapshot: Snapshot) -> Decision:
        """From an empty cluster, each time anew; who would hardly change stays as it is."""
        jobs, demand = snapshot.jobs, demand_of(snapshot.jobs)
        memory = self._served(snapshot)
        hunger_us = self._hunger_us(snapshot, memory["served_us"])
        worth = self._worth(snapshot, demand)
        per_gpu = self._of_the_least(worth, demand, jobs)
        order = order_by(-hunger_us, -per_gpu, jobs.number)
        dealt = self._deal(order, demand, snapshot, worth)
        changes = bool(jobs.is_elastic.any() or (dealt.gpus == 0).any())
        return Decision(
            dealt.gpus,
            _reasons(dealt, per_gpu, hunger_us > 0, ~np.isnan(snapshot.wanted_estimates.loss)),
            workers=dealt.workers,
            servers=dealt.servers,
            recheck_at_us=next_multiple(snapshot.now_us, self._epoch_us) if changes else NEVER_US,
            memory=memory,
        )

    def _deal(self, order: Ints, demand: Demand, snapshot: Snapshot, worth: Worth) -> Dealt:
        """Whom a change changes less than standing still for it does keeps what it holds."""
        jobs, gpus = snapshot.jobs, snapshot.gpu_count
        dealt = allot(order, demand, jobs.number, worth, gpus)
        if not self.rescale_s:
            return dealt
        limits = self._resumed_part * worth_with(worth, jobs.held_workers, jobs.held_servers)
        return damped(dealt, order, jobs, worth, gpus, limits)

    @property
    def _resumed_part(self) -> float:
        """Of an epoch and a rescale, in which nothing is gained."""
        return self.rescale_s / (self.epoch_s + self.rescale_s)

    def _served(self, snapshot: Snapshot) -> dict[str, Ints]:
        """When each job last completed an epoch on GPUs: less would be no remedy for waiting."""
        executed_us, before = snapshot.jobs.executed_us, snapshot.memory
        is_served = executed_us - before["executed_then_us"] >= self._epoch_us
        return {
            "served_us": np.where(is_served, snapshot.now_us, before["served_us"]),
            "executed_then_us": np.where(is_served, executed_us, before["executed_then_us"]),
        }

    def _hunger_us(self, snapshot: Snapshot, served_us: Ints) -> Ints:
        """How long who has waited too long has waited; 0 of the others."""
        waited_us = snapshot.now_us - np.maximum(served_us, snapshot.jobs.submit_us)
        return np.where(waited_us >= microseconds(self.starve_s), waited_us, 0)

    def _of_the_least(self, worth: Worth, demand: Demand, jobs: JobTable) -> Floats:
        """What jobs are worth per GPU with the least that they run with; resumed ones first lose
        time."""
        gpus = demand.min_workers * demand.worker_gpus + demand.min_servers * demand.server_gpus
        found: Floats = worth_with(worth, demand.min_workers, demand.min_servers) / gpus
        is_resumed = (jobs.held_gpus == 0) & (jobs.first_start_us != UNKNOWN)
        return np.where(is_resumed, (1 - self._resumed_part) * found, found)

    @cached_property
    def _epoch_us(self) -> int:
        return microseconds(self.epoch_s)

    def _worth(self, snapshot: Snapshot, demand: Demand) -> Worth:
        """Normalised falls of the losses in an epoch, by the steps that are done in it."""
        estimates = snapshot.wanted_estimates
        speeds = Speeds.of(estimates)
        most = self.epoch_s * fastest(speeds, demand, snapshot.gpu_count)
        most = np.minimum(most, _MOST_STEPS)
        steps = most[:, None] * np.linspace(0.0, 1.0, _POINTS) ** 2
        falls = normalised_falls(estimates, steps)
        return Worth.of_points(speeds, self.epoch_s, steps, falls)


def _reasons(dealt: Dealt, per_gpu: Floats, starves: Bools, has_loss: Bools) -> Reasons:
    """Who waits is worth less than those that run, as predicted or as taken for granted, or is too
    wide for what is left."""
    runs = dealt.gpus > 0
    chosen = per_gpu[runs & ~starves]
    least = float(chosen.min()) if len(chosen) else float("-inf")
    is_worth_less = ~runs & ~starves & (per_gpu <= least)
    less = np.where(has_loss, int(Wait.LESS_PROGRESS), int(Wait.FALL_UNKNOWN))
    code = np.where(is_worth_less, less, dealt.reasons.code)
    return replace(dealt.reasons, code=code, measure=per_gpu, bar=least)


POLICIES = {"slaq": Slaq}
