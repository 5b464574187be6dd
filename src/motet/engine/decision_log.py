"""The journal that people read: what became of every job, and why it waited."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from motet.domain.actions import Action, Preempt, Start
from motet.domain.decision import Decision, Wait
from motet.domain.snapshot import Placement, Snapshot

Ints = NDArray[np.int64]
_NOT_SEEN = -1
_NOWHERE = Placement((), ())


class LogEntry(NamedTuple):
    """`event`: start, migrate, preempt, or a `Wait` in lower case once its reason changes.

    `free_gpus`, `position`: at the job's turn (waits only). `placement`: of start and migrate.
    """

    time_us: int
    job: int
    event: str
    free_gpus: int = 0
    position: int = 0
    placement: Placement = _NOWHERE


class DecisionLog:
    """Collects entries in the order in which things happened. A `Journal`."""

    def __init__(self) -> None:
        self._entries: list[LogEntry] = []
        self._codes: Ints = np.full(1024, _NOT_SEEN, dtype=np.int64)

    def __iter__(self) -> Iterator[LogEntry]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def decided(
        self, now_us: int, snapshot: Snapshot, decision: Decision, actions: Sequence[Action]
    ) -> None:
        """See Journal."""
        for action in actions:
            if isinstance(action, Preempt):
                self._entries.append(LogEntry(now_us, action.job, "preempt"))
            else:
                event = "start" if isinstance(action, Start) else "migrate"
                self._entries.append(LogEntry(now_us, action.job, event, 0, 0, action.placement))
        self._note_waits(now_us, snapshot.jobs.number, decision)

    def _note_waits(self, now_us: int, numbers: Ints, decision: Decision) -> None:
        if not len(numbers):
            return
        self._make_room(int(numbers.max()))
        reasons = decision.reasons
        changed = reasons.code != self._codes[numbers]
        self._codes[numbers] = reasons.code
        for row in np.flatnonzero(changed & (reasons.code != Wait.RUNS)).tolist():
            event = Wait(int(reasons.code[row])).name.lower()
            free, position = int(reasons.free_gpus[row]), int(reasons.position[row])
            self._entries.append(LogEntry(now_us, int(numbers[row]), event, free, position))

    def _make_room(self, largest: int) -> None:
        while largest >= len(self._codes):
            more = np.full(len(self._codes), _NOT_SEEN, dtype=np.int64)
            self._codes = np.concatenate([self._codes, more])
