"""Actions on their way: slots stay held until the processes that have them are gone.

A decision allocates at once. Its actions are requests that take time: a job that is preempted holds
its slots until the driver reports that it has stopped. An action is handed out once all slots that
it needs are free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from motet.domain.actions import Action, Migrate, Preempt, Start
from motet.domain.snapshot import UNKNOWN, Placement


@dataclass(slots=True)
class _Hold:
    """Slots and the jobs whose processes have them: two if they share."""

    placement: Placement
    jobs: set[int]


class Requests:
    """The actions that are not carried out yet, and the slots that processes hold."""

    def __init__(self, gpus: Sequence[int]) -> None:
        """`gpus`: of every machine."""
        self._free = list(gpus)
        self._holds: dict[int, _Hold] = {}
        self._left: dict[int, _Hold] = {}
        self._stopping: set[int] = set()
        self._waiting: dict[int, tuple[Start | Migrate, int]] = {}
        self._ready: list[Action] = []

    @property
    def are_settled(self) -> bool:
        """Whether nothing waits for anything."""
        return not (self._waiting or self._stopping or self._left or self._ready)

    def take(self) -> list[Action]:
        """The actions that can be carried out now."""
        for job in list(self._waiting):
            self._try(job)
        if self._waiting and not (self._ready or self._stopping or self._left):
            self._break_cycle()
        ready, self._ready = self._ready, []
        return ready

    # -- what a decision asks for ------------------------------------------------------------------

    def stop(self, job: int) -> None:
        """The job shall hold nothing."""
        self._waiting.pop(job, None)
        if job in self._holds and job not in self._stopping:
            self._stopping.add(job)
            self._ready.append(Preempt(job))

    def start(self, action: Start | Migrate, partner: int) -> None:
        """The job shall run there. `partner`: whose GPUs it shares, or UNKNOWN."""
        self._waiting[action.job] = action, partner
        if partner in self._waiting:
            self._waiting[partner] = self._waiting[partner][0], action.job

    # -- what became of it -------------------------------------------------------------------------

    def adopt(self, job: int, placement: Placement, partner: int) -> None:
        """Processes of the job are there already, on slots that the partner may share."""
        self._hold(job, placement, self._hold_of(partner, placement))

    def stopped(self, job: int) -> bool:
        """Its processes are gone; returns whether that was requested, or they held nothing."""
        is_expected = job in self._stopping or job not in self._holds
        self._stopping.discard(job)
        self._ready = [each for each in self._ready if each != Preempt(job)]
        for holds in (self._holds, self._left):
            self._release(job, holds.pop(job, None))
        return is_expected

    def resized(self, job: int) -> None:
        """It holds nothing any more of what it had before."""
        self._release(job, self._left.pop(job, None))

    # -- slots -------------------------------------------------------------------------------------

    def _try(self, job: int) -> None:
        """Hand the action out if its slots are free."""
        if job in self._stopping or job in self._left:
            return
        action, partner = self._waiting[job]
        own, shared = self._holds.get(job), self._hold_of(partner, action.placement)
        if own is None or not (own is shared or self._stays(job, own, action.placement, shared)):
            if shared is None and not self._fits(action.placement, own):
                return
            if own is not None:
                self._left[job] = own
            self._hold(job, action.placement, shared)
        del self._waiting[job]
        if own is None and isinstance(action, Migrate):  # It was stopped on the way.
            action = Start(*action)
        self._ready.append(action)

    def _stays(self, job: int, own: _Hold, placement: Placement, shared: _Hold | None) -> bool:
        """Whether it goes on with the slots that it has: others that share them leave."""
        others = own.jobs - {job}
        leave = all(other in self._waiting or other in self._stopping for other in others)
        return shared is None and own.placement == placement and leave

    def _hold_of(self, partner: int, placement: Placement) -> _Hold | None:
        hold = self._holds.get(partner) if partner != UNKNOWN else None
        return hold if hold is not None and hold.placement == placement else None

    def _fits(self, placement: Placement, own: _Hold | None) -> bool:
        returned = {}
        if own is not None and len(own.jobs) == 1:
            returned = dict(zip(*own.placement, strict=True))
        free = self._free
        return all(
            free[machine] + returned.get(machine, 0) >= count
            for machine, count in zip(*placement, strict=True)
        )

    def _hold(self, job: int, placement: Placement, shared: _Hold | None) -> None:
        if shared is not None:
            shared.jobs.add(job)
            self._holds[job] = shared
            return
        self._holds[job] = _Hold(placement, {job})
        for machine, count in zip(*placement, strict=True):
            self._free[machine] -= count

    def _release(self, job: int, hold: _Hold | None) -> None:
        if hold is None:
            return
        hold.jobs.discard(job)
        if not hold.jobs:
            for machine, count in zip(*hold.placement, strict=True):
                self._free[machine] += count

    def _break_cycle(self) -> None:
        """Jobs that exchange their places wait for each other: one of them stops on the way."""
        job = next(job for job in self._waiting if job in self._holds)
        self._stopping.add(job)
        self._ready.append(Preempt(job))
