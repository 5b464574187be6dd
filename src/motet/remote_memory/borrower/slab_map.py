"""Where the slabs of a device are: placement, evictions, lost lenders."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from motet.remote_memory.borrower.store_operation import PageWrite
from motet.remote_memory.core.device_geometry import DeviceGeometry
from motet.remote_memory.core.device_slab import SlabMapping
from motet.remote_memory.core.slab_activity import SlabActivity
from motet.remote_memory.core.slab_copies import SlabCopies
from motet.remote_memory.wire.memory_messages import SlabKey

FindLender = Callable[[Sequence[str]], SlabMapping | None]
"""A mapping at a lender that is none of these, which have the slab already; None: there is none."""


class SlabPlacement(Enum):
    """How the search for one more lender of a slab ended. `NOT_NEEDED`: the slab has all of its
    lenders, or another thread looks for one."""

    PLACED = "placed"
    NO_ROOM = "no room"
    NOT_NEEDED = "not needed"


class PlacementRound(NamedTuple):
    """`placed`: number of lenders that were found. `has_room`: whether no search ended without."""

    placed: int
    has_room: bool


class SlabMap:
    """Thread-safe: a lock per slab. `activity`: for placement, once a second."""

    def __init__(
        self,
        geometry: DeviceGeometry,
        on_drained: Callable[[SlabMapping], None],
        replicas: int = 1,
    ) -> None:
        """`on_drained`: an evicted mapping has no request in flight any more; called with a lock
        held, so it only takes note. `replicas`: lenders that each slab is to have."""
        self.geometry = geometry
        self.activity = SlabActivity(geometry.slabs)
        self.evictions = 0
        self._on_drained = on_drained
        self._replicas = replicas
        self._slabs = [SlabCopies(geometry.slab_pages, replicas) for _ in range(geometry.slabs)]
        self._locks = [threading.Lock() for _ in self._slabs]

    def extend(self, geometry: DeviceGeometry) -> None:
        """The device is larger from now on; one thread at a time, not beside `activity.advance`."""
        added = geometry.slabs - len(self._slabs)
        self._locks += [threading.Lock() for _ in range(added)]
        self._slabs += [SlabCopies(geometry.slab_pages, self._replicas) for _ in range(added)]
        self.activity.extend(geometry.slabs)
        self.geometry = geometry

    def mapped_by_lender(self) -> Mapping[str, int]:
        """Number of slabs."""
        return Counter(mapping.lender for _, mapping in self._mappings())

    def mapped_slabs(self) -> int:
        """Number of slabs that a lender has, or several."""
        return sum(bool(slab.mappings) for slab in self._slabs)

    def remote_pages(self) -> int:
        """Pages that lenders have."""
        return sum(slab.valid_pages for slab in self._slabs)

    def replicated_pages(self) -> int:
        """Pages that as many lenders have as are wanted."""
        return sum(slab.replicated_pages for slab in self._slabs)

    def unmapped(self, slab: int) -> bool:
        """Whether a slab has no lender, and none is being looked for."""
        return self._slabs[slab].is_unmapped

    def lacking_copies(self) -> list[int]:
        """Slabs that have a lender, but fewer than are wanted."""
        return [number for number, slab in enumerate(self._slabs) if slab.lacks_copy]

    def place(self, number: int, find: FindLender) -> SlabPlacement:
        """Map a slab that lacks lenders to one more. `find` runs without a lock."""
        with self._locks[number]:
            slab = self._slabs[number]
            copy = slab.begin_placing()
            taken = [mapping.lender for mapping in slab.mappings]
        if copy is None:
            return SlabPlacement.NOT_NEEDED
        mapping: SlabMapping | None = None
        try:
            mapping = find(taken)
        finally:
            with self._locks[number]:
                copy.place(mapping)
        return SlabPlacement.NO_ROOM if mapping is None else SlabPlacement.PLACED

    def place_all(self, numbers: Sequence[int], find: FindLender) -> PlacementRound:
        """Place slabs in this order, until there is no room."""
        placed = 0
        for number in numbers:
            found = self.place(number, find)
            if found is SlabPlacement.NO_ROOM:
                return PlacementRound(placed, has_room=False)
            placed += found is SlabPlacement.PLACED
        return PlacementRound(placed, has_room=True)

    def rates(self, keys: Sequence[SlabKey]) -> list[tuple[SlabKey, float]]:
        """Pages per second of the slabs with these mappings."""
        places = self._places()
        return [(key, self.activity.rates[places[key]]) for key in keys if key in places]

    def detach(self, keys: Sequence[SlabKey]) -> list[SlabKey]:
        """Leave evicted slabs; those without a request in flight. `on_drained` tells the others."""
        places = self._places()
        drained = []
        for key in keys:
            number = places.get(key)
            if number is None:  # The device has left it before.
                drained.append(key)
                continue
            with self._locks[number]:
                for copy in self._slabs[number].copies:
                    mapping = copy.mapping
                    if mapping is not None and _key(mapping) == key:
                        self.evictions += 1
                        copy.detach(mapping)
                        if mapping.is_drained:
                            drained.append(key)
        return drained

    def detach_all(self, lender: str) -> None:
        """A lender is lost."""
        for number, slab in enumerate(self._slabs):
            with self._locks[number]:
                for copy in slab.copies:
                    mapping = copy.mapping
                    if mapping is not None and mapping.lender == lender:
                        copy.detach(mapping)

    def _locked(self, writes: Sequence[PageWrite]) -> _Held | threading.Lock:
        """Holds the locks of the slabs of these writes, each thread in the same order."""
        slab_bytes = self.geometry.slab_bytes
        if len(writes) == 1:
            return self._locks[writes[0][0] // slab_bytes]
        numbers = sorted({offset // slab_bytes for offset, _ in writes})
        return _Held([self._locks[number] for number in numbers])

    def _mappings(self) -> Iterator[tuple[int, SlabMapping]]:
        for number, slab in enumerate(self._slabs):
            for mapping in slab.mappings:
                yield number, mapping

    def _places(self) -> dict[SlabKey, int]:
        return {_key(mapping): number for number, mapping in self._mappings()}


class _Held:
    """Several locks. A generator as a context manager takes twice as long."""

    __slots__ = ("_locks",)

    def __init__(self, locks: Sequence[threading.Lock]) -> None:
        self._locks = locks

    def __enter__(self) -> None:
        for lock in self._locks:
            lock.acquire()

    def __exit__(self, *exc_info: object) -> None:
        for lock in self._locks:
            lock.release()


def _key(mapping: SlabMapping) -> SlabKey:
    return SlabKey(mapping.token, mapping.generation)
