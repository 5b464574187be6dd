from __future__ import annotations

import numpy as np
import pytest

from motet.transport.backends.copying import transfer


@pytest.mark.parametrize("sources", [[10], [3, 7], [1, 0, 9]])
@pytest.mark.parametrize("targets", [[10], [5, 5], [2, 0, 8]])
def test_a_transfer_keeps_the_order_of_bytes(sources: list[int], targets: list[int]) -> None:
    data = np.arange(10, dtype=np.uint8)
    pieces = np.split(data, np.cumsum(sources)[:-1])
    places = [np.zeros(size, np.uint8) for size in targets]
    transfer([piece.data for piece in pieces], places)
    assert np.concatenate(places).tolist() == data.tolist()
