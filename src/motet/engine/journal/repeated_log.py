"""A decision log that also takes entries that were recorded, and goes on after them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from motet.domain.actions import Action, Preempt, Start
from motet.domain.arrays import Ints
from motet.domain.decision import Decision, refusal_named
from motet.domain.events import Event
from motet.domain.log_entry import LogEntry, is_wait
from motet.domain.snapshot import Snapshot
from motet.engine.journal.decision_log import DecisionLog
from motet.engine.journal.wait_entries import LatestDecision


class RepeatedLog(DecisionLog):
    """A `Journal` of an engine whose first steps are folded from records."""

    def __init__(self, on_entry: Callable[[LogEntry], object]) -> None:
        """See DecisionLog."""
        super().__init__(on_entry)
        self._latest: LatestDecision | None = None

    def decided(
        self, now_us: int, snapshot: Snapshot, decision: Decision, actions: Sequence[Action]
    ) -> None:
        """See Journal."""
        super().decided(now_us, snapshot, decision, actions)
        self.considered(snapshot, decision)

    def considered(self, snapshot: Snapshot, decision: Decision) -> None:
        """Take the reasons of waits from a decision, although nothing follows from it."""
        self._latest = LatestDecision.of(snapshot, decision)

    def latest_wait(self, job: int) -> LogEntry | None:
        """Why a job waits by the latest decision, with its place then; None: it did not wait, or
        that decision is known from its record alone, which has no reasons that stayed the same."""
        return None if self._latest is None else self._latest.entry(job, self._queue(job))

    def repeat(
        self,
        now_us: int,
        events: Sequence[Event],
        snapshot: Snapshot | None,
        codes: Ints,
        actions: Sequence[Action],
        entries: Sequence[LogEntry],
    ) -> None:
        """Note a recorded step with its entries, as `received` and `decided` did.

        `snapshot`: after the decision, None without one; `codes`: of its jobs. `actions`: all that
        followed from the decision.
        """
        on_entry, self._on_entry = self._on_entry, _ignore
        self.received(now_us, events)
        self._on_entry = on_entry
        if snapshot is not None:
            self._latest = None
            self._note_repeated(snapshot, codes, actions)
        for entry in entries:
            if is_wait(entry):
                self._places.pop(entry.job)
                self._columns["position"][entry.job] = entry.position
            elif entry.refusal:
                self._refused[entry.job] = refusal_named(entry.refusal)
            on_entry(entry)

    def _note_repeated(self, snapshot: Snapshot, codes: Ints, actions: Sequence[Action]) -> None:
        numbers = snapshot.jobs.number
        self._gone.clear()
        if not len(numbers):
            return
        self._make_room(int(numbers.max()))
        self._columns["code"][numbers] = codes
        if (level := snapshot.memory.get("level")) is not None:
            self._columns["queue"][numbers] = level
        self._looks(len(numbers))
        for action in actions:
            if isinstance(action, Preempt):
                self._places.pop(action.job)
        for action in actions:
            if not isinstance(action, Preempt):
                self._places[action.job] = action.placement
                self._begun[action.job] = action
                self._refused.pop(action.job, None)
                if isinstance(action, Start):
                    self._columns["has_started"][action.job] = 1


def _ignore(entry: LogEntry) -> None:
    del entry
