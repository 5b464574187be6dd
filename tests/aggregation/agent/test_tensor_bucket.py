"""Where tensors lie in the memory of a bucket. Pure."""

from __future__ import annotations

import numpy as np

from motet.aggregation.agent.tensor_bucket import BucketMemory, TensorBucket, buffers_of

BUCKET = TensorBucket({3: 2, 5: 1, 0: 4, 2: 3})


def memory() -> BucketMemory:
    return BucketMemory(BUCKET, np.arange(BUCKET.size))


def test_tensors_lie_in_the_order_in_which_they_were_given() -> None:
    assert (BUCKET.order, BUCKET.numbers, BUCKET.size) == ((3, 5, 0, 2), (0, 2, 3, 5), 10)
    own = memory()
    assert [own.array_of(n).tolist() for n in BUCKET.order] == [
        [0, 1],
        [2],
        [3, 4, 5, 6],
        [7, 8, 9],
    ]


def test_neighbours_are_one_piece() -> None:
    assert BUCKET.pieces((0, 2)) == [slice(3, 10)]
    assert BUCKET.pieces((2, 0)) == [slice(7, 10), slice(3, 7)]
    assert BUCKET.pieces((0, 3, 5)) == [slice(3, 7), slice(0, 3)]
    assert BUCKET.pieces((0, 2)) is BUCKET.pieces((0, 2))


def test_a_message_has_tensors_of_buckets_and_single_ones_in_its_order() -> None:
    own, other, single = memory(), memory(), np.array([70])
    tensors = (3, 5, 0, 2, 9, 0)
    found = buffers_of(tensors, [own, own, other, own, single, own])
    assert [each.tolist() for each in found] == [
        [0, 1, 2],
        [3, 4, 5, 6],
        [7, 8, 9],
        [70],
        [3, 4, 5, 6],
    ]
    assert [each.tolist() for each in buffers_of((0, 2), [own, own])] == [[3, 4, 5, 6, 7, 8, 9]]
