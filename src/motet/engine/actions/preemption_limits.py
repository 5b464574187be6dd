"""Keep jobs running that may not be preempted yet, whatever the policy decided. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from motet.domain.arrays import Ints
from motet.domain.decision import Decision
from motet.domain.snapshot import UNKNOWN, Placement, Snapshot
from motet.domain.wait import Wait
from motet.engine.actions.running_jobs import keeping_running_jobs, shares_gpus


@dataclass(frozen=True, slots=True)
class PreemptionLimits:
    """`min_runtime_us`: no job is preempted before it has run so long since its last start or move.

    `spacing_us`: the least time from one preemption of a job to its next one. 0: no limit.
    """

    min_runtime_us: int = 0
    spacing_us: int = 0

    def __bool__(self) -> bool:
        return bool(self.min_runtime_us or self.spacing_us)


class Protection(NamedTuple):
    """`(jobs,)` each. `code`: why others wait that would run if this job were preempted: RUNS for
    a job that may be preempted or does not run. `until_us`: the end of the protection.
    `is_in_force`: whether preemptions are limited at all: then jobs that were protected earlier may
    still hold GPUs that limits of queues would not give them.
    """

    code: Ints
    until_us: Ints
    is_in_force: bool = False


def protection_of(
    snapshot: Snapshot, limits: PreemptionLimits, running_since_us: Ints, preempted_us: Ints
) -> Protection:
    """The running jobs that may not be preempted now.

    `running_since_us`: UNKNOWN for a job that does not run or has slots, but no processes yet:
    that job has run for no time, and the protection ends no earlier than if it ran from now on.
    `preempted_us`: the last preemption; UNKNOWN: there was none.
    """
    now_us, runs = snapshot.now_us, snapshot.jobs.held_gpus > 0
    since_us = np.maximum(running_since_us, snapshot.jobs.last_start_us)
    since_us = np.where(running_since_us == UNKNOWN, now_us, since_us)
    young_us = np.where(runs, since_us + limits.min_runtime_us, 0)
    was_preempted = runs & (preempted_us != UNKNOWN)
    again_us = np.where(was_preempted, preempted_us + limits.spacing_us, 0)
    code = np.where(young_us >= again_us, int(Wait.MIN_RUNTIME), int(Wait.PREEMPTION_RATE))
    until_us = np.maximum(young_us, again_us)
    codes = np.where(until_us > now_us, code, int(Wait.RUNS))
    return Protection(codes, until_us, bool(limits))


def without_early_preemptions(
    decision: Decision, snapshot: Snapshot, protection: Protection
) -> Decision:
    """The decision with every protected job as it runs.

    If it keeps a job, it keeps all other running jobs that are not preempted as they are, too, and
    of the starts those that fit, in the policy's order; one on named machines fits if these are
    free now. Then it keeps running jobs on GPUs that are left. The policy is asked again when the
    first of the kept jobs may be preempted. A decision by which jobs share GPUs remains as it is.
    """
    jobs = snapshot.jobs
    is_kept = (protection.code != Wait.RUNS) & (decision.gpus == 0)
    if not is_kept.any() or shares_gpus(decision, snapshot):
        return decision
    stays = is_kept | ((jobs.held_gpus > 0) & (decision.gpus > 0))
    gpus = np.where(stays, jobs.held_gpus, decision.gpus)
    code = np.where(is_kept, Wait.RUNS, decision.reasons.code)
    starts = np.flatnonzero((jobs.held_gpus == 0) & (gpus > 0))
    starts = starts[np.lexsort((jobs.number[starts], decision.reasons.position[starts]))]
    room = snapshot.gpu_count - int(jobs.held_gpus[stays].sum())
    places, withdrawn, room = _fitting(decision, snapshot, starts, room)
    last_kept = np.flatnonzero(is_kept)[protection.until_us[is_kept].argmax()]
    gpus[withdrawn], code[withdrawn] = 0, protection.code[last_kept]
    free_gpus = decision.reasons.free_gpus.copy()
    free_gpus[withdrawn] = room
    until_us = decision.reasons.known_until(withdrawn, int(protection.until_us[last_kept]))
    limited = replace(
        decision,
        gpus=gpus,
        reasons=replace(decision.reasons, code=code, free_gpus=free_gpus, until_us=until_us),
        places=places,
        workers=_roles(decision.workers, jobs.held_workers, stays, withdrawn),
        servers=_roles(decision.servers, jobs.held_servers, stays, withdrawn),
        recheck_at_us=min(decision.recheck_at_us, int(protection.until_us[is_kept].min())),
    )
    return keeping_running_jobs(limited, snapshot)


def _fitting(
    decision: Decision, snapshot: Snapshot, starts: Ints, room: int
) -> tuple[Mapping[int, Placement], Ints, int]:
    """Places of the starts that fit, the rows of those that do not, and the GPUs left."""
    free = snapshot.free_gpus.copy()
    places, withdrawn = dict[int, Placement](), list[int]()
    for row in starts.tolist():
        gpus, place = int(decision.gpus[row]), decision.places.get(row)
        has_place = place is None or all(
            free[machine] >= count for machine, count in zip(*place, strict=True)
        )
        if gpus > room or not has_place:
            withdrawn.append(row)
            continue
        room -= gpus
        if place is not None:
            places[row] = place
            free[list(place.machines)] -= place.counts
    return places, np.array(withdrawn, dtype=np.int64), room


def _roles(
    column: Ints | None, held: Ints, stays: NDArray[np.bool_], withdrawn: Ints
) -> Ints | None:
    if column is None:
        return None
    found = np.where(stays, held, column)
    found[withdrawn] = 0
    return found
