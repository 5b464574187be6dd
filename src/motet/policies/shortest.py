"""Shortest job first: by size, remaining time or remaining service. Requires known durations.

Tiresias (Gu et al., NSDI 2019, section 2 and table 2) compares the single dimensions with their
product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from motet.allocation.fill import fill
from motet.allocation.order import order_by, ranks_along
from motet.domain.arrays import Ints
from motet.domain.decision import Decision
from motet.domain.errors import BadInput
from motet.domain.policy import JobInput, Policy
from motet.domain.snapshot import UNKNOWN, Snapshot
from motet.domain.units import NEVER_US

_NEEDS = {JobInput.DURATION: "the time that a job ran in the log counts as all that it needs"}


@dataclass(frozen=True)
class SmallestFirst(Policy):
    """The job with the fewest GPUs first; preemptive. Ties keep their order."""

    memory_columns: ClassVar[dict[str, int]] = {"rank": NEVER_US}
    may_overtake: ClassVar[bool] = True
    keeps_requests: ClassVar[bool] = True

    def decide(self, snapshot: Snapshot) -> Decision:
        """Jobs that fit, ordered by GPU count."""
        return _shortest(snapshot, snapshot.jobs.gpus)


@dataclass(frozen=True)
class ShortestRemainingTime(Policy):
    """The job with the least remaining time first; preemptive. Ties keep their order."""

    memory_columns: ClassVar[dict[str, int]] = {"rank": NEVER_US}
    may_overtake: ClassVar[bool] = True
    keeps_requests: ClassVar[bool] = True
    knows_durations: ClassVar[bool] = True
    needed_inputs: ClassVar[dict[JobInput, str]] = _NEEDS

    def decide(self, snapshot: Snapshot) -> Decision:
        """Jobs that fit, ordered by remaining time."""
        return _shortest(snapshot, _remaining_us(snapshot))


@dataclass(frozen=True)
class ShortestRemainingService(Policy):
    """The job with the least remaining GPU-time first; preemptive. Ties keep their order."""

    memory_columns: ClassVar[dict[str, int]] = {"rank": NEVER_US}
    may_overtake: ClassVar[bool] = True
    keeps_requests: ClassVar[bool] = True
    knows_durations: ClassVar[bool] = True
    needed_inputs: ClassVar[dict[JobInput, str]] = _NEEDS

    def decide(self, snapshot: Snapshot) -> Decision:
        """Jobs that fit, ordered by remaining time x GPUs."""
        return _shortest(snapshot, _remaining_us(snapshot) * snapshot.jobs.gpus)


def _shortest(snapshot: Snapshot, key: Ints) -> Decision:
    jobs = snapshot.jobs
    order = order_by(key, snapshot.memory["rank"], jobs.number)
    filled = fill(order, jobs.gpus, snapshot.gpu_count, may_overtake=True)
    ranks = ranks_along(order, snapshot.memory["rank"])
    return Decision(filled.gpus, filled.reasons, memory={"rank": ranks})


def _remaining_us(snapshot: Snapshot) -> Ints:
    remaining_us = snapshot.jobs.remaining_us
    if len(remaining_us) and int(remaining_us.min()) == UNKNOWN:
        raise BadInput(
            "this policy orders jobs by their remaining time, which is not known here; "
            "use one that needs no durations, such as tiresias-las"
        )
    return remaining_us


POLICIES = {
    "sf": SmallestFirst,
    "srtf": ShortestRemainingTime,
    "srsf": ShortestRemainingService,
}
