"""Waits that machines cause which take no jobs: they are drained, or gone. Pure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from motet.domain.arrays import Bools, Floats, Ints
from motet.domain.decision import Decision
from motet.domain.snapshot import Snapshot
from motet.domain.wait import FOR_GPUS, Wait

_FOR_GPUS = tuple(wait for wait in FOR_GPUS if wait is not Wait.BEHIND_HEAD)


def naming_closed_machines(
    decision: Decision, whole: Snapshot, sizes: Ints, closed: Ints
) -> Decision:
    """The decision with `MACHINES_DRAINED` for jobs that would not wait without closed machines.

    These are jobs that need more GPUs than all other machines have, and jobs for which the idle
    GPUs of closed machines would have sufficed with those that were free at their turn. A job
    behind the head of the line waits for the head. `sizes`: GPUs of all machines.
    """
    reasons, jobs = decision.reasons, whole.jobs
    closed_gpus, all_gpus = int(sizes[closed].sum()), int(sizes.sum())
    idle = closed_gpus - int(whole.cluster.gpus[closed].sum())
    least, free = jobs.least_gpus, reasons.free_gpus
    waits = (decision.gpus == 0) & np.isin(reasons.code, _FOR_GPUS)
    waits &= (
        (least > all_gpus - closed_gpus)
        | _lacks_only(idle, free, least)
        | _lacks_only(idle, free, jobs.gpus)
    )
    if not waits.any():
        return decision
    measure, bar = (_column(values, len(jobs)) for values in (reasons.measure, reasons.bar))
    measure[waits], bar[waits] = closed_gpus, all_gpus
    code = np.where(waits, int(Wait.MACHINES_DRAINED), reasons.code)
    return replace(decision, reasons=replace(reasons, code=code, measure=measure, bar=bar))


def _lacks_only(more: int, free: Ints, needed: Ints) -> Bools:
    """Whether these GPUs are what is missing."""
    lacks: Bools = (free < needed) & (needed <= free + more)
    return lacks


def _column(values: Floats | float | None, size: int) -> Floats:
    known = np.nan if values is None else values
    return np.broadcast_to(np.asarray(known, dtype=np.float64), (size,)).copy()
