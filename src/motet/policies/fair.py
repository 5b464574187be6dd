"""Fair sharing: every job gets an equal number of GPUs, and no usable GPU stays idle.

Baseline of SLAQ (Zhang et al., SoCC 2017, section 4), for elastic jobs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from motet.allocation.max_min_share import share_evenly
from motet.domain.decision import Decision
from motet.domain.policy import JobInput, Policy
from motet.domain.snapshot import Snapshot


@dataclass(frozen=True)
class Fair(Policy):
    """Divides GPUs evenly; work-conserving, preemptive.

    In order of submission, every job gets its minimum (a rigid job its full request) if that many
    GPUs are left; jobs that do not fit are skipped. Elastic jobs get the remaining GPUs, one worker
    or server at a time, always for the job that holds the fewest GPUs. A rigid job has no smaller
    share than its request: of rigid jobs the oldest ones that fit run, as under `best-effort` with
    preemption. Equal shares of time for rigid jobs: `gandiva` without packing and migration.
    """

    needed_inputs: ClassVar[dict[JobInput, str]] = {
        JobInput.SPEED: "jobs get the GPUs that they request, or none if older ones need them",
    }
    may_overtake: ClassVar[bool] = True
    equal_shares_of: ClassVar[Literal["", "jobs", "queues"]] = "jobs"

    def decide(self, snapshot: Snapshot) -> Decision:
        """Divide an empty cluster at every decision."""
        jobs = snapshot.jobs
        allocation = share_evenly(jobs.by_submission, jobs, snapshot.gpu_count)
        return Decision(
            allocation.gpus,
            allocation.reasons,
            workers=allocation.workers,
            servers=allocation.servers,
        )


POLICIES = {"fair": Fair}
