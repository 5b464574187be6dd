"""CPUs and memory go with GPUs, a part of them on every machine."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.cluster import ClusterSpec
from motet.domain.snapshot import Placement
from motet.domain.wait import Wait
from motet.placement.room import ResourceDemand, Room, gpus_of_empty

MACHINE = st.tuples(st.integers(0, 8), st.integers(0, 20), st.integers(0, 10**15))
DEMAND = st.builds(ResourceDemand, st.integers(1, 64), st.integers(0, 200), st.integers(0, 10**15))


def cluster_of(machines: list[tuple[int, int, int]]) -> ClusterSpec:
    gpus, cpus, memory_bytes = zip(*machines, strict=True)
    return ClusterSpec.of(gpus, cpus=cpus, memory_bytes=memory_bytes)


def fits(machine: tuple[int, int, int], demand: ResourceDemand, gpus: int) -> bool:
    """By the definition."""
    share = Fraction(gpus, demand.gpus)
    return all(
        not size or ceil(needed * share) <= size
        for size, needed in zip(machine[1:], demand[1:], strict=True)
    )


@given(machines=st.lists(MACHINE, min_size=1, max_size=4), demand=DEMAND)
def test_a_machine_gives_as_many_gpus_as_have_cpus_and_memory_beside_them(
    machines: list[tuple[int, int, int]], demand: ResourceDemand
) -> None:
    most = [
        max(count for count in range(machine[0] + 1) if fits(machine, demand, count))
        for machine in machines
    ]
    assert gpus_of_empty(cluster_of(machines), demand).tolist() == most


@given(machines=st.lists(MACHINE, min_size=1, max_size=4), demand=DEMAND)
def test_taken_resources_return_after_give_back(
    machines: list[tuple[int, int, int]], demand: ResourceDemand
) -> None:
    cluster = cluster_of(machines)
    room, before = Room.of(cluster), Room.of(cluster)
    free = room.gpus_for(demand)
    used = np.flatnonzero(free)
    place = Placement(tuple(used.tolist()), tuple(free[used].tolist()))
    assert room.holds(place, demand)
    room.take(place, demand)
    assert min(room.gpus.min(), room.cpus.min(), room.memory_bytes.min()) >= 0
    room.give_back(place, demand)
    for name in ("gpus", "cpus", "memory_bytes"):
        np.testing.assert_array_equal(getattr(room, name), getattr(before, name))


def test_a_shortage_names_what_is_short() -> None:
    room = Room.of(ClusterSpec.of([4, 4], cpus=[8, 0], memory_bytes=[0, 100]))
    assert room.shortage(ResourceDemand(9), 9) == Wait.TOO_FEW_GPUS
    assert room.shortage(ResourceDemand(8, cpus=24), 8) == Wait.TOO_FEW_CPUS
    assert room.shortage(ResourceDemand(8, cpus=16, memory_bytes=208), 8) == Wait.TOO_LITTLE_MEMORY
    assert room.shortage(ResourceDemand(8, cpus=16, memory_bytes=200), 8) == Wait.RUNS


def test_packed_jobs_need_separate_cpus_and_memory() -> None:
    room = Room.of(ClusterSpec.of([4], cpus=[8]))
    place, demand = Placement((0,), (4,)), ResourceDemand(4, cpus=4)
    room.take(place, demand)
    assert room.holds(place, demand, shares_gpus=True)
    room.take(place, demand, shares_gpus=True)
    assert (room.gpus.tolist(), room.cpus.tolist()) == ([0], [0])
    assert not room.holds(place, demand, shares_gpus=True)
