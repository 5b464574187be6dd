"""Ownership tables and blocks at one executor: a newer table replaces an older one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from motet.runtime.core.application import ModelTable
from motet.runtime.core.table_spec import MODEL_TABLE, TableSpec
from motet.runtime.server.held_blocks import HeldBlocks, NamedBlocks
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.table_requests import ALL_ROWS, Target

BLOCKS = 4
FIRST = Ownership.even(BLOCKS, [0])
SECOND = FIRST.moved([0], 1)
THIRD = SECOND.moved([1], 1)


def held_blocks(dtype: Any = np.float64, **more: Any) -> HeldBlocks:
    spec = TableSpec(MODEL_TABLE, ModelTable(BLOCKS, (1,), np.dtype(dtype), **more), BLOCKS)
    return HeldBlocks(spec, lambda *_: None, FIRST, 0, 0)


def test_a_newer_table_replaces_an_older_one() -> None:
    held = held_blocks()
    held.learn(THIRD)
    assert held.ownership.version == THIRD.version


def test_a_table_that_arrives_late_is_ignored() -> None:
    held = held_blocks()
    held.learn(THIRD)
    held.learn(SECOND)
    assert held.ownership.version == THIRD.version


def test_blocks_leave_with_the_newest_table_that_is_known() -> None:
    held = held_blocks()
    held.learn(THIRD)
    with held.lock:
        leaving = held.let_go([0], SECOND)
    assert list(leaving) == [0]
    assert held.numbers == [1, 2, 3]
    assert held.ownership.version == THIRD.version


def test_blocks_are_found_again_once_they_have_moved_to_new_memory() -> None:
    """What was found before reads the old memory, which later updates do not reach."""
    held = held_blocks()
    with held.lock:
        state = held.let_go([0], SECOND)[0].depart()
        came_back = held.made_of(0, replace(state, values=state.values.copy()))
        held.take_in(0, came_back, SECOND.version)
    found = named(held, [1, 2, 3])
    held.settle()
    assert named(held, [1, 2, 3]) is not found
    assert named(held, [0, 1, 2, 3]).contiguous is not None


def test_blocks_are_summed_up_together_unless_they_exchange_changes() -> None:
    summed = named(held_blocks(), [0, 1, 2, 3]).contiguous
    changed = named(held_blocks(np.int32, exchange="changes"), [0, 1, 2, 3]).contiguous
    assert summed is not None
    assert changed is not None
    assert (summed._sum is None, summed._changes is None) == (False, True)
    assert (changed._sum is None, changed._changes is None) == (True, False)


@pytest.mark.parametrize(("leaving", "kept"), [([0], 4), ([0, 1, 2], 1), ([0, 1, 2, 3], 0)])
def test_memory_of_which_less_than_half_is_in_use_is_freed(leaving: list[int], kept: int) -> None:
    held = held_blocks()
    with held.lock:
        held.let_go(leaving, SECOND)
    held.settle()
    assert held._memory.block_count == kept


def test_the_layout_changes_whenever_a_block_comes_or_goes() -> None:
    held = held_blocks()
    with held.lock:
        layouts = [held.layout]
        state = held.let_go([0], SECOND)[0].depart()
        layouts.append(held.layout)
        held.take_in(0, held.made_of(0, state), SECOND.version)
        layouts.append(held.layout)
    assert len(set(layouts)) == 3


def test_a_limited_number_of_sets_of_blocks_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("motet.runtime.server.held_blocks._MOST_NAMED", 3)
    held = held_blocks()
    for first in range(BLOCKS):
        for last in range(first, BLOCKS):
            named(held, list(range(first, last + 1)))
    assert max(len(held._named), len(held._as_one)) <= 3


def named(held: HeldBlocks, blocks: list[int]) -> NamedBlocks:
    numbers = np.array(blocks, np.uint32).tobytes()
    target = Target(0, MODEL_TABLE, 1, 0, len(blocks), ALL_ROWS, numbers)
    found = held.find(None, target)  # type: ignore[arg-type]  # only for blocks that are not here
    assert found is not None
    return found
