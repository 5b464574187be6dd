"""Which properties that policies decide by the jobs of a workload have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from motet.domain.arrays import Bools
from motet.domain.policy import JobInput, Policy
from motet.domain.snapshot import UNKNOWN
from motet.sim.workload.workload import Workload


@dataclass(frozen=True)
class MissingInput:
    """`jobs` of `of` jobs lack `input`; `effect`: what the policy does for them.

    `is_needed`: without it for any job, the policy does not serve its purpose.
    """

    input: str
    jobs: int
    of: int
    effect: str
    is_needed: bool

    @property
    def is_total(self) -> bool:
        """Whether no job has it."""
        return self.jobs == self.of

    def as_dict(self) -> dict[str, Any]:
        """The fields for JSON."""
        return asdict(self)


def missing_inputs(policy: type[Policy], jobs: Workload) -> tuple[MissingInput, ...]:
    """The inputs of a policy that jobs of the workload lack, needed ones first."""
    has = _coverage(jobs)
    return tuple(
        MissingInput(wanted.value, lacking, len(jobs), effect, is_needed)
        for declared, is_needed in ((policy.needed_inputs, True), (policy.useful_inputs, False))
        for wanted, effect in declared.items()
        if (lacking := len(jobs) - int(has[wanted].sum()))
    )


def _coverage(jobs: Workload) -> Mapping[JobInput, Bools]:
    """For every input `(jobs,)`: the jobs that have it."""
    none = np.zeros(len(jobs), dtype=np.bool_)
    work = jobs.work
    subtasks = None if work is None else work.subtasks
    has_queues = np.full(len(jobs), len(jobs.queue_names) > 1)
    return {
        JobInput.DURATION: ~jobs.is_cut,
        JobInput.LOSS: none if work is None else work.curve != UNKNOWN,
        JobInput.SPEED: none if work is None else work.is_modelled,
        JobInput.DEMANDS: (jobs.cpus > 0) | (jobs.memory_bytes > 0),
        JobInput.QUEUE: has_queues,
        JobInput.MODEL: jobs.model != UNKNOWN,
        JobInput.SUBTASKS: none if subtasks is None else subtasks.is_known,
    }
