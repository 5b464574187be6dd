"""Whose GPUs they were, against counting by hand and one moment after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from motet.domain.snapshot import UNKNOWN
from motet.sim.metrics.loss_groups import gpus_by_loss, held_gpus
from motet.sim.replay.placements import Holds

NAN = float("nan")


def holds(rows: list[tuple[int, int, int, int]]) -> Holds:
    """(job, GPUs, start, end)"""
    job, gpus, start, end = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    nobody = np.full(len(job), UNKNOWN)
    return Holds(job, np.zeros_like(job), gpus, start, end, nobody, np.ones_like(job))


def test_a_job_holds_its_gpus_on_all_machines_until_its_end() -> None:
    held = held_gpus(holds([(0, 2, 0, 10), (0, 1, 5, 10), (1, 4, 10, 20)]), 3, [0, 4, 5, 9, 10, 20])

    assert held.tolist() == [[2, 2, 3, 3, 0, 0], [0, 0, 0, 0, 4, 0], [0] * 6]


def test_of_four_jobs_one_two_and_the_rest() -> None:
    losses = np.array([[0.5], [0.9], [0.1], [0.7]])
    gpus = np.array([[1], [20], [300], [4000]])

    assert gpus_by_loss(losses, gpus)[:, 0].tolist() == [20, 4000, 301]


def test_a_job_without_a_loss_is_in_no_group() -> None:
    losses = np.array([[NAN], [0.9], [0.1], [0.7], [0.8]])
    gpus = np.array([[10_000], [20], [300], [4000], [1]])

    assert gpus_by_loss(losses, gpus)[:, 0].tolist() == [20, 1, 4300]


def test_of_equal_losses_the_first_job_counts_as_higher() -> None:
    assert gpus_by_loss(np.full((4, 1), 0.5), np.array([[1], [2], [3], [4]]))[:, 0].tolist() == [
        1,
        2,
        7,
    ]


@pytest.mark.parametrize("jobs", [0, 1])
def test_one_job_or_none_is_the_lowest_half(jobs: int) -> None:
    groups = gpus_by_loss(np.zeros((jobs, 2)), np.full((jobs, 2), 3))
    assert groups.tolist() == [[0, 0], [0, 0], [3 * jobs] * 2]


@given(st.data(), st.integers(1, 9), st.integers(1, 4))
def test_groups_equal_those_of_sorting_each_time_separately(
    data: st.DataObject, jobs: int, times: int
) -> None:
    loss = st.one_of(st.just(NAN), st.sampled_from([0.0, 0.25, 0.5]), st.floats(0, 1))
    losses = np.array(data.draw(st.lists(loss, min_size=jobs * times, max_size=jobs * times)))
    losses = losses.reshape(jobs, times)
    gpus = np.arange(1, jobs * times + 1).reshape(jobs, times)

    assert gpus_by_loss(losses, gpus).T.tolist() == [
        _groups(losses[:, moment], gpus[:, moment]) for moment in range(times)
    ]


def _groups(losses: NDArray[np.float64], gpus: NDArray[np.int64]) -> list[int]:
    there = [(-loss, job) for job, loss in enumerate(losses) if not np.isnan(loss)]
    order = [job for _, job in sorted(there)]
    cuts = [round(len(order) / 4), round(len(order) / 2)]
    parts = order[: cuts[0]], order[cuts[0] : cuts[1]], order[cuts[1] :]
    return [sum(int(gpus[job]) for job in part) for part in parts]


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(1, 8), st.integers(0, 9), st.integers(1, 9)),
        max_size=8,
    )
)
def test_held_gpus_equal_those_of_evaluating_each_time(rows: list[tuple[int, ...]]) -> None:
    spans = [(job, gpus, start, start + length) for job, gpus, start, length in rows]
    expected = [
        [sum(g for j, g, a, b in spans if j == job and a <= now < b) for now in range(20)]
        for job in range(3)
    ]
    assert held_gpus(holds(spans), 3, np.arange(20)).tolist() == expected
