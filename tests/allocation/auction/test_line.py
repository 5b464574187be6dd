"""Free GPUs in a line, and kinds of starts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.allocation.auction.line import Line
from motet.domain.errors import BadInput
from motet.domain.snapshot import Placement

free = st.lists(st.integers(0, 4), max_size=6)


@given(free, st.none() | st.integers(1, 12), st.lists(st.integers(0, 2), min_size=6, max_size=6))
def test_stretches_from_starts_of_a_kind_fall_on_machines_and_racks_alike(
    free: list[int], reach: int | None, racks: list[int]
) -> None:
    line = Line.of(free, reach, racks[: len(free)])
    for start in range(line.size + 1):
        first = int(line.first[line.kind[start]])
        for gpus in range(1, min(line.size - start, line.reach) + 1):
            assert line.parts(start, gpus) == line.parts(first, gpus)


@given(free)
def test_every_free_gpu_is_in_the_line_once(free: list[int]) -> None:
    line = Line.of(free)
    assert [line.machine.tolist().count(number) for number in range(len(free))] == free


def test_empty_machines_have_as_many_kinds_of_starts_as_gpus() -> None:
    assert Line.of([4] * 64).kinds == 4
    assert Line.of([4, 0, 4, 2, 1, 4]).kinds == 12
    assert Line.of([4, 0, 4, 2, 1, 4], reach=1).kinds == 1


def test_a_stretch_lies_on_neighbours_of_the_line() -> None:
    line = Line.of([1, 3, 2])
    assert line.placement(2, 4) == Placement((0, 1, 2), (1, 1, 2))
    assert line.parts(2, 4) == (1, 2, 1)


def test_racks_are_consecutive_the_emptiest_first() -> None:
    line = Line.of([1, 4, 3, 2, 4], racks=[0, 1, 0, 0, 1])
    assert line.parts(0, line.size) == (4, 4, 0, 3, 2, 1)
    assert line.placement(6, 4) == Placement((2, 4), (2, 2))
    assert Line.of([4] * 64, reach=4, racks=[number // 8 for number in range(64)]).kinds == 7


def test_slowdowns_follow_the_parts_and_end_with_the_line() -> None:
    table = Line.of([2, 2]).slowdowns(lambda parts: float(len(parts)), 4)
    assert table[:, 1:].tolist() == [[1, 1, 2, 2], [1, 2, 2, pytest.approx(float("inf"))]]


def test_a_large_busy_cluster_has_few_kinds_within_reach() -> None:
    line = Line.of(list(range(9)) * 100, reach=64)
    assert line.size == 3600
    assert line.kinds < 500


def test_stretches_have_at_least_one_gpu() -> None:
    with pytest.raises(BadInput, match="reach=0: the longest stretch has at least 1 GPU"):
        Line.of([1], reach=0)


def test_a_negative_number_of_free_gpus_is_refused() -> None:
    with pytest.raises(BadInput, match="a machine has 0 free GPUs or more"):
        Line.of([1, -1])
