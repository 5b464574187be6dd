"""Pending actions: slots stay occupied until the processes on them have ended.

A decision allocates slots immediately, but its actions take time: a preempted job occupies its
slots until the driver reports that it has stopped. An action is issued once all slots that it needs
are free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from motet.domain.actions import Action, Migrate, Preempt, Start
from motet.domain.snapshot import Placement

_SPARE_NAMES = 256
_NO_SLOTS = Placement((), ())


@dataclass(slots=True)
class _Hold:
    """Slots and the jobs whose processes occupy them: several jobs if they share."""

    placement: Placement
    jobs: set[int]

    def copy(self) -> _Hold:
        return _Hold(self.placement, set(self.jobs))


@dataclass(frozen=True)
class PendingRequests:
    """`stopping`: jobs whose processes are being stopped, on these slots. `waiting`: starts that
    wait for slots."""

    stopping: Mapping[int, Placement] = field(default_factory=dict)
    waiting: Mapping[int, Start] = field(default_factory=dict)


class Requests:
    """Actions that have not been executed, and slots that processes occupy."""

    def __init__(self, gpus: Sequence[int]) -> None:
        """`gpus`: of every machine."""
        self._free = list(gpus)
        self._holds: dict[int, _Hold] = {}
        # What jobs have yet to leave: no slots if they start again where they are.
        self._left: dict[int, _Hold] = {}
        # Jobs that were last issued to train asynchronously.
        self._asynchronous: set[int] = set()
        self._stopping: set[int] = set()
        self._waiting: dict[int, tuple[Start | Migrate, Sequence[int]]] = {}
        self._ready: list[Action] = []
        self._any_shared = False
        # Machines on which something has changed since waiting actions were tried.
        self._touched: set[int] = set()
        # By job, at least the jobs that wait for slots that they share with it.
        self._named_by: dict[int, set[int]] = {}

    @property
    def are_settled(self) -> bool:
        """Whether no action is pending."""
        return not (self._waiting or self._stopping or self._left or self._ready)

    def take(self) -> list[Action]:
        """The actions that can be executed now."""
        self._try_touched()
        # Jobs that wait no more stay in it: one that could not start may be requested again.
        if len(self._named_by) > _SPARE_NAMES + 4 * len(self._waiting):
            self._named_by = self._names()
        if self._waiting and not (self._ready or self._stopping or self._left):
            self._break_cycle()
        ready, self._ready = self._ready, []
        return ready

    def issue(self, actions: Sequence[Action]) -> None:
        """These actions have been executed, in this order, instead of those that `take` gives."""
        for action in actions:
            if isinstance(action, Preempt):
                self._ready = [each for each in self._ready if each != action]
                if action.job in self._holds:
                    self._stops(action.job)
            else:
                self._waiting.setdefault(action.job, (action, ()))
                self._occupy(action.job)

    def expects(self, actions: Sequence[Action]) -> bool:
        """Whether each of these actions has been requested, be it by a stop on the way."""
        return all(
            each.job in self._waiting or (isinstance(each, Preempt) and each in self._ready)
            for each in actions
        )

    def void(self) -> list[int]:
        """Forget the actions that wait for slots; returns their jobs."""
        jobs = [*self._waiting]
        self._waiting.clear()
        return jobs

    def held_by(self, job: int) -> Placement | None:
        """The slots of the job's processes; None: it has none, or they are being stopped."""
        hold = self._holds.get(job)
        return None if hold is None or job in self._stopping else hold.placement

    def copy(self) -> Requests:
        """An independent copy."""
        twin = Requests(self._free)
        twins = {id(hold): hold.copy() for hold in [*self._holds.values(), *self._left.values()]}
        twin._holds = {job: twins[id(hold)] for job, hold in self._holds.items()}
        twin._left = {job: twins[id(hold)] for job, hold in self._left.items()}
        twin._stopping, twin._waiting = set(self._stopping), dict(self._waiting)
        twin._asynchronous = set(self._asynchronous)
        twin._ready, twin._any_shared = [*self._ready], self._any_shared
        twin._touched = set(self._touched)
        twin._named_by = {job: set(others) for job, others in self._named_by.items()}
        return twin

    def replace(self, other: Requests) -> None:
        """Take over everything from another one, which is used no more."""
        self.__dict__.update(other.__dict__)

    def add_machine(self, gpus: int) -> None:
        """The cluster has grown by a machine."""
        self._free.append(gpus)

    # -- requests of a decision --------------------------------------------------------------------

    def stop(self, job: int) -> None:
        """Request that the job releases all slots."""
        self._waiting.pop(job, None)
        if job in self._holds and job not in self._stopping:
            self._stops(job)
            self._ready.append(Preempt(job))

    def start(self, action: Start | Migrate, partners: Sequence[int]) -> None:
        """Request that the job runs. `partners`: the other jobs with the same GPUs."""
        self._any_shared |= bool(partners)
        if self._any_shared:
            self._regroup_waiting(action.job, partners)
        self._wait(action, partners)

    def is_issued(self, job: int) -> bool:
        """Whether the job holds slots and nothing else is requested of it."""
        is_pending = job in self._waiting or job in self._stopping
        return job in self._holds and not is_pending

    # -- results -----------------------------------------------------------------------------------

    def adopt(self, job: int, placement: Placement, partners: Sequence[int]) -> None:
        """Register a job whose processes already run, on slots that these jobs share."""
        self._hold(job, placement, self._hold_of(partners, placement))

    @property
    def pending(self) -> PendingRequests:
        """Stops and starts that are not done; none are told where jobs have shared slots."""
        if self._any_shared:
            return PendingRequests()
        stopping = {job: self._holds[job].placement for job in sorted(self._stopping)}
        starts = {job: action for job, (action, _) in self._waiting.items()}
        return PendingRequests(
            stopping, {job: each for job, each in starts.items() if isinstance(each, Start)}
        )

    def continue_with(self, pending: PendingRequests) -> None:
        """Go on with these, after `adopt` of all slots that jobs were given."""
        for job, action in pending.waiting.items():
            self._release(job, self._holds.pop(job, None))
            self._wait(action, ())
        for job, placement in pending.stopping.items():
            if job not in self._holds:  # Else it moves, and has its new slots.
                self._hold(job, placement, None)
                self._stops(job)

    def stopped(self, job: int) -> bool:
        """Its processes have stopped; returns whether that was requested, or they held nothing.

        After a requested stop the job's waiting action stays; after any other stop it is removed.
        """
        is_expected = job in self._stopping or job not in self._holds
        if not is_expected:
            self._waiting.pop(job, None)
        self._release_all(job)
        return is_expected

    def gone(self, job: int) -> None:
        """The job has ended or could not start: it holds nothing and its waiting action is void."""
        self._waiting.pop(job, None)
        self._release_all(job)

    def resized(self, job: int) -> None:
        """The job has released its former slots, or has started again on them."""
        self._release(job, self._left.pop(job, None))
        self._touch_wanted(job)

    # -- what may let waiting actions be issued ----------------------------------------------------

    def _wait(self, action: Start | Migrate, partners: Sequence[int]) -> None:
        """The action waits for slots; jobs that hold slots with its job may stay without it."""
        self._waiting[action.job] = action, partners
        self._touched.update(action.placement.machines)
        self._touch_held(action.job)

    def _stops(self, job: int) -> None:
        """The processes of a job are being stopped: jobs that hold slots with it may stay."""
        self._stopping.add(job)
        self._touch_held(job)

    def _touch_held(self, job: int) -> None:
        if (hold := self._holds.get(job)) is not None:
            self._touched.update(hold.placement.machines)

    def _touch_wanted(self, job: int) -> None:
        """A job that has left its former slots may get those for which it waits."""
        if job in self._waiting:
            self._touched.update(self._waiting[job][0].placement.machines)

    # -- slots -------------------------------------------------------------------------------------

    def _names(self) -> dict[int, set[int]]:
        """`_named_by` without jobs that wait no more."""
        found: dict[int, set[int]] = {}
        for job, (_, partners) in self._waiting.items():
            for other in partners:
                found.setdefault(other, set()).add(job)
        return found

    def _regroup_waiting(self, job: int, partners: Sequence[int]) -> None:
        """Jobs that wait for the same slots as before share them with this one, or not any more."""
        for other in self._named_by.get(job, ()):
            if other in self._waiting and other not in partners:
                action, known = self._waiting[other]
                self._wait(action, tuple(each for each in known if each != job))
        for other in partners:
            self._named_by.setdefault(other, set()).add(job)
            if other in self._waiting:
                action, known = self._waiting[other]
                if job not in known:
                    self._wait(action, (*known, job))
                    self._named_by.setdefault(job, set()).add(other)

    def _try_touched(self) -> None:
        """Try the actions on whose machines something has changed since they were tried last."""
        touched, self._touched = self._touched, set()
        if not touched:
            return
        for job, (action, _) in list(self._waiting.items()):
            if not touched.isdisjoint(action.placement.machines):
                self._try(job)

    def _try(self, job: int) -> None:
        """Issue the action if its slots are free."""
        if job in self._stopping or job in self._left:
            return
        action, partners = self._waiting[job]
        own, shared = self._holds.get(job), self._hold_of(partners, action.placement)
        must_move = own is None or not (
            own is shared or self._stays(job, own, action.placement, shared)
        )
        if must_move and shared is None and not self._fits(action.placement, own):
            return
        self._give(job, shared, must_move=must_move)
        if own is None and isinstance(action, Migrate):  # It was stopped before it could move.
            action = Start(*action)
        self._ready.append(action)

    def _occupy(self, job: int) -> None:
        """The job's waiting action is executed: it holds the slots."""
        action, partners = self._waiting[job]
        own, shared = self._holds.get(job), self._hold_of(partners, action.placement)
        must_move = own is None or not (
            own is shared or self._stays(job, own, action.placement, shared)
        )
        self._give(job, shared, must_move=must_move)

    def _give(self, job: int, shared: _Hold | None, *, must_move: bool) -> None:
        """The job's waiting action is issued.

        On the slots that it has, a job starts again to train the other way, or beside other jobs:
        the next action waits until it has. The driver need not report any other change in place.
        """
        action, partners = self._waiting.pop(job)
        trains_otherwise = action.asynchronous != (job in self._asynchronous)
        if must_move:
            self._move(job, action.placement, shared)
        elif isinstance(action, Migrate) and (trains_otherwise or partners):
            self._left.setdefault(job, _Hold(_NO_SLOTS, set()))
        if trains_otherwise:
            self._asynchronous ^= {job}

    def _move(self, job: int, placement: Placement, shared: _Hold | None) -> None:
        """The job holds these slots, besides those that it has yet to leave."""
        if (own := self._holds.get(job)) is not None:
            self._left[job] = own
        self._hold(job, placement, shared)

    def _stays(self, job: int, own: _Hold, placement: Placement, shared: _Hold | None) -> bool:
        """Whether the job keeps its slots, and all jobs that share them leave."""
        others = own.jobs - {job}
        leave = all(other in self._waiting or other in self._stopping for other in others)
        return shared is None and own.placement == placement and leave

    def _hold_of(self, partners: Sequence[int], placement: Placement) -> _Hold | None:
        """The slots of the first of these jobs that is there already."""
        if not partners:
            return None
        for partner in partners:
            hold = self._holds.get(partner)
            if hold is not None and hold.placement == placement:
                return hold
        return None

    def _fits(self, placement: Placement, own: _Hold | None) -> bool:
        """Whether the slots are free, or become free as the only job of `own` leaves it."""
        for machine, count in zip(*placement, strict=True):
            lacking = count - self._free[machine]
            if lacking > 0 and lacking > _returned(own, machine):
                return False
        return True

    def _hold(self, job: int, placement: Placement, shared: _Hold | None) -> None:
        self._touched.update(placement.machines)
        if shared is not None:
            shared.jobs.add(job)
            self._holds[job] = shared
            return
        self._holds[job] = _Hold(placement, {job})
        for machine, count in zip(*placement, strict=True):
            self._free[machine] -= count

    def _release_all(self, job: int) -> None:
        self._stopping.discard(job)
        self._asynchronous.discard(job)
        if self._ready:
            self._ready = [each for each in self._ready if each != Preempt(job)]
        self._release(job, self._holds.pop(job, None))
        self._release(job, self._left.pop(job, None))
        self._touch_wanted(job)

    def _release(self, job: int, hold: _Hold | None) -> None:
        if hold is None:
            return
        hold.jobs.discard(job)
        self._touched.update(hold.placement.machines)
        if not hold.jobs:
            for machine, count in zip(*hold.placement, strict=True):
                self._free[machine] += count

    def _break_cycle(self) -> None:
        """Jobs that exchange their places wait for each other: one of them stops on the way.

        Raises RuntimeError where none of them holds slots: then no stop can free any.
        """
        job = next((job for job in self._waiting if job in self._holds), None)
        if job is None:
            places = {job: action.placement for job, (action, _) in self._waiting.items()}
            raise RuntimeError(
                f"actions wait for slots that are neither free nor about to be: {places}; "
                f"free GPUs by machine: {self._free}"
            )
        self._stops(job)
        self._ready.append(Preempt(job))


def _returned(own: _Hold | None, machine: int) -> int:
    """Slots there that become free as the only job of `own` leaves it."""
    if own is None or len(own.jobs) > 1:
        return 0
    return dict(zip(*own.placement, strict=True)).get(machine, 0)
