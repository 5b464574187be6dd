"""The compiled search agrees with `Room`, and its bounds hold."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.cluster import ClusterSpec
from motet.domain.snapshot import Placement
from motet.placement.packing.alignment import Space, best_spot, count_gpus, take
from motet.placement.room import ResourceDemand, Room

MACHINE = st.tuples(st.integers(0, 8), st.integers(0, 20), st.integers(0, 10**15))
DEMAND = st.tuples(st.integers(1, 20), st.integers(0, 60), st.integers(0, 10**15))
Row = tuple[int, int, int]


def space_of(machines: list[Row]) -> Space:
    sizes = np.array(machines, dtype=np.int64)
    return Space.of(sizes, sizes.copy())


def room_of(machines: list[Row]) -> Room:
    gpus, cpus, memory_bytes = zip(*machines, strict=True)
    return Room.of(ClusterSpec.of(gpus, cpus=cpus, memory_bytes=memory_bytes))


def spot_of(demand: Row, space: Space) -> tuple[Placement | None, float, float]:
    """Where it is, its alignment and the bound."""
    machines, counts = np.zeros((2, min(demand[0], len(space.size))), dtype=np.int64)
    used, alignment, most = best_spot(np.array(demand), space, machines, counts)
    place = Placement(tuple(machines[:used].tolist()), tuple(counts[:used].tolist()))
    return (place if used else None), alignment, most


@given(machines=st.lists(MACHINE, min_size=1, max_size=5), demand=DEMAND)
def test_a_gang_fits_and_takes_as_in_room(machines: list[Row], demand: Row) -> None:
    space, room = space_of(machines), room_of(machines)
    known = ResourceDemand(*demand)
    total = count_gpus(np.array(demand), space)
    most = np.minimum(room.gpus_for(known), known.gpus)
    assert (space.counts.tolist(), total) == (most.tolist(), most.sum())
    place, _, _ = spot_of(demand, space)
    assert (place is not None) == (most.sum() >= known.gpus)
    if place is not None:
        take(np.array(demand), space, np.array(place.machines), np.array(place.counts))
        room.take(place, known)
        free = np.stack([room.gpus, room.cpus, room.memory_bytes], axis=1)
        np.testing.assert_array_equal(space.free, free)


@given(
    machines=st.lists(MACHINE, min_size=1, max_size=5),
    demand=DEMAND,
    others=st.lists(DEMAND, max_size=6),
)
def test_the_alignment_never_exceeds_its_bound(
    machines: list[Row], demand: Row, others: list[Row]
) -> None:
    space = space_of(machines)
    _, alignment, most = spot_of(demand, space)
    for other in others:
        place, _, _ = spot_of(other, space)
        if place is not None:
            take(np.array(other), space, np.array(place.machines), np.array(place.counts))
        assert alignment <= most
        _, alignment, later = spot_of(demand, space)
        assert alignment <= later <= most * (1 + 1e-12)
        most = later
