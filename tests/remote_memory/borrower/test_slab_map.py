"""How the search for lenders of slabs ends, without lenders."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from motet.remote_memory.borrower.slab_map import PlacementRound, SlabMap, SlabPlacement
from motet.remote_memory.core.device_geometry import DeviceGeometry
from motet.remote_memory.core.device_slab import SlabMapping
from remote_memory_parts import SLAB_BYTES

SLABS = 3


@pytest.fixture
def slabs() -> SlabMap:
    return SlabMap(DeviceGeometry(SLABS * SLAB_BYTES, SLAB_BYTES), lambda _: None)


def found(taken: Sequence[str]) -> SlabMapping:
    del taken
    return SlabMapping("a", b"token", 1)


def test_a_slab_without_room_for_it_is_told_from_one_that_needs_no_lender(slabs: SlabMap) -> None:
    assert slabs.place(0, lambda _: None) is SlabPlacement.NO_ROOM
    assert slabs.place(0, found) is SlabPlacement.PLACED
    assert slabs.place(0, found) is SlabPlacement.NOT_NEEDED


def test_a_slab_for_which_another_thread_looks_needs_no_second_search(slabs: SlabMap) -> None:
    others = list[SlabPlacement]()

    def find(taken: Sequence[str]) -> SlabMapping:
        others.append(slabs.place(0, found))
        return found(taken)

    assert slabs.place(0, find) is SlabPlacement.PLACED
    assert others == [SlabPlacement.NOT_NEEDED]


def test_a_slab_that_was_placed_meanwhile_does_not_end_a_round(slabs: SlabMap) -> None:
    """It would count as a lack of room, for which placement pauses."""

    def find(taken: Sequence[str]) -> SlabMapping:
        slabs.place(1, found)
        return found(taken)

    assert slabs.place_all(range(SLABS), find) == PlacementRound(2, has_room=True)
    assert slabs.mapped_slabs() == SLABS


def test_a_round_ends_at_the_first_slab_without_room(slabs: SlabMap) -> None:
    room = [SlabMapping("a", b"token", 1)]
    searches = list[int]()

    def find(taken: Sequence[str]) -> SlabMapping | None:
        searches.append(len(taken))
        return room.pop() if room else None

    assert slabs.place_all(range(SLABS), find) == PlacementRound(1, has_room=False)
    assert len(searches) == 2
