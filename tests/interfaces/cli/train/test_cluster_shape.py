"""Counts that were not given follow from those that were."""

from __future__ import annotations

import pytest

from motet.domain.errors import BadInput
from motet.interfaces.cli.train.cluster_shape import ClusterShape


@pytest.mark.parametrize(
    ("given", "shape"),
    [
        ((None, None, None), (2, 2, 2)),
        ((3, None, None), (3, 3, 3)),
        ((None, 3, 2), (5, 3, 2)),
        ((None, 3, None), (4, 3, 1)),
        ((None, None, 2), (3, 1, 2)),
        ((4, 3, None), (4, 3, 1)),
        ((4, None, 1), (4, 3, 1)),
        ((2, 2, None), (2, 2, 1)),
        ((1, None, None), (1, 1, 1)),
        ((3, 3, 2), (3, 3, 2)),
    ],
)
def test_missing_counts_are_filled_in(
    given: tuple[int | None, int | None, int | None], shape: tuple[int, int, int]
) -> None:
    assert ClusterShape.of(*given) == ClusterShape(*shape)


@pytest.mark.parametrize("name", ["machines", "workers", "servers"])
def test_a_count_below_one_is_bad_input(name: str) -> None:
    given = {"machines": None, "workers": None, "servers": None, name: 0}

    with pytest.raises(BadInput, match=f"--{name} 0: must be at least 1"):
        ClusterShape.of(**given)
