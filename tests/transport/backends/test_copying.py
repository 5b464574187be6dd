from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from motet.transport.backends.copying import transfer


@pytest.mark.parametrize("sources", [[10], [3, 7], [1, 0, 9]])
@pytest.mark.parametrize("targets", [[10], [5, 5], [2, 0, 8]])
@pytest.mark.parametrize("scale", [1, 1 << 18])
def test_a_transfer_keeps_the_order_of_bytes(
    sources: list[int], targets: list[int], scale: int
) -> None:
    data = np.random.default_rng(scale).integers(0, 256, 10 * scale, np.uint8)
    pieces = np.split(data, scale * np.cumsum(sources)[:-1])
    places = [np.zeros(scale * size, np.uint8) for size in targets]
    transfer([piece.data for piece in pieces], places)
    assert np.array_equal(np.concatenate(places), data)


def test_a_transfer_of_large_pieces_needs_no_memory() -> None:
    """What is allocated anew for a large copy costs a page fault per 4 KB."""
    size = 4 << 20
    sources = [np.ones(size, np.uint8), np.ones(size, np.uint8)]
    places = [np.zeros(each, np.uint8) for each in (size // 2, size, size // 2)]
    tracemalloc.start()
    try:
        transfer([each.data for each in sources], places)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_bytes < size // 2
    assert all(place.all() for place in places)
