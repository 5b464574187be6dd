"""The journal that people read: what became of every job, and why it waited."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from motet.domain.actions import Action, Migrate, Preempt, Start
from motet.domain.decision import COMPARISONS, Decision, Reasons, Wait
from motet.domain.log_entry import NOBODY, NOWHERE, LogEntry, OtherJobs
from motet.domain.snapshot import UNKNOWN, Placement, Snapshot
from motet.domain.units import NEVER_US
from motet.engine.turn import Turn, first_of

Ints = NDArray[np.int64]
_NAMES = tuple(code.name.lower() for code in Wait)
_COLUMNS = ("code", "position", "queue", "row", "has_started")
_NOT_SEEN = -1
_NAN = float("nan")
_NEARER = 4
_JOBS_PER_LOOK = 16
_TIMED = (Wait.LOCALITY, Wait.ORDER, Wait.OUTBID, Wait.LEASE_OVER)


class DecisionLog:
    """Tells entries in the order in which things happened. A `Journal`.

    A wait is told once it begins, whenever its reason changes, and whenever at most a quarter as
    many jobs are before it as when it was told last (noticed a little later among many jobs).
    """

    def __init__(self, tell: Callable[[LogEntry], object] | None = None) -> None:
        """`tell`: takes every entry; without it they are kept, to be iterated over."""
        self._entries: list[LogEntry] = []
        self._tell = tell or self._entries.append
        self._known = np.full((len(_COLUMNS), 1024), _NOT_SEEN, dtype=np.int64)
        self._places: dict[int, Placement] = {}
        self._roles: dict[int, tuple[int, int]] = {}
        self._decisions_since_look = 0

    def __iter__(self) -> Iterator[LogEntry]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def finished(self, now_us: int, job: int, overhead_us: int) -> None:
        """See Journal."""
        where = self._places.pop(job, NOWHERE)
        self._roles.pop(job, None)
        self._tell(
            LogEntry(
                now_us,
                job,
                "finish",
                sum(where.counts),
                placement=where,
                queue=self._queue(job),
                overhead_us=overhead_us,
            )
        )

    def decided(
        self, now_us: int, snapshot: Snapshot, decision: Decision, actions: Sequence[Action]
    ) -> None:
        """See Journal."""
        numbers = snapshot.jobs.number
        if not len(numbers):
            return
        self._make_room(int(numbers.max()))
        self._column("row")[numbers] = np.arange(len(numbers))
        self._note_queues(now_us, snapshot)
        self._note_actions(now_us, snapshot, decision, actions)
        self._note_waits(now_us, snapshot, decision)

    # -- from queue to queue ---------------------------------------------------------------------

    def _note_queues(self, now_us: int, snapshot: Snapshot) -> None:
        level = snapshot.memory.get("level")
        if level is None:
            return
        numbers, known = snapshot.jobs.number, self._column("queue")
        before = known[numbers]
        for row in np.flatnonzero((level != before) & (before != _NOT_SEEN)).tolist():
            event = "demote" if level[row] > before[row] else "promote"
            gpus, queue = int(snapshot.jobs.gpus[row]), int(level[row])
            self._tell(LogEntry(now_us, int(numbers[row]), event, gpus, queue=queue))
        known[numbers] = level

    def _queue(self, job: int) -> int:
        return int(self._column("queue")[job])

    # -- who gets GPUs, who loses them -----------------------------------------------------------

    def _note_actions(
        self, now_us: int, snapshot: Snapshot, decision: Decision, actions: Sequence[Action]
    ) -> None:
        """Preemptions come first."""
        takers = _Takers(actions)
        for action in actions:
            left = None
            if isinstance(action, Preempt):
                where = self._places.pop(action.job)
                event, others = "preempt", takers.of(where)
            else:
                event, where = self._begins(action), action.placement
                others = self._partner(action.job, snapshot)
                self._places[action.job] = where
                left = decision.exclude.get(int(self._column("row")[action.job]))
            gpus, queue = sum(where.counts), self._queue(action.job)
            self._tell(
                LogEntry(
                    now_us,
                    action.job,
                    event,
                    gpus,
                    placement=where,
                    others=others,
                    queue=queue,
                    left=left,
                )
            )

    def _begins(self, action: Start | Migrate) -> str:
        roles = action.workers, action.servers
        before, self._roles[action.job] = self._roles.get(action.job), roles
        if isinstance(action, Migrate):
            return "migrate" if roles == before else "resize"
        has_started = self._column("has_started")
        is_first = has_started[action.job] == _NOT_SEEN
        has_started[action.job] = 1
        return "start" if is_first else "resume"

    def _partner(self, job: int, snapshot: Snapshot) -> OtherJobs:
        partner = int(snapshot.jobs.partner[self._column("row")[job]])
        if partner == UNKNOWN:
            return NOBODY
        gpus = int(snapshot.jobs.held_gpus[self._column("row")[partner]])
        return OtherJobs(((partner, gpus),), 1)

    # -- who waits ---------------------------------------------------------------------------------

    def _note_waits(self, now_us: int, snapshot: Snapshot, decision: Decision) -> None:
        numbers, code = snapshot.jobs.number, decision.reasons.code
        changed = code != self._column("code")[numbers]
        self._column("code")[numbers] = code
        waits = code != Wait.RUNS
        turn = Turn(snapshot, decision)
        rows = np.flatnonzero(changed & waits).tolist()
        for row in sorted([*rows, *self._nearer(numbers, waits & ~changed, turn)]):
            self._note_wait(now_us, row, snapshot, decision, turn)

    def _nearer(self, numbers: Ints, waits: NDArray[np.bool_], turn: Turn) -> list[int]:
        """Rows of jobs that went on waiting, far fewer of them before them than there were."""
        self._decisions_since_look += 1
        if self._decisions_since_look * _JOBS_PER_LOOK < len(numbers):
            return []
        self._decisions_since_look = 0
        rows = np.flatnonzero(waits)
        if not len(rows):
            return []
        before, now = self._column("position")[numbers[rows]], turn.waiting_before(rows)
        nearer: list[int] = rows[(now >= 0) & (now < before) & (now * _NEARER <= before)].tolist()
        return nearer

    def _note_wait(
        self, now_us: int, row: int, snapshot: Snapshot, decision: Decision, turn: Turn
    ) -> None:
        jobs, reasons = snapshot.jobs, decision.reasons
        number, code = int(jobs.number[row]), Wait(int(reasons.code[row]))
        position = int(turn.waiting_before(np.array([row]))[0])
        self._column("position")[number] = position
        is_timed = code in _TIMED
        measure, bar = _comparison(reasons, row)
        self._tell(
            LogEntry(
                now_us,
                number,
                _NAMES[code],
                int(jobs.gpus[row]),
                int(reasons.free_gpus[row]),
                position,
                others=turn.blockers(row),
                queue=self._queue(number),
                until_us=decision.recheck_at_us if is_timed else NEVER_US,
                measure=measure,
                bar=bar,
            )
        )

    # -- what is known of each job, by its number ------------------------------------------------

    def _column(self, name: str) -> Ints:
        column: Ints = self._known[_COLUMNS.index(name)]
        return column

    def _make_room(self, largest: int) -> None:
        while largest >= self._known.shape[1]:
            more = np.full_like(self._known, _NOT_SEEN)
            self._known = np.concatenate([self._known, more], axis=1)


def _comparison(reasons: Reasons, row: int) -> tuple[float, float]:
    if reasons.measure is None or reasons.code[row] not in COMPARISONS:
        return _NAN, _NAN
    bars = np.broadcast_to(reasons.bar, reasons.measure.shape)
    return float(reasons.measure[row]), float(bars[row])


class _Takers:
    """Who got GPUs at one moment."""

    def __init__(self, actions: Sequence[Action]) -> None:
        self._all = [action for action in actions if not isinstance(action, Preempt)]
        self._on: dict[int, list[int]] | None = None

    def of(self, where: Placement) -> OtherJobs:
        """Those who got some on these machines; if nobody did, all who got any."""
        if self._on is None:
            self._on = self._by_machine()
        here = (self._on.get(machine, []) for machine in where.machines)
        indices = sorted({index for on_one in here for index in on_one})
        takers = [self._all[index] for index in indices] or self._all
        return first_of([(taker.job, sum(taker.placement.counts)) for taker in takers])

    def _by_machine(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for index, action in enumerate(self._all):
            for machine in action.placement.machines:
                found.setdefault(machine, []).append(index)
        return found
