"""The slabs of a lender with their memory. Thread-safe."""

from __future__ import annotations

import itertools
import logging
import secrets
import threading
import time
from collections.abc import Collection, Container, Mapping, Sequence

from motet.remote_memory.core.borrowed_time import BorrowedTime
from motet.remote_memory.core.head_room import SlabCounts
from motet.remote_memory.core.lent_slabs import LentSlab, LentSlabs
from motet.remote_memory.lender.lent_memory import LentMemory
from motet.remote_memory.lender.slab_memory import SlabMemory
from motet.remote_memory.wire.borrower_names import borrower_of
from motet.remote_memory.wire.memory_messages import NO_SLAB, TOKEN_BYTES, MrInfo, SlabKey

_LOG = logging.getLogger(__name__)
_CUT_OFF_S = 5.0


class SlabPool:
    """Keeps `LentSlabs` and the memory of each slab together."""

    def __init__(self, slab_bytes: int, quota_slabs: int | None = None) -> None:
        """`quota_slabs`: of each borrower; None: no limit."""
        self.slab_bytes = slab_bytes
        self._lock = threading.Lock()
        self._slabs = LentSlabs(lambda: secrets.token_bytes(TOKEN_BYTES), quota_slabs, borrower_of)
        self._time = BorrowedTime(slab_bytes)
        self._numbers = itertools.count()
        self._memories: dict[int, SlabMemory] = {}
        self._lent: dict[bytes, LentMemory] = {}

    @property
    def counts(self) -> SlabCounts:
        """How many slabs there are of each kind."""
        with self._lock:
            return self._slabs.counts

    @property
    def held_bytes(self) -> int:
        """Memory of all slabs, also of those that are about to be given back."""
        return len(self._memories) * self.slab_bytes

    def allocate(self, count: int) -> None:
        """Add free slabs. Raises OSError: the system has no more memory."""
        for _ in range(count):
            memory = SlabMemory(self.slab_bytes)
            memory.populate()
            number = next(self._numbers)
            with self._lock:
                self._memories[number] = memory
                self._slabs.add(number)

    def release(self, count: int) -> None:
        """Return free slabs to the system."""
        with self._lock:
            memories = [self._memories.pop(number) for number in self._slabs.take_free(count)]
        for memory in memories:
            memory.close()

    def room_for(self, client: str) -> int:
        """Free slabs that the client can have."""
        with self._lock:
            return self._slabs.room_for(client)

    def lend(self, client: str) -> MrInfo:
        """Map a slab for the client; NO_SLAB: there is none for it."""
        with self._lock:
            slab = self._slabs.lend(client)
            if slab is None:
                return NO_SLAB
            self._time.change(borrower_of(client), 1, _now_us())
            view = self._memories[slab.number].view
            self._lent[slab.token] = LentMemory(view, client, slab.generation)
        return MrInfo(slab.token, slab.generation, self.slab_bytes)

    def find(self, token: bytes, generation: int, client: str) -> LentMemory | None:
        """The memory of a mapping; None: it has ended, or is another client's."""
        lent = self._lent.get(token)
        if lent is None or lent.generation != generation or lent.client != client:
            return None
        return lent

    def mapped(self) -> list[LentSlab]:
        """Slabs that can be evicted."""
        with self._lock:
            return self._slabs.mapped()

    def begin_eviction(self, keys: Sequence[SlabKey], deadline_us: int) -> list[LentSlab]:
        """Mark slabs as evicted; those that still were mapped."""
        with self._lock:
            return self._slabs.begin_eviction([key.token for key in keys], deadline_us)

    def overdue(self, now_us: int) -> list[SlabKey]:
        """Mappings whose EVICT was not answered in time."""
        with self._lock:
            return [SlabKey(each.token, each.generation) for each in self._slabs.overdue(now_us)]

    def slabs_of_others(self, clients: Container[str]) -> list[SlabKey]:
        """Mappings of clients that are not among these."""
        with self._lock:
            found = [slab for slab in self._slabs.all() if slab.client not in clients]
        return [SlabKey(slab.token, slab.generation) for slab in found]

    def take_back(self, key: SlabKey, *, keep: bool, client: str | None = None) -> bool:
        """End a mapping and zero its memory; whether there was one (of the client, if given).

        `keep`: as a free slab; else the memory goes back to the system.
        """
        with self._lock:
            number = self._slabs.give_back(key.token, key.generation, client)
            if number is None:
                return False
            lent = self._lent.pop(key.token)
            self._time.change(borrower_of(lent.client), -1, _now_us())
        if not lent.revoke(_CUT_OFF_S):
            _LOG.error(
                "slab %d: a reply to %s does not end; its memory is kept", number, lent.client
            )
            return True
        memory = self._memories[number]
        memory.zero()
        if keep:
            memory.populate()
            with self._lock:
                self._slabs.add(number)
            return True
        with self._lock:
            del self._memories[number]
        memory.close()
        return True

    def borrowed_byte_s(self) -> Mapping[str, float]:
        """Memory times seconds of each borrower."""
        with self._lock:
            return self._time.totals(_now_us())

    def idle_borrowers(self) -> Collection[str]:
        """Those with a total, and without a slab."""
        with self._lock:
            return self._time.idle

    def forget_borrowers(self, borrowers: Collection[str]) -> None:
        """Drop the totals of those of them that have no slab."""
        with self._lock:
            self._time.forget(borrowers)

    def close(self) -> None:
        """Return all memory; no request may come any more."""
        with self._lock:
            self._lent.clear()
            memories, self._memories = self._memories, {}
        for memory in memories.values():
            memory.zero()


def _now_us() -> int:
    return time.monotonic_ns() // 1000
