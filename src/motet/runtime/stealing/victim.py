"""What a late worker has to give to idle ones in its present mini-batch.

Idle workers ask on the threads that serve requests; the worker's own thread takes its units here,
too. A part is divided only while others keep asking: until then it is computed as a whole.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import TypeAlias

import numpy as np

from motet.runtime.core.rows import Rows
from motet.runtime.core.subtask import Clock, monotonic_us
from motet.runtime.stealing.batch_split import Division, Leave
from motet.runtime.wire.errors import StaleGeneration
from motet.runtime.wire.stealing_messages import Question

_LATE_SHARE = 0.3
_OVERDUE = 1.5
_LEAST_US = 2_000
_PATIENCE = 3
_LATE_TWICE = 2


@dataclass(frozen=True, eq=False)
class Part:
    """A worker's part of mini-batch `clock`; `sizes`: instances of its units, none: undivided.

    `accepts`: whether help in later ones would be welcome.
    """

    clock: int
    rows: Rows
    sizes: Sequence[int] = ()
    accepts: bool = True


@dataclass(frozen=True, eq=False)
class Grant:
    """Instances low..high-1 of a part, for a helper to compute; `has_more`: it may ask again."""

    clock: int
    low: int
    high: int
    rows: Rows
    has_more: bool = True


@dataclass(frozen=True, eq=False)
class Answer:
    """To an idle worker: something to compute, and whether to ask again in the next mini-batch."""

    is_late: bool
    grant: Grant | None = None


Reply: TypeAlias = Callable[[Answer], None]

_NOTHING = Answer(is_late=False)


class Handout:
    """One worker's; `ask` and `take_back` are for anybody, the rest for its thread."""

    def __init__(self, now_us: Clock = monotonic_us) -> None:
        self._now_us = now_us
        self._changed = threading.Condition()
        self._part: Part | None = None
        self._division: Division | None = None
        self._own_us, self._link = 0.0, math.inf
        self._began_us = 0
        self._expected_us = 0.0
        self._helpers: dict[int, float] = {}
        self._answers: dict[str, tuple[int, Answer]] = {}
        self._away: set[tuple[int, int]] = set()
        self._wanted_for = 0
        self._late_count, self._was_late = 0, False
        self._is_computing = False
        self._has_ended = False
        self._own_share = 0.0
        self._clock = -1
        self._early: list[tuple[Question, Reply]] = []

    @property
    def is_wanted(self) -> bool:
        """Whether others wait for this worker again and again; once may be chance."""
        late = self._late_count + self._was_late
        return self._wanted_for > 0 or late >= _LATE_TWICE

    def open(self, part: Part, own_us: float, crowd: int, link: float) -> None:
        """A mini-batch begins.

        `own_us`: per instance; `crowd`: how many workers may help; `link`: bytes per microsecond.
        """
        with self._changed:
            self._part, self._own_us, self._link = part, own_us, link
            self._began_us, self._expected_us = self._now_us(), own_us * len(part.rows)
            self._wanted_for = max(self._wanted_for - 1, 0)
            self._late_count = self._late_count + 1 if self._was_late else 0
            self._was_late = False
            if self._late_count >= _LATE_TWICE:
                self._wanted_for, self._late_count = _PATIENCE, 0
            self._is_computing = True
            if part.sizes:
                self._division = Division(part.sizes, own_us, self._helpers, crowd, self._own_share)
            self._clock = part.clock
            early = [(reply, self._answer_once(question)) for question, reply in self._early]
            self._early.clear()
        for reply, answer in early:
            reply(answer)

    def next_own(self) -> range | None:
        """The units that the worker computes next; None when the others have the rest.

        Waits while helpers promise to be done sooner than it could be.
        """
        with self._changed:
            assert self._division is not None
            found = self._division.begin_own()
            while isinstance(found, Leave):
                is_less = partial(self._is_less_than, self._division.left)
                is_taken = self._changed.wait_for(is_less, found.wait_us / 1e6)
                self._require_life()
                found = self._division.begin_own(may_leave=is_taken)
            return None if found is None else found.units

    def ask(self, question: Question, reply: Reply) -> None:
        """Give something away; the same question again gets the same answer.

        A question about a mini-batch that this worker has not begun is answered when it begins.
        """
        with self._changed:
            if question.clock > self._clock and not self._has_ended:
                self._early.append((question, reply))
                return
            answer = self._answer_once(question)
        reply(answer)

    def _answer_once(self, question: Question) -> Answer:
        asked, answer = self._answers.get(question.session, (-1, _NOTHING))
        if question.number > asked:
            answer = self._answer(question)
            self._answers[question.session] = question.number, answer
        return answer

    def take_back(self, clock: int, low: int, state: Rows) -> None:
        """What computing these instances changed; what comes twice changes nothing."""
        with self._changed:
            if (clock, low) in self._away and self._part is not None:
                self._part.rows.put(np.arange(low, low + len(state)), state)
                self._away.remove((clock, low))
                self._changed.notify_all()

    def finish_own(self) -> None:
        """The worker has computed what it had to."""
        with self._changed:
            self._is_computing = False
            if self._division is not None:
                self._helpers = self._division.helpers
                self._own_share = self._division.own_share
            self._division = None

    def settle(self, has_state: bool) -> None:
        """The mini-batch ends: wait for the state of all instances that were given away."""
        with self._changed:
            if has_state:
                self._changed.wait_for(lambda: self._has_ended or not self._away)
                self._require_life()
            self._away.clear()

    def end(self) -> None:
        """Wake who waits here."""
        with self._changed:
            self._has_ended = True
            early = [reply for _, reply in self._early]
            self._early.clear()
            self._changed.notify_all()
        for reply in early:
            reply(_NOTHING)

    def _answer(self, question: Question) -> Answer:
        part = self._part
        if part is None or part.clock != question.clock or not self._is_computing:
            return _NOTHING
        if self._division is None:
            is_late = part.accepts and self._is_late(question.ready_us)
            self._was_late |= is_late
            return Answer(is_late)
        helper_us = self._helper_us(question, part.rows)
        units = self._division.grant(question.helper, helper_us, question.ready_us)
        if not units:
            return Answer(is_late=bool(self._division.helpers))
        self._wanted_for = _PATIENCE
        ends = [0, *accumulate(part.sizes)]
        low, high = ends[units.start], ends[units.stop]
        self._away.add((part.clock, low))
        self._changed.notify_all()
        has_more = self._division.left > 0
        return Answer(True, Grant(part.clock, low, high, part.rows.slice(low, high), has_more))

    def _helper_us(self, question: Question, rows: Rows) -> float:
        """What an instance takes a helper; at first by what can be known of the way there."""
        if question.all_in_us is not None:
            return question.all_in_us
        # Who has no instances of its own is taken for one like this.
        own_us = question.own_us or self._own_us
        return own_us + rows.nbytes / max(len(rows), 1) / self._link

    def _is_late(self, ready_us: float) -> bool:
        """Whether much of an undivided part is still to be done when the helper is ready."""
        took_us = self._now_us() - self._began_us + ready_us
        left_us = self._expected_us - took_us
        is_overdue = took_us - ready_us > _OVERDUE * self._expected_us
        return is_overdue or left_us > max(_LATE_SHARE * self._expected_us, _LEAST_US)

    def _is_less_than(self, left: int) -> bool:
        assert self._division is not None
        return self._has_ended or self._division.left < left

    def _require_life(self) -> None:
        if self._has_ended:
            raise StaleGeneration("the generation was ended")
