from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.torch.distributed.pieces import LARGEST, PARALLEL, PieceTensors

EDGES = [1, 63, 64, 65, LARGEST - 1, LARGEST, LARGEST + 1, 2 * LARGEST, PARALLEL * LARGEST]


def _check(elements: int) -> None:
    tensors = PieceTensors("float32", 100)
    covered = []
    for wave in tensors.waves(elements):
        assert len({piece.tensor for piece in wave}) == len(wave)
        for piece in wave:
            assert tensors.specs[piece.tensor - 100].shape == (piece.size,)
            assert 0 < piece.stop - piece.start <= piece.size
            assert piece.size < max(2 * (piece.stop - piece.start), 65)
            covered.append((piece.start, piece.stop))
    assert [start for start, _ in covered] == [0, *(stop for _, stop in covered[:-1])]
    assert covered[-1][1] == elements


@pytest.mark.parametrize("elements", [edge + more for edge in EDGES for more in (0, 1)])
def test_pieces_cover_an_array_at_the_edges(elements: int) -> None:
    _check(elements)


@given(st.integers(1, 3 * PARALLEL * LARGEST))
def test_pieces_cover_an_array_once_with_a_tensor_each_and_little_waste(elements: int) -> None:
    _check(elements)


def test_an_empty_array_has_no_pieces() -> None:
    assert list(PieceTensors("float64", 0).waves(0)) == []
