"""Gangs evenly on as few machines as can hold them."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.snapshot import Placement
from motet.placement.even import Gangs, place_evenly


def gangs(*rows: tuple[int, int], worker_gpus: int = 1, server_gpus: int = 1) -> Gangs:
    workers, servers = np.array(rows, dtype=np.int64).reshape(-1, 2).T.copy()
    ones = np.ones(len(rows), dtype=np.int64)
    return Gangs(workers, servers, worker_gpus * ones, server_gpus * ones)


def placed(free: list[int], wanted: Gangs) -> list[Placement]:
    return place_evenly(np.array(free, dtype=np.int64), wanted)


def test_two_workers_and_four_servers_go_half_and_half_onto_two_machines() -> None:
    """Optimus' figure 10: one worker and two servers on each."""
    assert placed([3, 3, 3], gangs((2, 4))) == [Placement((0, 1), (3, 3))]


def test_one_machine_is_enough_where_it_holds_the_gang() -> None:
    assert placed([4, 6], gangs((3, 3))) == [Placement((1,), (6,))]


def test_the_smallest_gang_is_placed_first_on_the_emptiest_machine() -> None:
    assert placed([4, 8], gangs((8, 0), (2, 0))) == [
        Placement((0, 1), (4, 4)),
        Placement((1,), (2,)),
    ]


def test_a_gang_that_cannot_be_spread_evenly_takes_what_there_is() -> None:
    assert placed([1, 5], gangs((3, 3))) == [Placement((0, 1), (1, 5))]


def test_workers_are_not_torn_apart() -> None:
    assert placed([3, 3, 3], gangs((2, 0), worker_gpus=2)) == [Placement((0, 1), (2, 2))]


def test_too_few_free_gpus_are_an_error() -> None:
    with pytest.raises(ValueError, match="5 GPUs requested, 4 free"):
        placed([2, 2], gangs((3, 2)))


def shares(workers: int, servers: int, machines: int) -> list[int]:
    """Dealt out one after another, the servers where the workers stopped."""
    found = [0] * machines
    for task in range(workers + servers):
        found[task % machines] += 1
    return found


def fits(free: list[int], wanted: list[int]) -> bool:
    """By trying every way to match shares and machines."""
    return any(
        all(share <= room for share, room in zip(wanted, order, strict=False))
        for order in permutations(free, len(wanted))
    )


@settings(max_examples=examples(80))
@given(
    free=st.lists(st.integers(0, 4), min_size=1, max_size=5),
    workers=st.integers(1, 6),
    servers=st.integers(0, 4),
)
def test_no_fewer_machines_could_hold_it_evenly(
    free: list[int], workers: int, servers: int
) -> None:
    if workers + servers > sum(free):
        return
    (found,) = placed(free, gangs((workers, servers)))
    possible = range(1, len(free) + 1)
    enough = [k for k in possible if fits(free, shares(workers, servers, k))]
    even = [k for k in enough if k <= workers + servers]
    if even:
        assert len(found.machines) == even[0]
        assert max(found.counts) - min(found.counts) <= 1
    assert sum(found.counts) == workers + servers


@settings(max_examples=examples(80))
@given(
    free=st.lists(st.integers(0, 9), min_size=1, max_size=8),
    rows=st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3)), max_size=6),
    worker_gpus=st.integers(1, 3),
    server_gpus=st.integers(0, 2),
)
def test_no_machine_gives_more_than_it_has(
    free: list[int], rows: Any, worker_gpus: int, server_gpus: int
) -> None:
    wanted = gangs(*rows, worker_gpus=worker_gpus, server_gpus=server_gpus)
    if wanted.gpus.sum() > sum(free):
        return
    found = placed(free, wanted)
    used = np.zeros(len(free), dtype=np.int64)
    for place, gpus in zip(found, wanted.gpus.tolist(), strict=True):
        assert sum(place.counts) == gpus
        assert list(place.machines) == sorted(set(place.machines))
        assert min(place.counts) > 0
        used[list(place.machines)] += place.counts
    assert (used <= free).all()
