"""The division of keys into blocks."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motet.runtime.core.partition import Partition, PartitionKind


@st.composite
def partitions(draw: st.DrawFn) -> Partition:
    key_count = draw(st.integers(1, 400))
    block_count = draw(st.integers(1, key_count))
    kind: PartitionKind = draw(st.sampled_from(["range", "hash"]))
    return Partition(key_count, block_count, kind)


@given(partitions())
def test_every_key_has_one_block_and_one_row(partition: Partition) -> None:
    keys = np.arange(partition.key_count)
    places = set(zip(partition.block_of(keys), partition.row_of(keys), strict=True))
    expected = {
        (block, row)
        for block in range(partition.block_count)
        for row in range(partition.rows_in(block))
    }
    assert places == expected


@given(partitions())
def test_keys_of_a_block_are_those_that_name_it_in_row_order(partition: Partition) -> None:
    for block in range(partition.block_count):
        keys = partition.keys_of(block)
        assert (partition.block_of(keys) == block).all()
        assert partition.row_of(keys).tolist() == list(range(partition.rows_in(block)))


@given(partitions())
def test_the_slice_of_a_block_is_its_keys(partition: Partition) -> None:
    everything = np.arange(partition.key_count)
    for block in range(partition.block_count):
        assert everything[partition.slice_of(block)].tolist() == partition.keys_of(block).tolist()


@given(partitions())
def test_blocks_differ_by_at_most_one_row(partition: Partition) -> None:
    sizes = [partition.rows_in(block) for block in range(partition.block_count)]
    assert max(sizes) - min(sizes) <= 1
