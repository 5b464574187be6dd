"""Room for what a job needs beside its input: by spilling input, then the model's blocks.

Input comes first, since it is read ahead of its use; values of the model are read when a request
asks for them (Harmony, W.-Y. Lee 2020, 4.3.3). The memory is looked at before it is taken. The
model returns before input does, when a whole epoch would have left enough memory free with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from motet.runtime.core.subtask import Clock, monotonic_us
from motet.runtime.spilling.machine_memory import MachineMemory
from motet.runtime.spilling.memory_watch import MemoryWatch
from motet.runtime.spilling.share_tuner import enough_free, least_free

_LOOK_EVERY_US = 2_000
_LONGEST_PAUSE = 32


class SpillableInput(Protocol):
    """The input of one executor."""

    def make_room(self, nbytes: int) -> bool:
        """Free memory until there is room for so many bytes; False: there is no input left."""
        ...


class SpillableModel(Protocol):
    """The blocks of the model at one executor."""

    @property
    def is_spilled(self) -> bool:
        """Whether they are on disk while no request uses them."""
        ...

    @property
    def absent_bytes(self) -> int:
        """What they would take in memory in addition, if they were there."""
        ...

    def spill(self) -> None:
        """Have them on disk from now on. Raises JobFailed."""
        ...

    def bring_back(self, has_room: Callable[[int], bool]) -> None:
        """Have them in memory again if there is room. Raises JobFailed."""
        ...


@dataclass(frozen=True)
class ReturnPace:
    """How often a model returns. `pause`: epochs until it may; `next_pause`: after it is spilled
    the next time, twice as long each time, shorter again by an epoch for each one in memory."""

    pause: int = 0
    next_pause: int = 1

    def spilled(self) -> ReturnPace:
        """The model goes to disk; the epoch under way tells nothing."""
        return ReturnPace(self.next_pause, min(2 * self.next_pause, _LONGEST_PAUSE))

    def waited(self) -> ReturnPace:
        """An epoch ends with the model on disk."""
        return replace(self, pause=max(self.pause - 1, 0))

    def stayed(self) -> ReturnPace:
        """An epoch ends with the model in memory."""
        return replace(self, next_pause=max(self.next_pause - 1, 1))


class MemoryRoom:
    """Of one executor. Safe to use from several threads."""

    def __init__(
        self,
        memory: MachineMemory,
        data: SpillableInput,
        model: SpillableModel,
        now_us: Clock = monotonic_us,
        *,
        spills_model: bool = True,
    ) -> None:
        """`spills_model`: False: it would not free much; only input makes room."""
        self._spills_model = spills_model
        self._watch, self._data, self._model = MemoryWatch(memory), data, model
        self._now_us, self._look_us = now_us, 0
        self._spilling = threading.Lock()
        self._pace = ReturnPace()

    def before_request(self, nbytes: int) -> None:
        """Before a request to this executor's server, which may take so many bytes beside the few
        of its values. Raises JobFailed."""
        now_us = self._now_us()
        if nbytes or now_us >= self._look_us:
            self._look_us = now_us + _LOOK_EVERY_US
            self.require(nbytes)

    def require(self, nbytes: int) -> None:
        """Before so many bytes are taken; without any effect if nothing is left to spill.

        Raises JobFailed.
        """
        if self._has(nbytes):
            return
        with self._spilling:
            if self._has(nbytes) or self._data.make_room(nbytes):
                return
            if self._spills_model and not self._model.is_spilled:
                self._pace = self._pace.spilled()
                self._model.spill()
                self._watch.start()

    def may_return(self) -> bool:
        """At the end of an epoch: whether the model is on disk, and enough memory would have been
        free during the whole epoch with it."""
        with self._spilling:
            if not self._model.is_spilled:
                self._pace = self._pace.stayed()
                return False
            lowest, pause, self._pace = self._watch.lowest(), self._pace.pause, self._pace.waited()
            spare = lowest.free_bytes - enough_free(lowest)
            return not pause and spare >= self._model.absent_bytes

    def bring_back(self) -> None:
        """Have the model in memory again if there is still room. Raises JobFailed."""
        with self._spilling:
            self._model.bring_back(self._has)

    def close(self) -> None:
        """Look at the memory no more."""
        self._watch.close()

    def _has(self, nbytes: int) -> bool:
        memory = self._watch.state(nbytes)
        return memory.free_bytes >= least_free(memory)
