"""Give jobs the sizes that they propose, as far as the decision leaves room. Pure.

The policy decides first, about requests as they are. A smaller proposal is granted at once. A
larger one gets GPUs that the decision leaves free, within the limits of queues, while no job waits
for GPUs; a policy that divides GPUs itself has seen the proposal, and its choice counts. A running
job grows only by at least half of what it lacks: every growth costs a restart, so it has few.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.decision import Decision, SizeRefusal
from motet.domain.snapshot import Snapshot
from motet.domain.units import NEVER_US
from motet.domain.wait import QUEUE_WAITS, Wait
from motet.engine.actions.fitting import Overcommitted
from motet.engine.actions.roles import JobSize, roles_of, smaller_size
from motet.engine.actions.running_jobs import shares_gpus
from motet.engine.actions.staying_jobs import StayingJobs


@dataclass(frozen=True, eq=False, slots=True)
class Proposals:
    """`rows`: jobs that propose their sizes. `workers`, `servers`: of all jobs, `(jobs,)`."""

    rows: Ints
    workers: Ints
    servers: Ints


def with_granted_sizes(
    decision: Decision,
    snapshot: Snapshot,
    proposals: Proposals,
    staying: StayingJobs,
    closed_by: SizeRefusal | None = None,
) -> Decision:
    """The decision with the sizes that are granted, and the reasons why others are not.

    `closed_by`: the reason for which no job grows; None: jobs may. Jobs on machines that take no
    jobs keep their sizes.
    """
    granting = _Granting(decision, snapshot, proposals, staying)
    granting.shrink()
    granting.grow(closed_by)
    return granting.result()


def with_placed_sizes(
    decision: Decision,
    snapshot: Snapshot,
    proposals: Proposals,
    staying: StayingJobs,
    place: Callable[[Decision], Decision],
    closed_by: SizeRefusal | None = None,
) -> Decision:
    """As `with_granted_sizes`; no job grows where one of them, or another job, would lack machines.

    `place`: finds machines for what changes by a decision; it raises Overcommitted.
    """
    granted = with_granted_sizes(decision, snapshot, proposals, staying, closed_by)
    grown = np.flatnonzero(granted.gpus > decision.gpus)
    if not len(grown) or _have_room(grown, granted, decision, place):
        return granted
    return with_granted_sizes(decision, snapshot, proposals, staying, SizeRefusal.NO_ROOM)


def _have_room(
    grown: Ints, granted: Decision, decision: Decision, place: Callable[[Decision], Decision]
) -> bool:
    """Whether there are machines for these jobs, and for the others as without growth."""
    try:
        found, before = place(granted).gpus, place(decision).gpus
    except Overcommitted:  # They would take GPUs that the policy named for another job.
        return False
    is_whole = bool((found[grown] == granted.gpus[grown]).all())
    return is_whole and bool((found >= np.minimum(before, granted.gpus)).all())


def looking_again(decision: Decision, snapshot: Snapshot, proposals: Proposals) -> Decision:
    """The decision, with the next one right after it if slots that self-sized jobs give up by it
    were not there yet when the policy decided about jobs that wait."""
    rows, held = proposals.rows, snapshot.jobs.held_gpus
    gives_up = bool((decision.gpus[rows] < held[rows]).any())
    waits = bool((decision.gpus == 0).any())
    if not (gives_up and waits):
        return decision
    return replace(decision, recheck_at_us=min(decision.recheck_at_us, snapshot.now_us + 1))


class _Granting:
    """`_sizes`: of the jobs whose size changes, by row. `_held`: GPUs of each queue with these."""

    def __init__(
        self, decision: Decision, snapshot: Snapshot, proposals: Proposals, staying: StayingJobs
    ) -> None:
        self._decision, self._snapshot, self._jobs = decision, snapshot, snapshot.jobs
        self._staying = frozenset(staying.rows.tolist())
        self._roles = roles_of(decision, snapshot.jobs)
        runs = proposals.rows[decision.gpus[proposals.rows] > 0]
        order = np.lexsort((self._jobs.number[runs], decision.reasons.position[runs]))
        self._proposed = {
            row: JobSize.of(
                self._jobs, row, int(proposals.workers[row]), int(proposals.servers[row])
            )
            for row in runs[order].tolist()
        }
        self._sizes: dict[int, JobSize] = {}
        self._refused: dict[int, SizeRefusal] = {}
        self._held: dict[int, int] = {}

    def shrink(self) -> None:
        """A job that proposes less than it would get gets that."""
        for row, wanted in self._proposed.items():
            if wanted.gpus < self._decided(row).gpus and row not in self._staying:
                self._sizes[row] = wanted

    def grow(self, closed_by: SizeRefusal | None) -> None:
        """Jobs that propose more than they would get, in the policy's order."""
        growing = [
            row
            for row, wanted in self._proposed.items()
            if wanted.gpus > int(self._decision.gpus[row])
        ]
        closed_by = closed_by or self._closed_by()
        room = 0 if closed_by else self._room()
        self._held = self._held_by_queue()
        for row in growing:
            if row in self._staying:
                self._refused[row] = SizeRefusal.DRAINED
            elif closed_by:
                self._refused[row] = closed_by
            else:
                room -= self._grow(row, room)

    def result(self) -> Decision:
        """The decision about all jobs."""
        decision = replace(self._decision, refused=self._refused)
        if not self._sizes:
            return decision
        gpus, workers, servers = decision.gpus.copy(), *map(np.copy, self._roles)
        for row, size in self._sizes.items():
            workers[row], servers[row], gpus[row] = size
        places = {row: it for row, it in decision.places.items() if row not in self._sizes}
        return replace(decision, gpus=gpus, workers=workers, servers=servers, places=places)

    # -- growth ------------------------------------------------------------------------------------

    def _grow(self, row: int, room: int) -> int:
        """Grant what there is room for; returns how many GPUs it takes of it."""
        decided, wanted = self._decided(row), self._proposed[row]
        within, limit = self._within_queue(row, room)
        size = wanted if wanted.gpus <= decided.gpus + within else None
        if size is None:
            size = smaller_size(self._jobs, row, wanted, decided.gpus + within)
            self._refused[row] = limit
        more, runs = size.gpus - decided.gpus, int(self._jobs.held_gpus[row]) > 0
        if more <= 0 or (runs and 2 * more < wanted.gpus - decided.gpus):
            return 0
        self._sizes[row] = size
        self._held[int(self._jobs.queue[row])] += more
        return more

    def _within_queue(self, row: int, room: int) -> tuple[int, SizeRefusal]:
        """How many of these GPUs the job's queue may get, and what stands against more."""
        limits, held = self._snapshot.queues.limits, self._held
        own = int(self._jobs.queue[row])
        kept = sum(
            max(each.kept - held.get(number, 0), 0)
            for number, each in enumerate(limits)
            if number != own
        )
        most = limits[own].most if 0 <= own < len(limits) else None
        of_queue = NEVER_US if most is None else most - held.get(own, 0)
        rooms = [
            (room, SizeRefusal.TOO_FEW_GPUS),
            (of_queue, SizeRefusal.QUEUE_LIMIT),
            (room - kept, SizeRefusal.GUARANTEES),
        ]
        least, reason = min(rooms, key=lambda each: each[0])
        return max(least, 0), reason

    def _held_by_queue(self) -> dict[int, int]:
        held: dict[int, int] = {}
        for row in np.flatnonzero(self._decision.gpus).tolist():
            queue = int(self._jobs.queue[row])
            held[queue] = held.get(queue, 0) + self._now(row).gpus
        return held

    def _closed_by(self) -> SizeRefusal | None:
        """What keeps all jobs from growing; None: nothing does."""
        code = self._decision.reasons.code
        waits = (self._decision.gpus == 0) & (code != int(Wait.RUNS))
        if bool((waits & ~np.isin(code, QUEUE_WAITS)).any()):
            return SizeRefusal.OTHERS_WAIT
        return SizeRefusal.SHARED if shares_gpus(self._decision, self._snapshot) else None

    def _room(self) -> int:
        """GPUs that the decision leaves free, with those that jobs give up by their proposals."""
        free = int(self._snapshot.free_gpus.sum())
        for row, held in enumerate(self._jobs.held_gpus.tolist()):
            if row not in self._staying:
                free += held - self._now(row).gpus
        return max(free, 0)

    def _decided(self, row: int) -> JobSize:
        workers, servers = self._roles
        return JobSize(int(workers[row]), int(servers[row]), int(self._decision.gpus[row]))

    def _now(self, row: int) -> JobSize:
        return self._sizes.get(row) or self._decided(row)
