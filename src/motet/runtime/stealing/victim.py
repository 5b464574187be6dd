"""What a late worker offers to idle ones in its present mini-batch.

Requests arrive on the threads that serve the data plane; the worker's own thread takes its units
here, too. A part is split only while other workers keep requesting: otherwise it is computed as a
whole.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import TypeAlias

from motet.runtime.core.rows import Rows
from motet.runtime.core.subtask import Clock, monotonic_us
from motet.runtime.stealing.batch_split import BatchSplit, LeaveToThieves
from motet.runtime.wire.errors import StaleGeneration
from motet.runtime.wire.stealing_messages import StealRequest
from motet.runtime.worker.batch_rows import BatchRows

_LATE_SHARE = 0.3
_OVERDUE = 1.5
_LEAST_US = 2_000
_PATIENCE = 3
_LATE_TWICE = 2


@dataclass(frozen=True, eq=False)
class OfferedPart:
    """A worker's part of mini-batch `clock`; `sizes`: instances of its units, empty: not split.

    `accepts`: whether this worker would accept thieves in later mini-batches.
    """

    clock: int
    rows: BatchRows
    sizes: Sequence[int] = ()
    accepts: bool = True


@dataclass(frozen=True, eq=False)
class StolenRange:
    """Instances low..high-1 of a part, for a thief to compute; `has_more`: others are left."""

    clock: int
    low: int
    high: int
    rows: Rows
    has_more: bool = True


@dataclass(frozen=True, eq=False)
class StealAnswer:
    """To an idle worker: instances to compute, and whether to request in the next mini-batch."""

    is_late: bool
    stolen: StolenRange | None = None


Respond: TypeAlias = Callable[[StealAnswer], None]

_NOTHING = StealAnswer(is_late=False)


class Victim:
    """One worker's offers; `request` and `return_state` may be called from any thread.

    All other methods are for the worker's thread.
    """

    def __init__(self, now_us: Clock = monotonic_us) -> None:
        self._now_us = now_us
        self._changed = threading.Condition()
        self._part: OfferedPart | None = None
        self._split: BatchSplit | None = None
        self._own_us, self._link = 0.0, math.inf
        self._began_us = 0
        self._expected_us = 0.0
        self._thieves: dict[int, float] = {}
        self._answers: dict[str, tuple[int, StealAnswer]] = {}
        self._away: set[tuple[int, int]] = set()
        self._wanted_for = 0
        self._late_count, self._was_late = 0, False
        self._is_computing = False
        self._has_ended = False
        self._own_share = 0.0
        self._clock = -1
        self._early: list[tuple[StealRequest, Respond]] = []

    @property
    def is_wanted(self) -> bool:
        """Whether this worker was late repeatedly while others requested; once may be chance."""
        late = self._late_count + self._was_late
        return self._wanted_for > 0 or late >= _LATE_TWICE

    def open(self, part: OfferedPart, own_us: float, crowd: int, link: float) -> None:
        """A mini-batch begins.

        `own_us`: time per instance; `crowd`: possible thieves; `link`: bytes per microsecond.
        """
        with self._changed:
            self._part, self._own_us, self._link = part, own_us, link
            self._began_us, self._expected_us = self._now_us(), own_us * len(part.rows)
            self._count_late()
            self._is_computing = True
            if part.sizes:
                self._split = BatchSplit(part.sizes, own_us, self._thieves, crowd, self._own_share)
            self._clock = part.clock
            early = [(respond, self._answer_once(request)) for request, respond in self._early]
            self._early.clear()
        for respond, answer in early:
            respond(answer)

    def next_own(self) -> range | None:
        """The units that the worker computes next; None when thieves have the rest.

        Waits while the thieves are expected to complete the rest sooner.
        """
        with self._changed:
            assert self._split is not None
            found = self._split.begin_own()
            while isinstance(found, LeaveToThieves):
                is_less = partial(self._is_less_than, self._split.left)
                is_taken = self._changed.wait_for(is_less, found.wait_us / 1e6)
                self._require_life()
                found = self._split.begin_own(may_leave=is_taken)
            return None if found is None else found.units

    def request(self, request: StealRequest, respond: Respond) -> None:
        """Offer instances to a thief; a repeated request gets the same answer.

        A request for a mini-batch that this worker has not begun is answered when it begins.
        """
        with self._changed:
            if request.clock > self._clock and not self._has_ended:
                self._early.append((request, respond))
                return
            answer = self._answer_once(request)
        respond(answer)

    def return_state(self, clock: int, low: int, state: Rows) -> None:
        """Take what computing these instances changed; a repeated return changes nothing."""
        with self._changed:
            if (clock, low) in self._away and self._part is not None:
                self._part.rows.put(low, state)
                self._away.remove((clock, low))
                self._changed.notify_all()

    def finish_own(self) -> None:
        """The worker has computed its units."""
        with self._changed:
            self._is_computing = False
            if self._split is not None:
                self._thieves = self._split.thieves
                self._own_share = self._split.own_share
            self._split = None

    def await_states(self, has_state: bool) -> None:
        """The mini-batch ends: wait for the state of all stolen instances, if there is any."""
        with self._changed:
            if has_state:
                self._changed.wait_for(lambda: self._has_ended or not self._away)
                self._require_life()
            self._away.clear()

    def end(self) -> None:
        """Wake all waiting threads and refuse further requests."""
        with self._changed:
            self._has_ended = True
            early = [respond for _, respond in self._early]
            self._early.clear()
            self._changed.notify_all()
        for respond in early:
            respond(_NOTHING)

    def _count_late(self) -> None:
        self._wanted_for = max(self._wanted_for - 1, 0)
        self._late_count = self._late_count + 1 if self._was_late else 0
        self._was_late = False
        if self._late_count >= _LATE_TWICE:
            self._wanted_for, self._late_count = _PATIENCE, 0

    def _answer_once(self, request: StealRequest) -> StealAnswer:
        answered, answer = self._answers.get(request.session, (-1, _NOTHING))
        if request.number > answered:
            answer = self._answer(request)
            self._answers[request.session] = request.number, answer
        return answer

    def _answer(self, request: StealRequest) -> StealAnswer:
        part = self._part
        if part is None or part.clock != request.clock or not self._is_computing:
            return _NOTHING
        if self._split is None:
            is_late = part.accepts and self._is_late(request.ready_us)
            self._was_late |= is_late
            return StealAnswer(is_late)
        thief_us = self._thief_us(request, part.rows)
        units = self._split.grant(request.thief, thief_us, request.ready_us)
        if not units:
            return StealAnswer(is_late=bool(self._split.thieves))
        self._wanted_for = _PATIENCE
        return StealAnswer(True, self._give_away(part, units, self._split.left > 0))

    def _give_away(self, part: OfferedPart, units: range, has_more: bool) -> StolenRange:
        ends = [0, *accumulate(part.sizes)]
        low, high = ends[units.start], ends[units.stop]
        self._away.add((part.clock, low))
        self._changed.notify_all()
        return StolenRange(part.clock, low, high, part.rows.slice(low, high), has_more)

    def _thief_us(self, request: StealRequest, rows: BatchRows) -> float:
        """A thief's time per instance; at first estimated from the victim's link."""
        if request.all_in_us is not None:
            return request.all_in_us
        # A thief without instances of its own is assumed to be as fast as this worker.
        own_us = request.own_us or self._own_us
        return own_us + rows.nbytes / max(len(rows), 1) / self._link

    def _is_late(self, ready_us: float) -> bool:
        """Whether much of a whole part will be left when the thief is ready."""
        took_us = self._now_us() - self._began_us + ready_us
        left_us = self._expected_us - took_us
        is_overdue = took_us - ready_us > _OVERDUE * self._expected_us
        return is_overdue or left_us > max(_LATE_SHARE * self._expected_us, _LEAST_US)

    def _is_less_than(self, left: int) -> bool:
        assert self._split is not None
        return self._has_ended or self._split.left < left

    def _require_life(self) -> None:
        if self._has_ended:
            raise StaleGeneration("the generation was ended")
