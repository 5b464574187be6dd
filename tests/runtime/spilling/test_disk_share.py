"""Which sections are spilled, and when their number changes."""

from __future__ import annotations

import itertools

import pytest

from motet.runtime.spilling.disk_share import LOOK_EVERY_US, FixedShare, TunedShare, spread_ranks
from motet.runtime.spilling.machine_memory import MachineMemory, MemoryState
from motet.runtime.spilling.share_tuner import EpochLoads

MEGABYTE = 1 << 20
LOADS = EpochLoads(1.0, 1.0, 0.0)


class ScriptedMemory(MachineMemory):
    """Has as much memory as the test says."""

    def __init__(self, free_mb: int) -> None:
        self.free_mb = free_mb

    def state(self) -> MemoryState:
        return MemoryState(1000 * MEGABYTE, self.free_mb * MEGABYTE)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 64, 100])
def test_ranks_are_an_order_of_all_sections(count: int) -> None:
    assert sorted(spread_ranks(count)) == list(range(count))


@pytest.mark.parametrize("spilled", [13, 50, 64, 90])
def test_spilled_sections_are_evenly_among_the_others(spilled: int) -> None:
    count = 128
    chosen = [rank < spilled for rank in spread_ranks(count)]
    for first, length in itertools.product(range(0, 96, 5), (8, 16, 32)):
        found = sum(chosen[first : first + length])
        assert abs(found - spilled / count * length) <= 2.5


def test_a_fixed_share_stays() -> None:
    share = FixedShare(0.3)
    assert share.begin(20, 1000) == 6
    assert share.now() is share.after_epoch(LOADS) is None
    assert not share.is_short()


def test_a_tuned_share_begins_with_what_does_not_fit() -> None:
    assert TunedShare(ScriptedMemory(900)).begin(50, 500 * MEGABYTE) == 0
    assert TunedShare(ScriptedMemory(490)).begin(50, 500 * MEGABYTE) == 25


def test_while_sections_are_added_others_may_take_the_memory() -> None:
    memory = ScriptedMemory(900)
    share = TunedShare(memory)
    share.begin(50, 500 * MEGABYTE)
    assert not share.is_short()
    memory.free_mb = 210
    assert share.is_short()


def test_the_memory_is_looked_at_now_and_then() -> None:
    memory, clock = ScriptedMemory(900), [0]
    share = TunedShare(memory, lambda: clock[0])
    share.begin(50, 500 * MEGABYTE)
    share.filled(0)
    assert share.now() is None
    memory.free_mb = 10
    assert share.now() is None
    clock[0] = LOOK_EVERY_US
    more = share.now()
    assert more is not None
    assert more > 0


def test_memory_that_is_free_again_is_used_after_an_epoch() -> None:
    memory = ScriptedMemory(0)
    share = TunedShare(memory)
    assert share.begin(50, 500 * MEGABYTE) == 50
    memory.free_mb = 600
    fewer = share.after_epoch(LOADS)
    assert fewer is not None
    assert fewer < 50
