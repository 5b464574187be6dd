"""Makes the targets of one executor, and tells how much remote memory they use."""

from __future__ import annotations

import threading
import weakref

from motet.remote_memory.borrower.slab_store import StoreCounters
from motet.remote_memory.core.device_geometry import PAGE_BYTES
from motet.runtime.core.options import SpillOptions
from motet.runtime.core.reporting.reports import NO_REMOTE_USE, RemoteUse
from motet.runtime.spilling.targets.remote_spill import RemoteSpill
from motet.runtime.spilling.targets.spill_file import SpillFile
from motet.runtime.spilling.targets.spill_target import SpillTarget

_FIRST_LENDER_WITHIN_S = 1.0


class SpillTargets:
    """Safe to use from several threads."""

    def __init__(self, options: SpillOptions) -> None:
        """`options`: say where the data go."""
        self.options = options
        self._lock = threading.Lock()
        self._remote: weakref.WeakSet[RemoteSpill] = weakref.WeakSet()
        self._counters: list[StoreCounters] = []
        self._wait_s = _FIRST_LENDER_WITHIN_S
        self._told = NO_REMOTE_USE

    def open(self) -> SpillTarget:
        """A new target. Raises JobFailed."""
        folder, lenders = self.options.folder, self.options.lenders
        if lenders is None:
            return SpillFile(folder)
        target = RemoteSpill(folder, lenders, self._wait_s)
        with self._lock:
            if not target.has_lender:
                self._wait_s = 0.0  # Once is enough: they are used when they answer.
            self._remote.add(target)
            self._counters.append(target.counters)
        return target

    def take_use(self) -> RemoteUse:
        """The use of remote memory since the last call."""
        with self._lock:
            held = sum(target.remote_bytes for target in self._remote)
            read = PAGE_BYTES * sum(each.read_remote for each in self._counters)
            from_disk = PAGE_BYTES * sum(each.read_local for each in self._counters)
            before, self._told = self._told, RemoteUse(held, read, from_disk)
        return RemoteUse(held, read - before.read, from_disk - before.read_from_disk)
