"""First in, first out, without preemption, with or without head-of-line blocking.

The two simplest baselines of Tiresias (Gu et al., NSDI 2019, section 5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from motet.allocation.fill import fill_running_first
from motet.domain.decision import Decision
from motet.domain.policy import Policy
from motet.domain.snapshot import Snapshot


@dataclass(frozen=True)
class Fifo(Policy):
    """Starts jobs in order of submission; the head of the line blocks all jobs behind it."""

    keeps_order: ClassVar[bool] = True
    keeps_requests: ClassVar[bool] = True

    def decide(self, snapshot: Snapshot) -> Decision:
        """Keep running jobs; start waiting jobs in order until one does not fit."""
        return _by_submission(snapshot, may_overtake=False)


@dataclass(frozen=True)
class BestEffort(Policy):
    """As `fifo`, but a job that fits overtakes jobs that do not fit."""

    may_overtake: ClassVar[bool] = True
    keeps_requests: ClassVar[bool] = True

    def decide(self, snapshot: Snapshot) -> Decision:
        """Keep running jobs; start every waiting job that fits, in order of submission."""
        return _by_submission(snapshot, may_overtake=True)


def _by_submission(snapshot: Snapshot, *, may_overtake: bool) -> Decision:
    jobs = snapshot.jobs
    order, held_gpus, free_gpus = jobs.by_submission, jobs.held_gpus, snapshot.gpu_count
    filled = fill_running_first(order, held_gpus, jobs.gpus, free_gpus, may_overtake=may_overtake)
    return Decision(filled.gpus, filled.reasons)


POLICIES = {"fifo": Fifo, "best-effort": BestEffort}
