"""Which jobs hold GPUs within the limits of their queues, in the policy's order. Pure."""

from __future__ import annotations

from collections.abc import Container, Sequence, Set

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.decision import Decision
from motet.domain.queues.queue_limits import QueueLimits
from motet.domain.snapshot import UNKNOWN, Snapshot
from motet.domain.units import NEVER_US
from motet.domain.wait import FOR_GPUS, WAITS, BlockerRule, Wait
from motet.engine.actions.preemption_limits import Protection
from motet.engine.actions.roles import JobSize, roles_of, smaller_size
from motet.engine.actions.staying_jobs import StayingJobs

_NOTHING = JobSize(0, 0, 0)
_BEHIND = frozenset(w for w in WAITS if w.reason.blockers is BlockerRule.HEAD_OF_LINE)
_FOR_OTHERS = frozenset((Wait.QUEUE_GUARANTEE, Wait.MIN_RUNTIME, Wait.PREEMPTION_RATE))


class QueueFilling:
    """Admits jobs one by one. `sizes`: of the admitted ones, by row; `code`: of the others.

    `held`: GPUs by queue, of the admitted jobs. `free`: by row of a job that the policy left
    waiting behind jobs which limits refuse, the GPUs that are free at its turn.
    `kept_until_us`: the first end of a protection that stands in the way of a job;
    `protected_until_us`: by row of a job that waits for such ends, the last one.
    """

    def __init__(
        self,
        decision: Decision,
        snapshot: Snapshot,
        protection: Protection,
        excluded: Container[int],
        staying: StayingJobs,
        *,
        may_overtake: bool,
    ) -> None:
        """`excluded`: rows that get nothing unless the policy chose them. `staying`: they hold GPUs
        of their queues, but none that others can get. `may_overtake`: see Policy.
        """
        jobs = snapshot.jobs
        self._decision, self._jobs, self._protection = decision, jobs, protection
        self._excluded, self._staying = excluded, frozenset(staying.rows.tolist())
        self._may_overtake = may_overtake
        self._may_lack_kept_gpus = protection.is_in_force or len(staying.closed) > 0
        self._limits: Sequence[QueueLimits] = (*snapshot.queues.limits, QueueLimits())
        known = (jobs.queue >= 0) & (jobs.queue < len(snapshot.queues.limits))
        self._queue: list[int] = np.where(known, jobs.queue, len(self._limits) - 1).tolist()
        self._wanted: list[int] = decision.gpus.tolist()
        self._runs: list[bool] = (jobs.held_gpus > 0).tolist()
        resizes = decision.workers is not None
        self._elastic: list[bool] = (jobs.is_elastic & resizes).tolist()
        self._roles = roles_of(decision, jobs)
        self._mates = _mates(decision)
        self._room = snapshot.gpu_count
        self.sizes: dict[int, JobSize] = {}
        self.held = [0] * len(self._limits)
        self.code: list[int] = decision.reasons.code.tolist()
        self.free: dict[int, int] = {}
        self.kept_until_us = NEVER_US
        self.protected_until_us: dict[int, int] = {}
        self._protected: list[int] = []

    @property
    def room(self) -> int:
        """GPUs that no admitted job holds."""
        return self._room

    def fill(self) -> None:
        """First what is not preempted, then every queue up to its guarantee, then the rest of
        what the policy chose, then, on what limits have left over, jobs behind in its order.
        """
        order = _order(self._decision, self._jobs.number)
        self._keep_protected(order)
        self._fill_guarantees(order)
        self._fill_chosen(order)
        self._fill_rest(order)

    # -- the four passes ---------------------------------------------------------------------------

    def _keep_protected(self, order: Sequence[int]) -> None:
        for row in order:
            if row in self._staying:
                self._admit(row, self._size_wanted(row))
            elif self._runs[row] and self._protection.code[row] != Wait.RUNS:
                self._admit(row, self._size_of_running(row))
                self._protected.append(row)

    def _fill_guarantees(self, order: Sequence[int]) -> None:
        """The policy's choice of a queue's jobs comes first. A job that waits overtakes none of its
        queue that the policy chose; it overtakes one that the policy left waiting if the policy
        let it.
        """
        blocks, delays = set[int](), set[int]()
        for row in sorted(order, key=lambda row: not self._wanted[row]):
            queue = self._queue[row]
            if row in self.sizes or not self._is_candidate(row):
                continue
            waits = not self._runs[row]
            is_blocked = queue in blocks or (queue in delays and self._is_behind(row))
            if waits and is_blocked:
                continue
            guaranteed = self._limits[queue].guarantee - self.held[queue]
            size = self._fitting(row, min(guaranteed, self._room))
            if size is not None:
                self._admit(row, size)
                continue
            if self._fitting(row, guaranteed) is not None:
                self._await_protected(row, self._protected)
            if waits:
                (blocks if self._wanted[row] else delays).add(queue)

    def _fill_chosen(self, order: Sequence[int]) -> None:
        """What the policy chose, as far as limits and the guarantees of others permit.

        A job that fits only in the place of later ones of its queue takes it.
        """
        blocked = set[int]()
        for place, row in enumerate(order):
            queue = self._queue[row]
            if not self._wanted[row] or not self._is_candidate(row):
                continue
            if row in self.sizes:
                self._grow(row)
            elif queue in blocked and not (self._runs[row] or self._may_overtake):
                self.code[row] = Wait.BEHIND_HEAD
            elif not (self._admit_if_fits(row) or self._displaces(row, order[place + 1 :])):
                blocked.add(queue)

    def _fill_rest(self, order: Sequence[int]) -> None:
        """Jobs that run or that the policy left waiting, on GPUs that limits keep from jobs before
        them.

        Under a policy that lets no job overtake, none overtakes a waiting job of its queue that the
        policy chose: such queues are `closed`. `full`: queues at their limit. `stuck`: a job before
        waits for GPUs, not for its queue. `refused`: jobs before that get nothing of what the
        policy gave them, `given` GPUs. Reasons of jobs behind these count their GPUs as free.
        """
        left_out = [row for row in order if self._wanted[row] and row not in self.sizes]
        heads = () if self._may_overtake else left_out
        closed = {self._queue[row] for row in heads if not self._runs[row]}
        leaves_gpus = any(size.gpus < self._wanted[row] for row, size in self.sizes.items())
        full, stuck, leaves_gpus = set[int](), False, leaves_gpus or bool(left_out)
        refused, given, room = set[int](), 0, self._room
        for row in order:
            queue, behind = self._queue[row], self._is_behind(row)
            is_next = not (behind and (stuck or queue in full)) and queue not in closed
            if row in self.sizes or (leaves_gpus and self._runs[row] and self._runs_on(row)):
                continue
            if refused and not self._wanted[row]:
                self.free[row] = self._free_at_turn(row, given - (room - self._room))
            if self._wanted[row] or not self._is_candidate(row):
                is_held = self.code[row] == Wait.QUEUE_HELD
                leaves_gpus |= is_held
                if is_held or self._wanted[row]:
                    given += self._chosen_for(row, refused)
                    refused.add(row)
                stuck |= self.code[row] in _FOR_OTHERS
            elif self._is_above_limit(row):
                if not (behind and queue in full | closed):
                    self.code[row] = Wait.QUEUE_LIMIT
                full.add(queue)
                leaves_gpus = True
            elif not (leaves_gpus and is_next and self._admit_if_fits(row)):
                if refused:
                    self.code[row] = self._code_behind_refused(row, is_next=is_next, closed=closed)
                stuck |= not (queue in closed or (behind and queue in full))

    # -- one job -----------------------------------------------------------------------------------

    def _is_candidate(self, row: int) -> bool:
        """Whether limits alone decide about the job; notes the reason of one that is held."""
        if self._limits[self._queue[row]].is_held and not self._runs[row]:
            self.code[row] = Wait.QUEUE_HELD
            return False
        if self._wanted[row]:
            return True
        return row not in self._excluded and self.code[row] in FOR_GPUS

    def _is_behind(self, row: int) -> bool:
        return self.code[row] in _BEHIND

    def _is_above_limit(self, row: int) -> bool:
        queue = self._queue[row]
        most = self._limits[queue].most
        return most is not None and self._fitting(row, most - self.held[queue]) is None

    def _admit_if_fits(self, row: int) -> bool:
        """Whether the job is admitted; if not and the policy chose it, `code` says why."""
        queue, most = self._queue[row], self._limits[self._queue[row]].most
        room = self._borrowable(queue) if self._cost(row, 1) else self._wanted[row]
        if most is not None:
            room = min(room, most - self.held[queue])
        size = self._fitting(row, room)
        if size is not None:
            self._admit(row, size)
        elif self._is_above_limit(row):
            self.code[row] = Wait.QUEUE_LIMIT
        elif self._wanted[row]:
            self.code[row] = Wait.QUEUE_GUARANTEE
            self._await_protected(row, [each for each in self._protected if not self._wanted[each]])
        return size is not None

    def _chosen_for(self, row: int, others: Set[int]) -> int:
        """GPUs that the policy chose for a job, and for none of the others or of those that run."""
        is_counted = not others.isdisjoint(self._mates.get(row, ()))
        return 0 if is_counted else self._cost(row, self._wanted[row])

    def _free_at_turn(self, row: int, more: int) -> int:
        """The policy's count with `more` GPUs; with no more than are free, because jobs behind in
        the order may have been admitted to some of them.
        """
        free = int(self._decision.reasons.free_gpus[row])
        return max(free + min(more, max(self._room - free, 0)), 0)

    def _code_behind_refused(self, row: int, *, is_next: bool, closed: Container[int]) -> int:
        """Why a job waits that the policy left waiting behind jobs that limits refuse.

        It is behind one of its queue that it may not overtake, or behind the head of the line that
        the policy named, or may overtake all that wait before it, and is the head itself.
        """
        code = self.code[row]
        if not self._is_behind(row) and code != Wait.TOO_FEW_GPUS:
            return code
        if self._queue[row] in closed:
            return Wait.BEHIND_HEAD
        if not is_next:
            return code
        fits = self._fitting(row, self._room) is not None
        return Wait.QUEUE_GUARANTEE if fits else Wait.TOO_FEW_GPUS

    def _runs_on(self, row: int) -> bool:
        """Whether a running job keeps its GPUs because limits permit no other job to have them.

        Where machines take no jobs, or a job was protected while another queue reclaimed its
        guarantee, GPUs that guarantees keep free may be missing. It runs on these until the queues
        that they are kept for need them.
        """
        queue, size = self._queue[row], self._size_of_running(row)
        most = self._limits[queue].most
        room = self._room if self._may_lack_kept_gpus else self._borrowable(queue)
        room = min(room, NEVER_US if most is None else most - self.held[queue])
        if size.gpus > room:
            return False
        self._admit(row, size)
        return True

    def _displaces(self, row: int, later: Sequence[int]) -> bool:
        """Whether the job is admitted in the place of jobs of its queue, the last ones first."""
        code, released = self.code[row], dict[int, JobSize]()
        for other in reversed(later):
            if self._queue[other] != self._queue[row] or other not in self.sizes:
                continue
            if other in self._protected or other in self._staying:
                continue
            released[other] = self.sizes[other]
            self._release(other)
            if self._admit_if_fits(row):
                return True
        for other, size in released.items():
            self._admit(other, size)
        self.code[row] = code
        return False

    def _grow(self, row: int) -> None:
        """An elastic job that was admitted at a smaller size than the policy chose."""
        size, queue = self.sizes[row], self._queue[row]
        if size.gpus >= self._wanted[row] or not self._elastic[row]:
            return
        more, most = self._borrowable(queue), self._limits[queue].most
        if most is not None:
            more = min(more, most - self.held[queue])
        larger = self._fitting(row, size.gpus + max(more, 0))
        if larger is not None and larger.gpus > size.gpus:
            self._release(row)
            self._admit(row, larger)

    def _borrowable(self, queue: int) -> int:
        """Free GPUs beside those that other queues neither use nor lend."""
        return self._room - sum(
            max(each.kept - self.held[other], 0)
            for other, each in enumerate(self._limits)
            if other != queue
        )

    def _fitting(self, row: int, room: int) -> JobSize | None:
        """The size, at most that of the policy's choice or the full request, that fits."""
        wanted = self._size_wanted(row)
        if wanted.gpus <= room:
            return wanted
        if not self._elastic[row] or room <= 0:
            return None
        smaller = smaller_size(self._jobs, row, wanted, room)
        return smaller if smaller.gpus <= room else None

    def _size_wanted(self, row: int) -> JobSize:
        if gpus := self._wanted[row]:
            return JobSize(int(self._roles.workers[row]), int(self._roles.servers[row]), gpus)
        jobs = self._jobs
        return JobSize(int(jobs.workers[row]), int(jobs.servers[row]), int(jobs.gpus[row]))

    def _size_of_running(self, row: int) -> JobSize:
        """What it holds, or less if the policy wants less. It may grow later: other jobs that run
        on, against the policy's decision, can have the GPUs for that.
        """
        jobs, held_gpus = self._jobs, int(self._jobs.held_gpus[row])
        if 0 < self._wanted[row] <= held_gpus:
            return self._size_wanted(row)
        roles = int(jobs.held_workers[row]), int(jobs.held_servers[row])
        return JobSize(*roles, held_gpus)

    def _await_protected(self, row: int, protected: Sequence[int]) -> None:
        """If the job fits on GPUs of protected jobs, it waits for the end of the protection."""
        freed = sum(self.sizes[each].gpus for each in protected)
        if not protected or self._fitting(row, self._room + freed) is None:
            return
        until_us = [int(self._protection.until_us[each]) for each in protected]
        self.kept_until_us = min(self.kept_until_us, *until_us)
        last = protected[until_us.index(max(until_us))]
        self.code[row] = int(self._protection.code[last])
        self.protected_until_us[row] = max(until_us)

    def _admit(self, row: int, size: JobSize) -> None:
        self._room -= self._cost(row, size.gpus)
        self.held[self._queue[row]] += size.gpus
        self.sizes[row], self.code[row] = size, Wait.RUNS

    def _release(self, row: int) -> None:
        size = self.sizes.pop(row)
        self._room += self._cost(row, size.gpus)
        self.held[self._queue[row]] -= size.gpus
        self.code[row] = int(self._decision.reasons.code[row])

    def _cost(self, row: int, gpus: int) -> int:
        """A job on the GPUs of another one needs no others."""
        return 0 if any(mate in self.sizes for mate in self._mates.get(row, ())) else gpus


def _order(decision: Decision, number: Ints) -> list[int]:
    """Rows in the policy's order; jobs without a place in it come last."""
    position = decision.reasons.position
    last = np.where(position == UNKNOWN, NEVER_US, position)
    rows: list[int] = np.lexsort((number, decision.gpus == 0, last)).tolist()
    return rows


def _mates(decision: Decision) -> dict[int, list[int]]:
    """By row, the other rows that the policy puts on the same GPUs."""
    if decision.group is None:
        return {}
    members: dict[int, list[int]] = {}
    for row in np.flatnonzero((decision.group != UNKNOWN) & (decision.gpus > 0)).tolist():
        members.setdefault(int(decision.group[row]), []).append(row)
    return {
        row: [mate for mate in rows if mate != row] for rows in members.values() for row in rows
    }
