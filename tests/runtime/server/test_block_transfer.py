"""A block on its way keeps everything that makes it what it is."""

from __future__ import annotations

import numpy as np
import pytest

from motet.domain.arrays import Array
from motet.runtime.core.application import Step
from motet.runtime.core.sums import Place
from motet.runtime.server.accumulator import Contribution
from motet.runtime.server.block import Block, Departed
from motet.runtime.server.block_transfer import BlockTransfer
from motet.runtime.wire.codec import decode, encode


def add(values: Array, delta: Array, step: Step) -> None:
    del step
    values += delta


def step(clock: int) -> Step:
    return Step(0, clock, 10, clock, 1, 1, 0)


def contribution(*values: float) -> Contribution:
    return Contribution(np.array(values), None, (values[0],))


def sent(block: Block) -> Block:
    """The block that arrives elsewhere."""
    transfer = BlockTransfer(0, 1, 3, 7, block.depart(), {0: 5})
    head, arrays = encode(transfer)
    payload = b"".join(array.tobytes() for array in arrays)
    got = decode(BlockTransfer, head, memoryview(payload))
    assert (got.number, got.version, got.worker_clocks) == (3, 7, {0: 5})
    arrived = Block(got.state.values, add, clock=got.state.clock)
    arrived.arrive(got.state)
    return arrived


def test_a_mini_batch_that_began_here_ends_there_with_the_same_bits() -> None:
    parts = [contribution(value, value / 3) for value in (0.1, 1e16, -1e16, 0.7)]
    expected = ((parts[0].delta + parts[1].delta) + parts[2].delta) + parts[3].delta
    block = Block(np.zeros(2), add)
    for position in (3, 0, 1):
        assert not block.contribute(Place(position, 4), parts[position], step(0))
    block = sent(block)
    assert not block.contribute(Place(1, 4), parts[1], step(0))
    assert block.contribute(Place(2, 4), parts[2], step(0))
    assert block.pin().tobytes() == expected.tobytes()
    assert block.clock == 1


def test_an_update_that_was_applied_here_is_not_applied_again_there() -> None:
    block = Block(np.zeros(1), add)
    for number in (0, 2):
        block.update(9, number, None, np.ones(1), step(0))
    block.contribute_now(4, contribution(1.0), step(6))
    block = sent(block)
    for number in (0, 1, 2):
        block.update(9, number, None, np.ones(1), step(0))
    block.contribute_now(4, contribution(1.0), step(6))
    assert block.pin().tolist() == [4]


def test_a_block_that_has_left_takes_nothing_more() -> None:
    block = Block(np.zeros(1), add)
    seen = block.pin()
    sent(block)
    with pytest.raises(Departed):
        block.update(9, 0, None, np.ones(1), step(0))
    with pytest.raises(Departed):
        block.put(9, 0, None, np.ones(1))
    with pytest.raises(Departed):
        block.contribute(Place(0, 1), contribution(1.0), step(0))
    assert seen.tolist() == [0]


def test_workers_may_be_more_or_fewer_in_the_next_mini_batch() -> None:
    block = Block(np.zeros(1), add)
    assert block.contribute(Place(0, 1), contribution(1.0), step(0))
    assert not block.contribute(Place(0, 2), contribution(1.0), step(1))
    assert block.contribute(Place(1, 2), contribution(1.0), step(1))
    assert block.contribute(Place(0, 1), contribution(1.0), step(2))
    assert block.pin().tolist() == [4]
