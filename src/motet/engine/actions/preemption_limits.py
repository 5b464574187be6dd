"""Keep jobs running that may not be preempted yet, whatever the policy decided. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from motet.domain.arrays import Ints
from motet.domain.decision import Decision
from motet.domain.snapshot import UNKNOWN, Placement, Snapshot
from motet.domain.wait import Wait


def without_early_preemptions(
    decision: Decision, snapshot: Snapshot, min_runtime_us: int
) -> Decision:
    """The decision with every job that has run for less than `min_runtime_us` as it runs.

    If it keeps a job, it keeps all other running jobs that are not preempted as they are, too, and
    of the starts those that fit, in the policy's order; one on named machines fits if these are
    free now. The policy is asked again when the first of the kept jobs may be preempted. A
    decision by which jobs share GPUs remains as it is.
    """
    jobs = snapshot.jobs
    is_early = snapshot.now_us - jobs.last_start_us < min_runtime_us
    is_kept = (jobs.held_gpus > 0) & (decision.gpus == 0) & is_early
    if not is_kept.any() or _shares(decision, snapshot):
        return decision
    stays = is_kept | ((jobs.held_gpus > 0) & (decision.gpus > 0))
    gpus = np.where(stays, jobs.held_gpus, decision.gpus)
    code = np.where(is_kept, Wait.RUNS, decision.reasons.code)
    starts = np.flatnonzero((jobs.held_gpus == 0) & (gpus > 0))
    starts = starts[np.lexsort((jobs.number[starts], decision.reasons.position[starts]))]
    room = snapshot.gpu_count - int(jobs.held_gpus[stays].sum())
    places, withdrawn = _fitting(decision, snapshot, starts, room)
    gpus[withdrawn], code[withdrawn] = 0, Wait.TOO_FEW_GPUS
    ends_us = int(jobs.last_start_us[is_kept].min()) + min_runtime_us
    return replace(
        decision,
        gpus=gpus,
        reasons=replace(decision.reasons, code=code),
        places=places,
        workers=_roles(decision.workers, jobs.held_workers, stays, withdrawn),
        servers=_roles(decision.servers, jobs.held_servers, stays, withdrawn),
        recheck_at_us=min(decision.recheck_at_us, ends_us),
    )


def _shares(decision: Decision, snapshot: Snapshot) -> bool:
    shares_now = bool((snapshot.jobs.partner != UNKNOWN).any())
    return shares_now or (decision.group is not None and bool((decision.group != UNKNOWN).any()))


def _fitting(
    decision: Decision, snapshot: Snapshot, starts: Ints, room: int
) -> tuple[Mapping[int, Placement], Ints]:
    """Places of the starts that fit, and the rows of those that do not."""
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
    return places, np.array(withdrawn, dtype=np.int64)


def _roles(
    column: Ints | None, held: Ints, stays: NDArray[np.bool_], withdrawn: Ints
) -> Ints | None:
    if column is None:
        return None
    found = np.where(stays, held, column)
    found[withdrawn] = 0
    return found
