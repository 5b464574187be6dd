"""Room for what a job needs beside its input: by spilling input, then the model's blocks.

Input comes first, since it is read ahead of its use; values of the model are read when a request
asks for them (Harmony, W.-Y. Lee 2020, 4.3.3). The memory is looked at before it is taken.
"""

from __future__ import annotations

import threading
from typing import Protocol

from motet.runtime.core.subtask import Clock, monotonic_us
from motet.runtime.spilling.machine_memory import MachineMemory
from motet.runtime.spilling.share_tuner import least_free

_LOOK_EVERY_US = 2_000


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

    def spill(self) -> None:
        """Have them there from now on. Raises JobFailed."""
        ...


class MemoryRoom:
    """Of one executor. Safe to use from several threads."""

    def __init__(
        self,
        memory: MachineMemory,
        data: SpillableInput,
        model: SpillableModel,
        now_us: Clock = monotonic_us,
    ) -> None:
        self._memory, self._data, self._model = memory, data, model
        self._now_us, self._look_us = now_us, 0
        self._spilling = threading.Lock()

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
            if not (self._has(nbytes) or self._data.make_room(nbytes) or self._model.is_spilled):
                self._model.spill()

    def _has(self, nbytes: int) -> bool:
        memory = self._memory.state()
        return memory.free_bytes - nbytes >= least_free(memory)
