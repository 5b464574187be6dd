"""Reduce a decision to the guarantees and limits of the queues, whatever the policy decided. Pure.

No queue holds more than its guarantee and what it may borrow; others hold no more of its guarantee
than it lends. A queue whose jobs fit into its guarantee gets it back: jobs of queues that borrow
are preempted, the last in the policy's order first. Within a queue the order is the policy's, so a
job within its guarantee loses its GPUs to jobs of its own queue only.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace

import numpy as np

from motet.domain.arrays import Floats, Ints
from motet.domain.decision import Decision, Reasons
from motet.domain.snapshot import Placement, Snapshot
from motet.domain.wait import COMPARISONS, FOR_GPUS, Wait
from motet.engine.actions.preemption_limits import Protection
from motet.engine.actions.queue_filling import QueueFilling
from motet.engine.actions.roles import roles_of
from motet.engine.actions.staying_jobs import StayingJobs


def within_queue_limits(
    decision: Decision,
    snapshot: Snapshot,
    protection: Protection,
    staying: StayingJobs,
    excluded: Container[int] = (),
    *,
    may_overtake: bool,
) -> Decision:
    """The decision within the limits of `snapshot.queues`; unchanged if it is within them already.

    Protected jobs run on, also above a limit. `excluded`: rows that do not reclaim a guarantee
    because they lack something other than GPUs. `may_overtake`: see Policy. If limits change
    anything, running jobs stay on their machines, and jobs start on machines that the policy named
    only if these are free now for all that start.
    """
    filling = QueueFilling(
        decision, snapshot, protection, excluded, staying, may_overtake=may_overtake
    )
    filling.fill()
    gpus = np.zeros_like(decision.gpus)
    for row, size in filling.sizes.items():
        gpus[row] = size.gpus
    limited = replace(
        decision,
        reasons=_reasons(decision.reasons, snapshot, filling),
        recheck_at_us=min(decision.recheck_at_us, filling.kept_until_us),
    )
    if np.array_equal(gpus, decision.gpus):
        return limited
    workers, servers = roles_of(decision, snapshot.jobs)
    for row, size in filling.sizes.items():
        workers[row], servers[row] = size.workers, size.servers
    return replace(
        limited,
        gpus=gpus,
        workers=workers,
        servers=servers,
        places=_places(decision, snapshot, gpus),
    )


def _reasons(reasons: Reasons, snapshot: Snapshot, filling: QueueFilling) -> Reasons:
    code = np.array(filling.code, dtype=np.int64)
    changed = code != reasons.code
    if not changed.any():
        return reasons
    free_gpus = np.where(changed, filling.room, reasons.free_gpus)
    for row, free in filling.free.items():
        if code[row] in FOR_GPUS:
            free_gpus[row] = free
    protected = [
        row
        for row in filling.protected_until_us
        if code[row] in (Wait.MIN_RUNTIME, Wait.PREEMPTION_RATE)
    ]
    if protected:
        ends_us = np.array([filling.protected_until_us[row] for row in protected])
        reasons = replace(reasons, until_us=reasons.known_until(np.array(protected), ends_us))
    measure, bar = _comparisons(reasons, code)
    names, limits = snapshot.queues.names, snapshot.queues.limits
    for row in np.flatnonzero(np.isin(code, (Wait.QUEUE_LIMIT, Wait.QUEUE_GUARANTEE))).tolist():
        queue = int(snapshot.jobs.queue[row])
        if 0 <= queue < len(names):
            guarantee, most = limits[queue].guarantee, limits[queue].most
            measure[row] = filling.held[queue]
            bar[row] = most if code[row] == Wait.QUEUE_LIMIT else guarantee
    return replace(reasons, code=code, free_gpus=free_gpus, measure=measure, bar=bar)


def _comparisons(reasons: Reasons, code: Ints) -> tuple[Floats, Floats]:
    """The policy's own, of jobs that still wait for the reason that it gave."""
    empty = np.full(len(code), np.nan)
    if reasons.measure is None:
        return empty, empty.copy()
    is_own = (code == reasons.code) & np.isin(code, COMPARISONS)
    return np.where(is_own, reasons.measure, empty), np.where(is_own, reasons.bar, empty)


def _places(decision: Decision, snapshot: Snapshot, gpus: Ints) -> Mapping[int, Placement]:
    """Machines that the policy named, if these are free now for all jobs that get GPUs.

    Otherwise the planner places all of them: it could take GPUs that are named for another one.
    """
    free, places = snapshot.free_gpus.copy(), dict[int, Placement]()
    changed = np.flatnonzero((gpus > 0) & (gpus != snapshot.jobs.held_gpus))
    for row in changed.tolist():
        place = decision.places.get(row)
        is_start = gpus[row] == decision.gpus[row] and not snapshot.jobs.held_gpus[row]
        if place is None or not is_start:
            return {}
        if not all(free[machine] >= count for machine, count in zip(*place, strict=True)):
            return {}
        places[row] = place
        free[list(place.machines)] -= place.counts
    return places
