"""The placement score counts GPU-time by how close together it was."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from motet.domain.cluster import ClusterSpec
from motet.domain.snapshot import UNKNOWN
from motet.sim.metrics.placement_score import placement_score
from motet.sim.replay.placements import Holds

Rows = list[tuple[int, int, int, int, int]]
"""(job, machine, GPUs, start, end), sorted as `Holds`."""


def holds(rows: Rows) -> Holds:
    columns = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    alone = {"partner": np.full(len(rows), UNKNOWN), "sharers": np.ones(len(rows), np.int64)}
    return Holds(*columns, **alone)


def racks_of_two() -> ClusterSpec:
    """Four machines of four GPUs, two in a rack."""
    return replace(ClusterSpec.uniform(4, 4), rack=np.array([0, 0, 1, 1]))


@pytest.mark.parametrize(
    ("rows", "score"),
    [
        ([(0, 0, 1, 0, 9)], 1),
        ([(0, 0, 4, 0, 9)], 1),
        ([(0, 0, 2, 0, 9), (0, 1, 2, 0, 9)], 1 / 2),
        ([(0, 0, 2, 0, 9), (0, 2, 2, 0, 9)], 1 / 4),
        ([(0, 0, 4, 0, 9), (0, 1, 4, 0, 9)], 1),
        ([(0, 1, 4, 0, 9), (0, 2, 4, 0, 9)], 1 / 4),
        ([(0, 0, 4, 0, 9), (0, 1, 4, 0, 9), (0, 2, 1, 0, 9)], 1),
        ([(0, 0, 3, 0, 9), (0, 1, 3, 0, 9), (0, 2, 2, 0, 9), (0, 3, 1, 0, 9)], 1 / 2),
    ],
)
def test_the_best_placement_scores_one(rows: Rows, score: float) -> None:
    assert placement_score(holds(rows), racks_of_two()) == score


def test_gpu_time_counts() -> None:
    """8 GPU-seconds together; 4 s on two GPUs of one rack; 2 s on two in two racks."""
    rows = [
        (0, 0, 4, 0, 2),
        (1, 2, 1, 0, 4),
        (1, 3, 1, 0, 4),
        (0, 0, 1, 2, 4),
        (0, 2, 1, 2, 4),
    ]
    expected = (8 * 1 + 8 / 2 + 4 / 4) / 20
    assert placement_score(holds(rows), racks_of_two()) == pytest.approx(expected)


def test_without_holds_there_is_no_score() -> None:
    assert math.isnan(placement_score(holds([]), racks_of_two()))
