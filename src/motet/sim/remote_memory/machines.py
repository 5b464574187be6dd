"""A simulated machine: the states of a lender and of a device, without memory and connections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from motet.remote_memory.core.batch_eviction import least_active, slabs_to_ask
from motet.remote_memory.core.device_slab import DeviceSlab, SlabMapping, SlabState
from motet.remote_memory.core.head_room import MemoryUse, PoolLimits
from motet.remote_memory.core.lent_slabs import LentSlab, LentSlabs
from motet.remote_memory.core.slab_activity import SlabActivity

_DONE_WITHIN_US = 3_000_000


class SimulatedLender:
    """memd's decisions of a second (`Lender`, `EvictionRound`)."""

    def __init__(self, name: str, limits: PoolLimits, new_token: Callable[[], bytes]) -> None:
        self.name = name
        self._limits = limits
        self._use = MemoryUse()
        self._slabs = LentSlabs(new_token)
        self._added = 0

    @property
    def mapped_slabs(self) -> int:
        """That devices have."""
        return len(self._slabs.all())

    def adjust(self, own_bytes: int) -> int:
        """Allocate or release free slabs for this memory use; returns how many to evict."""
        change = self._limits.change(self._use.measured(own_bytes), self._slabs.counts)
        self._slabs.take_free(change.release)
        for _ in range(change.allocate):
            self._added += 1
            self._slabs.add(self._added)
        return change.evict

    def free_slabs(self, client: str) -> int:
        """The answer to QUERY_MEM."""
        return self._slabs.room_for(client)

    def lend(self, client: str) -> SlabMapping | None:
        """The answer to MAP."""
        slab = self._slabs.lend(client)
        return None if slab is None else SlabMapping(self.name, slab.token, slab.generation)

    def victims(
        self, evict: int, extra: int, rates: Mapping[str, SimulatedDevice], rng: np.random.Generator
    ) -> Sequence[LentSlab]:
        """CHECK_ACTIVITY at the owners of E + E' slabs, then EVICT for E of them."""
        asked = {slab.token: slab for slab in slabs_to_ask(self._slabs.mapped(), evict, extra, rng)}
        activity = {token: rates[slab.client].rate(token) for token, slab in asked.items()}
        chosen = least_active(list(asked), activity, evict)
        return self._slabs.begin_eviction(chosen, _DONE_WITHIN_US)

    def done(self, slab: LentSlab) -> None:
        """The owner has left a slab: its memory goes back to the machine."""
        self._slabs.give_back(slab.token, slab.generation)


class SimulatedDevice:
    """blockd's slab map and activity (`SlabStore`, `BorrowedMemory`)."""

    def __init__(self, name: str, slabs: int) -> None:
        self.name = name
        self._slabs = [DeviceSlab(1) for _ in range(slabs)]
        self._places: dict[bytes, int] = {}
        self._activity = SlabActivity(slabs)
        self._is_used = False
        self.mapped_by_lender: Counter[str] = Counter()

    @property
    def mapped(self) -> Sequence[int]:
        """Numbers of the slabs that have a lender."""
        return list(self._places.values())

    def page(self, pages: Sequence[int]) -> None:
        """Account for the pages of a second, by slab."""
        if not self._is_used and not any(pages):
            return
        self._is_used = True
        for slab, count in enumerate(pages):
            if count:
                self._activity.count(slab, count)
        self._activity.advance(1.0)

    def rate(self, token: bytes) -> float:
        """Pages per second of the slab with this mapping."""
        return self._activity.rates[self._places[token]]

    def hot_unmapped(self) -> Iterator[int]:
        """Slabs that are worth a lender's memory and have none, the hottest first."""
        if self._is_used:
            for slab in self._activity.hot():
                if self._slabs[slab].state is SlabState.UNMAPPED:
                    yield slab

    def place(self, slab: int, find: Callable[[], SlabMapping | None]) -> bool:
        """Map an unmapped slab; whether a lender was found."""
        self._slabs[slab].begin_placing()
        mapping = find()
        self._slabs[slab].place(mapping)
        if mapping is not None:
            self._places[mapping.token] = slab
            self.mapped_by_lender[mapping.lender] += 1
        return mapping is not None

    def leave(self, token: bytes) -> None:
        """EVICT."""
        slab = self._slabs[self._places.pop(token)]
        assert slab.mapping is not None
        self.mapped_by_lender[slab.mapping.lender] -= 1
        slab.detach(slab.mapping)
