"""Blocks: atomic, exactly once, in canonical order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.arrays import Array
from motet.runtime.core.application import Step
from motet.runtime.core.sums import Place
from motet.runtime.server.accumulator import Accumulator, Contribution
from motet.runtime.server.block import AppliedNumbers, Block


def add(values: Array, delta: Array, step: Step) -> None:
    del step
    values += delta


def step(clock: int = 0) -> Step:
    return Step(0, clock, 10, clock, 1, 1, 0)


def contribution(*values: float) -> Contribution:
    return Contribution(np.array(values), None, (values[0],))


@given(st.permutations(list(range(12))), st.lists(st.integers(0, 11), max_size=12))
def test_every_number_is_admitted_once_in_any_order(order: list[int], again: list[int]) -> None:
    applied = AppliedNumbers()
    for number in order:
        assert not applied.has(number)
        applied.add(number)
    assert all(applied.has(number) for number in again)
    assert (applied.below, applied.ahead) == (12, set())


def test_a_reader_never_sees_a_later_update() -> None:
    block = Block(np.zeros(3), add)
    seen = block.pin()
    block.update(1, 0, None, np.ones(3), step())
    assert seen.tolist() == [0, 0, 0]
    assert block.pin().tolist() == [1, 1, 1]


def test_an_unpinned_block_is_updated_in_place() -> None:
    values = np.zeros(3)
    block = Block(values, add)
    block.unpin(block.pin())
    block.update(1, 0, None, np.ones(3), step())
    assert values.tolist() == [1, 1, 1]


def test_a_repeated_update_changes_nothing() -> None:
    block = Block(np.zeros(2), add)
    for number in (0, 1, 0, 1, 1):
        block.update(7, number, None, np.ones(2), step())
    assert block.pin().tolist() == [2, 2]


def test_a_repeated_put_changes_nothing() -> None:
    block = Block(np.zeros(3), add)
    block.put(1, 0, None, np.ones(3))
    block.put(2, 0, None, np.full(3, 2.0))
    block.put(1, 0, None, np.ones(3))
    assert block.pin().tolist() == [2, 2, 2]


def test_an_update_of_some_rows_leaves_the_others() -> None:
    block = Block(np.zeros((3, 2)), add)
    block.update(7, 0, np.array([2], np.uint32), np.ones((1, 2)), step())
    block.update(7, 1, np.array([0, 2], np.uint32), np.ones((2, 2)), step())
    assert block.pin().tolist() == [[1, 1], [0, 0], [2, 2]]


@given(st.permutations([0, 1, 2, 3]))
def test_the_sum_has_the_same_bits_in_any_order_of_arrival(order: list[int]) -> None:
    parts = [contribution(value, value / 3) for value in (0.1, 1e16, -1e16, 0.7)]
    expected = ((parts[0].delta + parts[1].delta) + parts[2].delta) + parts[3].delta
    accumulator = Accumulator((2,), np.dtype(np.float64))
    for rank in order:
        accumulator.add(Place(rank, 4), parts[rank])
    assert accumulator.is_complete
    total, statistics = accumulator.take()
    assert total.tobytes() == expected.tobytes()
    assert statistics == (expected[0],)


def test_the_update_function_sees_only_the_updated_rows() -> None:
    def halve_and_add(values: Array, delta: Array, step: Step) -> None:
        del step
        values *= 0.5
        values += delta

    block = Block(np.full((3, 1), 8.0), halve_and_add)
    block.update(7, 0, np.array([2], np.uint32), np.ones((1, 1)), step())
    assert block.pin().tolist() == [[8], [8], [5]]


def test_an_update_that_failed_can_be_tried_again() -> None:
    failures = iter([True, False])

    def fail_once(values: Array, delta: Array, step: Step) -> None:
        del step
        if next(failures):
            raise ArithmeticError
        values += delta

    block = Block(np.zeros(1), fail_once)
    with pytest.raises(ArithmeticError):
        block.update(7, 0, None, np.ones(1), step())
    block.update(7, 0, None, np.ones(1), step())
    assert block.pin().tolist() == [1]


def test_a_mini_batch_is_applied_once_every_worker_has_contributed() -> None:
    block = Block(np.zeros(1), add)
    assert not block.contribute(Place(1, 2), contribution(5.0), step(0))
    assert not block.contribute(Place(1, 2), contribution(5.0), step(0))
    assert block.pin().tolist() == [0]
    assert block.contribute(Place(0, 2), contribution(2.0), step(0))
    assert block.pin().tolist() == [7]
    assert not block.contribute(Place(0, 2), contribution(2.0), step(0))
    assert (block.pin().tolist(), block.clock) == ([7], 1)


def test_an_immediate_contribution_counts_once_per_mini_batch() -> None:
    block = Block(np.zeros(1), add)
    for clock in (0, 0, 1, 1, 0):
        block.contribute_now(0, contribution(1.0), step(clock))
    assert block.pin().tolist() == [2]
