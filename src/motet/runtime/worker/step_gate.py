"""The point before every mini-batch at which the controller can hold a worker.

A change of workers or of their data takes effect at the same mini-batch for all workers. The
controller first holds all of them; from their answers it chooses a mini-batch that none of them has
begun; then every worker continues up to it.
"""

from __future__ import annotations

import threading

from motet.domain.errors import JobFailed
from motet.runtime.wire.errors import StaleGeneration
from motet.runtime.wire.ownership import WorkChange

HOLD_TIMEOUT_S = 120.0
# How many mini-batches a worker may begin before the controller has decided.
_SLACK = 1


class WorkPaused(Exception):
    """This worker begins no further mini-batch: the job ends here for now, with a checkpoint."""


class StepGate:
    """One worker's gate; `begin` is for the worker's thread, the rest for any thread."""

    def __init__(self, next_clock: int) -> None:
        self._changed = threading.Condition()
        self._next_clock = next_clock
        self._hold_at: int | None = None
        self._decided = 0
        self._change: WorkChange | None = None
        self._pause_at: int | None = None
        self._has_ended = False

    def hold(self, number: int) -> int:
        """Stop soon for change `number`; returns the first mini-batch that will not begin."""
        with self._changed:
            if number > self._decided and self._hold_at is None:
                self._hold_at = self._next_clock + _SLACK
            return self._next_clock + _SLACK if self._hold_at is None else self._hold_at

    def decide(self, change: WorkChange) -> None:
        """Continue; the change happens at its mini-batch."""
        with self._changed:
            if change.number > self._decided:
                self._decided, self._hold_at, self._change = change.number, None, change
                self._changed.notify_all()

    def pause(self, number: int, clock: int) -> None:
        """As decided by change `number`, continue up to a mini-batch that will never begin."""
        with self._changed:
            if number > self._decided:
                self._decided, self._hold_at, self._pause_at = number, None, clock
                self._changed.notify_all()

    def begin(self, clock: int) -> WorkChange | None:
        """Begin a mini-batch; returns the change that happens with it, if any.

        Raises StaleGeneration after `end`, WorkPaused at the end of the work, JobFailed when the
        controller does not decide in time.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._may_begin(clock), HOLD_TIMEOUT_S):
                raise JobFailed(
                    f"mini-batch {clock} was held for {HOLD_TIMEOUT_S:.0f} s without a decision"
                )
            self._require_life()
            if self._pause_at is not None and clock >= self._pause_at:
                raise WorkPaused
            self._next_clock = clock + 1
            if self._change is None or clock < self._change.clock:
                return None
            change, self._change = self._change, None
            return change

    def wait_for_work(self) -> int | None:
        """The mini-batch with which an idle executor begins to compute; None after `end`."""
        with self._changed:
            self._changed.wait_for(lambda: self._has_ended or self._change is not None)
            if self._change is None or self._has_ended:
                return None
            self._next_clock = self._change.clock
            return self._change.clock

    def end(self) -> None:
        """Wake all waiting threads."""
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def _may_begin(self, clock: int) -> bool:
        return self._has_ended or self._hold_at is None or clock < self._hold_at

    def _require_life(self) -> None:
        if self._has_ended:
            raise StaleGeneration("the generation was ended")
