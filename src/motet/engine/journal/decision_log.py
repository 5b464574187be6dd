"""The decision log: state changes of every job, and the reasons of its waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from motet.domain.actions import Action, Migrate, Preempt, Start
from motet.domain.arrays import Ints
from motet.domain.decision import Decision, SizeRefusal
from motet.domain.events import (
    Cancelled,
    Event,
    Failed,
    Finished,
    MachineLeft,
    Resumed,
    SizeProposed,
    SubtasksMeasured,
    Suspended,
    TimedOut,
)
from motet.domain.log_entry import MEASURE, LogEntry, OtherJobs, Team
from motet.domain.snapshot import Snapshot
from motet.engine.journal.blocker_search import MOST_NAMED
from motet.engine.journal.blockers import (
    ToldRows,
    row_of,
    rows_to_tell,
)
from motet.engine.journal.handover import Handover
from motet.engine.journal.held_places import HeldPlaces, partners_of
from motet.engine.journal.measured_groups import MeasuredGroups
from motet.engine.journal.wait_entries import is_elastic, wait_entry

_COLUMNS = ("code", "position", "queue", "has_started")  # As `rows_to_tell` requires.
_NOT_SEEN = -1
_JOBS_PER_LOOK = 16
_TOLD: Mapping[type[Event], str] = {
    Finished: "finish",
    Failed: "fail",
    Cancelled: "cancel",
    TimedOut: "time_out",
    Suspended: "suspend",
    Resumed: "unsuspend",
}
"""Events that have entries of their own, and the names of these entries."""


class DecisionLog:
    """Emits entries in the order of the events. A `Journal`.

    A wait has an entry when it begins, when its reason changes, and when the number of waiting jobs
    before the job is at most a quarter of that in its last entry (with many jobs this is checked
    only at some of the decisions).
    """

    def __init__(self, on_entry: Callable[[LogEntry], object] | None = None) -> None:
        """`on_entry`: called with every entry; without it the log keeps them for iteration."""
        self._entries: list[LogEntry] = []
        self._on_entry = on_entry or self._entries.append
        self._know(np.full((len(_COLUMNS), 1024), _NOT_SEEN, dtype=np.int64))
        self._places = HeldPlaces()
        self._measured = MeasuredGroups()
        self._begun: dict[int, Start | Migrate] = {}
        self._refused: dict[int, SizeRefusal] = {}
        self._gone: list[tuple[int, int]] = []
        self._decisions_since_look = 0
        self._notes: Mapping[type[Event], Callable[[int, Any], None]] = {
            **dict.fromkeys(_TOLD, self._note_event),
            MachineLeft: self._note_evictions,
            SizeProposed: self._note_proposal,
            SubtasksMeasured: self._note_measurement,
        }

    def __iter__(self) -> Iterator[LogEntry]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def received(self, now_us: int, events: Sequence[Event]) -> None:
        """See Journal."""
        notes = self._notes
        for event in events:
            if (note := notes.get(type(event))) is not None:
                note(now_us, event)

    def _note_event(self, now_us: int, event: Any) -> None:
        """Emit a user's action on a job, or its end; the job holds no GPUs afterwards."""
        job = event.job
        where = self._places.pop(job)
        self._begun.pop(job, None)
        self._refused.pop(job, None)
        self._measured.left(job)
        gpus = sum(where.counts)
        self._gone.append((job, gpus))
        self._make_room(job)
        self._columns["code"][job] = _NOT_SEEN
        queue, overhead_us = self._queue(job), getattr(event, "overhead_us", 0)
        told = _TOLD[type(event)]
        entry = LogEntry(
            now_us, job, told, gpus, placement=where, queue=queue, overhead_us=overhead_us
        )
        self._on_entry(entry)

    def _note_proposal(self, now_us: int, event: SizeProposed) -> None:
        self._refused.pop(event.job, None)  # The next refusal has an entry of its own.
        size = Team(event.workers, event.servers, event.workers + event.servers)
        entry = LogEntry(now_us, event.job, "propose", size.gpus, team=size, measure=event.gain)
        self._on_entry(entry)

    def _note_measurement(self, now_us: int, event: SubtasksMeasured) -> None:
        job, together = event.job, self._places.together(event.job)
        where = self._places.of(job)
        if (found := self._measured.add(event, where, together)) is None:
            return
        others = sorted(together - {job})
        gpus = sum(where.counts)
        named = OtherJobs(tuple((other, gpus) for other in others[:MOST_NAMED]), len(others))
        entry = LogEntry(now_us, job, MEASURE, gpus, placement=where, others=named, measured=found)
        self._on_entry(entry)

    def _note_evictions(self, now_us: int, event: MachineLeft) -> None:
        """Emit entries of jobs that lose their GPUs with a machine."""
        for job in sorted(self._places.on_machine(event.machine)):
            where = self._places.pop(job)
            queue, gpus = self._queue(job), sum(where.counts)
            self._on_entry(LogEntry(now_us, job, "evict", gpus, placement=where, queue=queue))

    def decided(
        self, now_us: int, snapshot: Snapshot, decision: Decision, actions: Sequence[Action]
    ) -> None:
        """See Journal."""
        if len(snapshot.jobs.number):
            moved, waits = self._told(snapshot, decision)
            if len(moved):
                self._note_queues(now_us, moved, snapshot)
            if actions:
                self._note_actions(now_us, snapshot, decision, actions)
            if decision.refused:
                self._note_refusals(now_us, snapshot, decision)
            for wait in waits:
                self._places.pop(wait.job)  # Its processes may have ended by themselves.
                self._on_entry(wait_entry(now_us, wait, snapshot, decision, self._queue(wait.job)))
        self._gone.clear()

    def _told(self, snapshot: Snapshot, decision: Decision) -> ToldRows:
        """Jobs in another queue than before, and new waits."""
        numbers = snapshot.jobs.number
        looks = self._looks(len(numbers))
        while (told := rows_to_tell(snapshot, decision, self._known, looks=looks)) is None:
            self._make_room(int(numbers.max()))
        return told

    # -- changes of queues -----------------------------------------------------------------------

    def _note_queues(self, now_us: int, moved: Ints, snapshot: Snapshot) -> None:
        numbers, known = snapshot.jobs.number, self._columns["queue"]
        level = snapshot.memory["level"]
        for row in moved.tolist():
            job, queue = int(numbers[row]), int(level[row])
            before, known[job] = int(known[job]), queue
            if before != _NOT_SEEN:
                event = "demote" if queue > before else "promote"
                gpus = int(snapshot.jobs.gpus[row])
                self._on_entry(LogEntry(now_us, job, event, gpus, queue=queue))

    def _queue(self, job: int) -> int:
        return self._columns["queue"].item(job)

    # -- allocated and released GPUs -------------------------------------------------------------

    def _note_actions(
        self, now_us: int, snapshot: Snapshot, decision: Decision, actions: Sequence[Action]
    ) -> None:
        """Emit entries of actions, in their order: preemptions first."""
        hands_over = any(type(action) is not Start for action in actions)
        handover = Handover(actions if hands_over else (), self._begun, self._gone)
        for action in actions:
            if isinstance(action, Preempt):
                self._note_preemption(now_us, action.job, handover)
            else:
                self._note_begin(now_us, action, snapshot, decision, handover)
        for action in actions:
            if not isinstance(action, Preempt):
                self._begun[action.job] = action

    def _note_preemption(self, now_us: int, job: int, handover: Handover) -> None:
        where = self._places.pop(job)
        gpus, queue = sum(where.counts), self._queue(job)
        others = handover.takers_of(where)
        self._on_entry(
            LogEntry(now_us, job, "preempt", gpus, placement=where, others=others, queue=queue)
        )

    def _note_begin(
        self,
        now_us: int,
        action: Start | Migrate,
        snapshot: Snapshot,
        decision: Decision,
        handover: Handover,
    ) -> None:
        job, where = action.job, action.placement
        self._places[job] = where
        self._refused.pop(job, None)
        row, event = row_of(snapshot.jobs.number, job), self._begins(action)
        entry = LogEntry(
            now_us,
            job,
            event,
            sum(where.counts),
            placement=where,
            others=partners_of(job, row, snapshot.jobs),
            queue=self._queue(job),
            asynchronous=action.asynchronous,
        )
        if decision.exclude or decision.forecasts or decision.spill is not None:
            entry = entry._replace(
                left=decision.exclude.get(row),
                forecast=decision.forecasts.get(row),
                on_disk=0.0 if decision.spill is None else float(decision.spill[row]),
            )
        if event == "migrate" and self._stays(action):
            entry = entry._replace(stays=True)
        if is_elastic(snapshot.jobs, row):
            entry = entry._replace(team=team_of(action))
        if event == "resize":
            before, exchange = team_of(self._begun[job]), handover.exchanged_with(job)
            entry = entry._replace(team_before=before, exchange=exchange)
        self._on_entry(entry)

    def _begins(self, action: Start | Migrate) -> str:
        if isinstance(action, Migrate):
            before = self._begun.get(action.job, action)
            is_same = (before.workers, before.servers) == (action.workers, action.servers)
            return "migrate" if is_same else "resize"
        has_started = self._columns["has_started"]
        is_first = has_started[action.job] == _NOT_SEEN
        has_started[action.job] = 1
        return "start" if is_first else "resume"

    def _stays(self, action: Start | Migrate) -> bool:
        """Whether a job that starts again has its slots already."""
        before = self._begun.get(action.job)
        return before is not None and before.placement == action.placement

    # -- proposed sizes ----------------------------------------------------------------------------

    def _note_refusals(self, now_us: int, snapshot: Snapshot, decision: Decision) -> None:
        """Emit why jobs run with fewer GPUs than they proposed: once for every reason in a row."""
        for row, refusal in decision.refused.items():
            job = int(snapshot.jobs.number[row])
            if self._refused.get(job) is not refusal and decision.gpus[row]:
                self._refused[job] = refusal
                gpus = int(decision.gpus[row])
                self._on_entry(LogEntry(now_us, job, "keep", gpus, refusal=refusal.key))

    # -- waits -------------------------------------------------------------------------------------

    def _looks(self, jobs: int) -> bool:
        """Whether this decision is one of those at which positions are compared."""
        self._decisions_since_look += 1
        if self._decisions_since_look * _JOBS_PER_LOOK < jobs:
            return False
        self._decisions_since_look = 0
        return True

    # -- recorded values of each job, by its number ----------------------------------------------

    def _know(self, values: Ints) -> None:
        self._known = values
        self._columns: Mapping[str, Ints] = dict(zip(_COLUMNS, values, strict=True))

    def _make_room(self, most: int) -> None:
        while most >= self._known.shape[1]:
            more = np.full_like(self._known, _NOT_SEEN)
            self._know(np.concatenate([self._known, more], axis=1))


def team_of(action: Start | Migrate) -> Team:
    """The workers and servers of a job from this action on."""
    return Team(action.workers, action.servers, sum(action.placement.counts))
