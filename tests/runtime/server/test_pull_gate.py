"""Which pulls a server answers, parks and releases in each consistency mode."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from motet.runtime.core.application import ModelTable
from motet.runtime.core.consistency import Async, Bsp, Consistency, Ssp, Synchronisation
from motet.runtime.core.table_spec import MODEL_TABLE, TableSpec
from motet.runtime.server.held_blocks import HeldBlocks, NamedBlocks
from motet.runtime.server.pull_gate import PullGate
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.table_requests import ALL_ROWS, ANY_CLOCK, Target
from motet.transport import Request

BLOCKS = 3
OWNERSHIP = Ownership.even(BLOCKS, [0])


class Table:
    """Three blocks of one row at executor 0, workers 4 and 5, and their gate."""

    def __init__(self, consistency: Consistency, first_clock: int = 0) -> None:
        model = ModelTable(BLOCKS, (1,), np.dtype(np.float64))
        spec = TableSpec(MODEL_TABLE, model, BLOCKS)
        self.held = HeldBlocks(spec, lambda *_: None, OWNERSHIP, 0, first_clock)
        sync = Synchronisation(consistency, (4, 5))
        self.gate = PullGate(self.held, BLOCKS, sync, first_clock)

    def named(self, clock: int, *blocks: int) -> tuple[Target, NamedBlocks]:
        selection = np.array(blocks, np.uint32).tobytes()
        target = Target(0, MODEL_TABLE, 1, clock, len(blocks), ALL_ROWS, selection)
        found = self.held.find(cast(Request, None), target)
        assert found is not None
        return target, found

    def is_due(self, clock: int, *blocks: int) -> bool:
        return self.gate.is_due(*self.named(clock, *blocks))

    def park(self, clock: int, *blocks: int) -> Any:
        """A parked request."""
        request = cast(Any, object())
        assert self.gate.park(request, *self.named(clock, *blocks))
        return request

    def released(self) -> list[Any]:
        return [entry.request for entry in self.gate.take_due()]


def test_under_bsp_a_pull_is_due_when_all_blocks_that_it_names_have_committed() -> None:
    table = Table(Bsp())
    assert table.is_due(0, 0, 1)
    table.gate.commit(0, 1)
    assert table.is_due(1, 0)
    assert not table.is_due(1, 0, 1)
    table.gate.commit(1, 1)
    assert table.is_due(1, 0, 1)


def test_under_ssp_a_pull_is_due_when_the_slowest_worker_is_within_the_staleness() -> None:
    table = Table(Ssp(1))
    table.gate.finish(4, 2)
    assert table.is_due(1, 0)
    assert not table.is_due(2, 0)
    table.gate.finish(5, 1)
    assert table.is_due(2, 0)
    assert not table.is_due(3, 0)


def test_only_a_mini_batch_that_was_not_counted_yet_is_news() -> None:
    gate = Table(Ssp(0), first_clock=3).gate
    found = [gate.finish(*what) for what in [(4, 3), (4, 5), (4, 5), (4, 4), (9, 8)]]
    assert found == [False, True, False, False, False]
    assert gate.worker_clocks == {4: 5, 5: 3}


def test_under_async_every_pull_is_due() -> None:
    assert Table(Async()).is_due(1_000, 0, 1, 2)


@pytest.mark.parametrize("consistency", [Bsp(), Ssp(0), Async()])
def test_a_read_outside_mini_batches_is_always_due(consistency: Consistency) -> None:
    assert Table(consistency, first_clock=7).is_due(ANY_CLOCK, 0, 1, 2)


def test_a_pull_is_released_once_and_only_when_it_is_due() -> None:
    table = Table(Bsp())
    first, both = table.park(1, 0), table.park(1, 0, 1)
    assert table.released() == []
    table.gate.commit(0, 1)
    assert table.released() == [first]
    table.gate.commit(1, 1)
    assert table.released() == [both]
    assert table.released() == []


def test_a_pull_that_has_become_due_is_not_parked() -> None:
    table = Table(Bsp())
    target, named = table.named(1, 0)
    table.gate.commit(0, 1)
    assert not table.gate.park(cast(Any, object()), target, named)


def test_a_pull_is_not_parked_when_blocks_have_left_since_they_were_found() -> None:
    table = Table(Bsp())
    target, named = table.named(1, 0)
    with table.held.lock:
        table.held.let_go([2], OWNERSHIP.moved([2], 1))
    assert not table.gate.park(cast(Any, object()), target, named)


def test_only_pulls_of_leaving_blocks_are_removed() -> None:
    table = Table(Bsp())
    staying, leaving = table.park(1, 0), table.park(1, 1, 2)
    with table.held.lock:
        assert table.gate.remove_blocks([2]) == [leaving]
    for block in range(BLOCKS):
        table.gate.commit(block, 1)
    assert table.released() == [staying]


def test_a_late_commit_does_not_set_a_block_back() -> None:
    table = Table(Bsp())
    table.gate.commit(0, 5)
    table.gate.commit(0, 3)
    assert table.is_due(5, 0)


def test_an_arriving_block_brings_its_clock_and_newer_clocks_of_present_workers() -> None:
    table = Table(Ssp(0))
    table.gate.finish(5, 9)
    with table.held.lock:
        table.gate.add_block(1, 6, {4: 6, 5: 6, 8: 6})
    assert table.gate.worker_clocks == {4: 6, 5: 9}
    bsp = Table(Bsp())
    with bsp.held.lock:
        bsp.gate.add_block(1, 6, {})
    assert bsp.is_due(6, 1)


def test_a_new_worker_begins_at_the_given_clock_and_a_former_one_is_forgotten() -> None:
    table = Table(Ssp(0))
    table.gate.finish(4, 3)
    table.gate.set_workers([4, 8], 2)
    table.gate.finish(5, 9)
    assert table.gate.worker_clocks == {4: 3, 8: 2}
    assert not table.is_due(3, 0)
    table.gate.finish(8, 3)
    assert table.is_due(3, 0)
