"""Slow machines are taken last."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.snapshot import Placement
from motet.placement.avoiding import place_avoiding
from motet.placement.even import Gangs, place_evenly


def gangs(workers: list[int]) -> Gangs:
    sizes = np.array(workers, dtype=np.int64)
    return Gangs(sizes, 0 * sizes, sizes * 0 + 1, sizes * 0 + 1)


def placed(free: list[int], slow: list[int], workers: list[int]) -> list[Placement]:
    is_slow = np.isin(np.arange(len(free)), slow)
    return place_avoiding(np.array(free, dtype=np.int64), is_slow, gangs(workers))


def test_a_slow_machine_is_not_taken_while_others_have_room() -> None:
    assert placed([8, 2, 2], [0], [2, 2]) == [Placement((1,), (2,)), Placement((2,), (2,))]


def test_the_smallest_gangs_get_what_the_fast_machines_cannot_hold() -> None:
    assert placed([8, 4, 4], [0], [1, 6, 2, 3]) == [
        Placement((0,), (1,)),
        Placement((1, 2), (2, 4)),
        Placement((1,), (2,)),
        Placement((0,), (3,)),
    ]


def test_too_few_free_gpus_are_an_error() -> None:
    with pytest.raises(ValueError, match="9 GPUs requested, 8 free"):
        placed([4, 4], [0], [9])


@given(data=st.data(), free=st.lists(st.integers(0, 6), min_size=1, max_size=6))
def test_slow_machines_hold_only_what_the_others_cannot(data: Any, free: list[int]) -> None:
    slow = data.draw(st.sets(st.integers(0, len(free) - 1)))
    workers: list[int] = []
    while (left := sum(free) - sum(workers)) and data.draw(st.booleans()):
        workers.append(data.draw(st.integers(1, left)))
    found = placed(free, list(slow), workers)
    taken = [0] * len(free)
    for place, size in zip(found, workers, strict=True):
        assert sum(place.counts) == size
        for machine, count in zip(*place, strict=True):
            taken[machine] += count
    assert all(used <= there for used, there in zip(taken, free, strict=True))
    fast = sum(there for machine, there in enumerate(free) if machine not in slow)
    if sum(workers) <= fast:
        assert not any(taken[machine] for machine in slow)
    if not slow:
        assert found == place_evenly(np.array(free, dtype=np.int64), gangs(workers))
