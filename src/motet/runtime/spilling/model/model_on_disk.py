"""The blocks of one executor's model on a spill target, and how long requests waited for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from motet.domain.arrays import Array
from motet.runtime.core.subtask import Clock, monotonic_us
from motet.runtime.spilling.model.spilled_values import SpilledValues
from motet.runtime.spilling.targets.spill_target import SpillTarget


class PlacedModel(Protocol):
    """The blocks of a model at one executor."""

    @property
    def value_bytes(self) -> int:
        """Of the values of all blocks."""
        ...

    @property
    def memory_bytes(self) -> int:
        """What the blocks take in memory while mini-batches change them."""
        ...

    def keep_in(self, make_place: Callable[[], TimedPlace]) -> None:
        """Have the values in such places while no request uses them. Raises JobFailed."""
        ...

    def bring_back(self, has_room: Callable[[int], bool]) -> bool:
        """Have them in memory again; False: as before, since there was no room for all of them.
        `has_room`: for so many bytes. Raises JobFailed."""
        ...


class TransferTime:
    """How long transfers of several threads took together."""

    def __init__(self, now_us: Clock = monotonic_us) -> None:
        self._now_us, self._lock, self._us = now_us, threading.Lock(), 0

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Of one transfer."""
        began_us = self._now_us()
        try:
            yield
        finally:
            with self._lock:
                self._us += self._now_us() - began_us

    def take(self) -> int:
        """Microseconds since the last call."""
        with self._lock:
            found, self._us = self._us, 0
        return found


class TimedPlace:
    """A ValuePlace whose transfers are measured."""

    def __init__(self, place: SpilledValues, time: TransferTime) -> None:
        self._place, self._time = place, time

    def save(self, values: Array) -> None:
        """See ValuePlace."""
        with self._time.measured():
            self._place.save(values)

    def load(self) -> Array:
        """See ValuePlace."""
        with self._time.measured():
            return self._place.load()


class ModelOnDisk:
    """Moves the blocks of the model to a target. Safe to use from several threads."""

    def __init__(self, model: PlacedModel, make_target: Callable[[], SpillTarget]) -> None:
        """`make_target`: called each time that the model is spilled."""
        self._model, self._make_target = model, make_target
        self.time = TransferTime()
        self.is_spilled = False

    @property
    def spilled_bytes(self) -> int:
        """Of the values that are on disk while no request uses them."""
        return self._model.value_bytes if self.is_spilled else 0

    @property
    def absent_bytes(self) -> int:
        """What the blocks would take in memory in addition, if they were there."""
        return self._model.memory_bytes if self.is_spilled else 0

    def bring_back(self, has_room: Callable[[int], bool]) -> None:
        """Have all blocks in memory again if there is room; `has_room`: for so many bytes.

        Raises JobFailed.
        """
        self.is_spilled = not self._model.bring_back(has_room)

    def spill(self) -> None:
        """Have all blocks on disk between their uses. Raises JobFailed."""
        target = self._make_target()
        self.is_spilled = True
        self._model.keep_in(lambda: TimedPlace(SpilledValues(target), self.time))
