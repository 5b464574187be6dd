"""Who can stays where it ran, and nobody loses by it."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motet.allocation.auction.floor import Floor
from motet.domain.cluster import ClusterSpec
from motet.domain.snapshot import Placement

MACHINES = 3
places = st.lists(
    st.sampled_from(
        [
            Placement((0,), (1,)),
            Placement((1,), (1,)),
            Placement((2,), (1,)),
            Placement((0, 1), (2, 2)),
            Placement((1, 2), (2, 2)),
            Placement((0, 2), (3, 1)),
            Placement((0, 2), (1, 3)),
        ]
    ),
    min_size=1,
    max_size=8,
)


def shape(place: Placement) -> list[int]:
    return sorted(place.counts)


def floor_of(before: list[Placement | None], after: list[Placement]) -> Floor:
    size = len(after)
    snapshot: Any = SimpleNamespace(
        cluster=ClusterSpec.uniform(MACHINES, 64),
        free_gpus=ClusterSpec.uniform(MACHINES, 64).gpus,
        jobs=SimpleNamespace(number=np.arange(size), held_gpus=np.zeros(size, dtype=np.int64)),
        placements={row: place for row, place in enumerate(before) if place is not None},
    )
    floor = Floor(snapshot, np.zeros(size, dtype=bool), np.zeros(size, dtype=np.int64))
    for row, place in enumerate(after):
        floor.grant(row, place, 1)
    return floor


@given(after=places, data=st.data())
def test_settling_only_swaps_places_of_one_shape(after: list[Placement], data: Any) -> None:
    before = data.draw(st.permutations(after))
    floor = floor_of(before, after)
    floor.settle()
    found = [floor.places[row] for row in range(len(after))]
    assert sorted(found) == sorted(after)
    assert [shape(place) for place in found] == [shape(place) for place in after]


@given(after=places, data=st.data())
def test_as_many_stay_as_can(after: list[Placement], data: Any) -> None:
    before = data.draw(st.permutations(after))
    floor = floor_of(before, after)
    floor.settle()
    wanted = Counter(
        home for home, place in zip(before, after, strict=True) if shape(home) == shape(place)
    )
    assert floor.stays.sum() == (wanted & Counter(after)).total()


def test_two_jobs_that_won_each_others_machines_stay() -> None:
    one, other = Placement((0,), (4,)), Placement((1,), (4,))
    floor = floor_of([one, other], [other, one])
    floor.settle()
    assert floor.places == {0: one, 1: other}
    assert floor.stays.tolist() == [True, True]


def test_kept_jobs_hold_their_gpus_and_the_rest_is_free() -> None:
    floor = floor_of([], [Placement((0, 2), (3, 1))])
    assert floor.free.tolist() == [61, 64, 63]
    assert floor.gpus.tolist() == [4]
