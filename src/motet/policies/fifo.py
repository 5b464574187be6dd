"""First in, first out, without preemption, and with or without a head of the line.

The two simplest of the schedulers that Tiresias is compared with (Gu et al., NSDI 2019, section 5).
"""

from __future__ import annotations

from dataclasses import dataclass

from motet.allocation.fill import fill
from motet.allocation.order import order_by
from motet.domain.decision import Decision
from motet.domain.policy import Policy
from motet.domain.snapshot import Snapshot


@dataclass(frozen=True)
class Fifo(Policy):
    """Jobs start in the order of their submission; nobody overtakes the head of the line."""

    def decide(self, snapshot: Snapshot) -> Decision:
        """Whoever runs goes on; then the others in order until one does not fit."""
        return _in_order_of_arrival(snapshot, may_overtake=False)


@dataclass(frozen=True)
class BestEffort(Policy):
    """As `fifo`, but a job that fits overtakes those that do not."""

    def decide(self, snapshot: Snapshot) -> Decision:
        """Whoever runs goes on; then everybody who fits, in order."""
        return _in_order_of_arrival(snapshot, may_overtake=True)


def _in_order_of_arrival(snapshot: Snapshot, *, may_overtake: bool) -> Decision:
    jobs = snapshot.jobs
    order = order_by(jobs.held_gpus == 0, jobs.submit_us, jobs.number)
    filled = fill(order, jobs.gpus, snapshot.gpu_count, may_overtake=may_overtake)
    return Decision(filled.gpus, filled.reasons)


POLICIES = {"fifo": Fifo, "best-effort": BestEffort}
