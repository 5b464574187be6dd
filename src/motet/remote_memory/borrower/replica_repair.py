"""Gives new lenders of a slab the pages that its other lenders have, in the background."""

from __future__ import annotations

import logging
import mmap
import threading

from motet.remote_memory.borrower.slab_store import SlabStore

_LOG = logging.getLogger(__name__)
PERIOD_S = 1.0
_CHUNK_BYTES = 1 << 18


class ReplicaRepair:
    """A thread that copies a part at a time, so requests of programs wait for one part at most."""

    def __init__(self, store: SlabStore) -> None:
        self._store = store
        self._room = memoryview(mmap.mmap(-1, _CHUNK_BYTES))
        self._wake = threading.Event()
        self._is_ending = False
        self._thread = threading.Thread(target=self._run, name="motet-replication", daemon=True)
        self._thread.start()

    def awake(self) -> None:
        """A slab has got a lender."""
        self._wake.set()

    def close(self) -> None:
        """Stop; the lenders are disconnected already, so no request is waited for."""
        self._is_ending = True
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_ending:
            self._wake.wait(PERIOD_S)
            self._wake.clear()
            try:
                self._repair_all()
            except Exception:
                _LOG.exception("a round of replication failed; it goes on")

    def _repair_all(self) -> None:
        for slab in range(self._store.geometry.slabs):
            while not self._is_ending and self._store.repair(slab, self._room):
                pass
