"""Which sections are spilled, and when their number changes."""

from __future__ import annotations

import itertools

import pytest

from motet.runtime.spilling.disk_share import (
    LOOK_AT_ONCE_US,
    LOOK_EVERY_US,
    FixedShare,
    TunedShare,
    spread_ranks,
)
from motet.runtime.spilling.machine_memory import MachineMemory, MemoryState
from motet.runtime.spilling.memory_watch import MemoryWatch
from motet.runtime.spilling.share_tuner import EpochLoads
from waiting import wait_until

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
    assert share.now(6, 0) is share.after_epoch(6, LOADS) is None
    assert share.has_room(1 << 60)
    assert not share.is_short()


def test_a_tuned_share_begins_with_what_does_not_fit() -> None:
    assert TunedShare(MemoryWatch(ScriptedMemory(900))).begin(50, 500 * MEGABYTE) == 0
    assert TunedShare(MemoryWatch(ScriptedMemory(490))).begin(50, 500 * MEGABYTE) == 25


def test_while_sections_are_added_others_may_take_the_memory() -> None:
    memory = ScriptedMemory(900)
    share = TunedShare(MemoryWatch(memory))
    share.begin(50, 500 * MEGABYTE)
    assert not share.is_short()
    memory.free_mb = 210
    assert share.is_short()


def test_the_memory_is_looked_at_now_and_then() -> None:
    memory, clock = ScriptedMemory(900), [0]
    share = TunedShare(MemoryWatch(memory), lambda: clock[0])
    share.begin(50, 500 * MEGABYTE)
    share.filled(0)
    assert share.now(0, 0) is None
    memory.free_mb = 10
    assert share.now(0, 0) is None
    clock[0] = LOOK_EVERY_US
    more = share.now(0, 0)
    assert more is not None
    assert more > 0


def test_memory_that_is_about_to_end_is_noticed_sooner() -> None:
    memory, clock = ScriptedMemory(300), [0]
    share = TunedShare(MemoryWatch(memory), lambda: clock[0])
    share.begin(50, 500 * MEGABYTE)
    share.filled(0)
    assert share.now(0, 0) is None
    memory.free_mb = 80
    clock[0] = LOOK_AT_ONCE_US
    assert share.now(0, 0) is None
    memory.free_mb = 50
    clock[0] = 2 * LOOK_AT_ONCE_US
    assert share.now(0, 0)


def test_the_least_free_memory_between_two_looks_counts() -> None:
    memory, clock = ScriptedMemory(300), [0]
    watch = MemoryWatch(memory)
    share = TunedShare(watch, lambda: clock[0])
    share.begin(50, 500 * MEGABYTE)
    share.filled(0)
    assert share.now(0, 0) is None
    memory.free_mb = 80
    watch.state()
    memory.free_mb = 300
    clock[0] = LOOK_EVERY_US
    assert share.now(0, 0)
    clock[0] = 2 * LOOK_EVERY_US
    assert share.now(0, 0) is None


def test_a_watch_sees_what_happens_between_two_questions() -> None:
    memory = ScriptedMemory(300)
    watch = MemoryWatch(memory)
    watch.start()
    assert watch.lowest().free_bytes == 300 * MEGABYTE
    memory.free_mb = 50
    wait_until(lambda: watch._lowest is not None and watch._lowest.free_bytes == 50 * MEGABYTE)
    memory.free_mb = 200
    assert watch.lowest().free_bytes == 50 * MEGABYTE
    watch.close()


def test_sections_that_are_about_to_be_freed_count_as_free() -> None:
    share = TunedShare(MemoryWatch(ScriptedMemory(10)), lambda: 0)
    share.begin(50, 500 * MEGABYTE)
    share.filled(0)
    assert share.now(0, pending_bytes=200 * MEGABYTE) is None


def test_nothing_is_read_ahead_into_the_memory_that_is_kept_free() -> None:
    memory = ScriptedMemory(200)
    share = TunedShare(MemoryWatch(memory))
    assert share.has_room(4 * MEGABYTE)
    memory.free_mb = 122
    assert not share.has_room(4 * MEGABYTE)


def test_memory_that_is_free_again_is_used_after_an_epoch() -> None:
    memory = ScriptedMemory(0)
    share = TunedShare(MemoryWatch(memory))
    assert share.begin(50, 500 * MEGABYTE) == 50
    memory.free_mb = 600
    share.filled(50)
    fewer = share.after_epoch(50, LOADS)
    assert fewer is not None
    assert fewer < 50


def test_a_model_on_disk_returns_before_input_does() -> None:
    memory, absent = ScriptedMemory(0), [300 * MEGABYTE]
    share = TunedShare(MemoryWatch(memory), absent_bytes=lambda: absent[0])
    share.begin(50, 500 * MEGABYTE)
    memory.free_mb = 500
    share.filled(50)
    assert share.after_epoch(50, LOADS) is None
    absent[0] = 0
    assert share.after_epoch(50, LOADS)


class Board:
    """Remembers what it was told; others have half of their input on disk."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int]] = []
        self.is_closed = False

    def tell(self, input_bytes: int, disk_bytes: int) -> None:
        self.told.append((input_bytes // MEGABYTE, disk_bytes // MEGABYTE))

    def mean_share(self) -> float | None:
        return 0.5

    def close(self) -> None:
        self.is_closed = True


def test_a_share_that_is_below_the_mean_of_all_jobs_grows() -> None:
    board = Board()
    share = TunedShare(MemoryWatch(ScriptedMemory(690)), board=board)
    share.begin(50, 500 * MEGABYTE)
    share.filled(5)
    share._memory = MemoryWatch(ScriptedMemory(180))
    assert share.after_epoch(5, LOADS) == 15
    assert board.told == [(500, 50)] * 3
    share.close()
    assert board.is_closed


def test_sections_that_were_spilled_for_want_of_room_are_the_new_number() -> None:
    clock = [0]
    share = TunedShare(MemoryWatch(ScriptedMemory(180)), lambda: clock[0])
    share.begin(50, 500 * MEGABYTE)
    share.filled(10)
    clock[0] = LOOK_EVERY_US
    assert share.now(30, 0) is None
    assert share._state.on_disk == 30
