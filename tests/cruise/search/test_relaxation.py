"""Divisible data and model: the closed form of the data split, and a bound for whole blocks."""

from __future__ import annotations

import numpy as np
import pytest

from cruise_cases import random_case
from motet.cruise.search.problem import RoleMode, SearchProblem
from motet.cruise.search.relaxation import relaxed_epoch, split_epoch_s
from motet.cruise.search.whole_blocks import whole_epoch
from motet.estimate.epoch_cost import Fleet, MachineType, Profile

KINDS = (MachineType("fast", 2, 1e-3), MachineType("slow", 3, 4e-3))
FLEET = Fleet(KINDS, ((1e7, 1e7), (1e7, 1e7)))


def problem_of(*, is_batch_global: bool = True) -> SearchProblem:
    profile = Profile(1_000, 100, 1e6, 20, 6, is_batch_global=is_batch_global)
    return SearchProblem.of(profile, FLEET, RoleMode.SEPARATE)


def test_all_workers_finish_together() -> None:
    time_s = split_epoch_s(problem_of(), np.array([1, 2]), np.array([0.01, 0.02]))
    # T = (D + K sum P_i / C_i) / sum 1 / C_i with ten mini-batches.
    expected_s = (1_000 + 10 * (0.01 / 1e-3 + 2 * 0.02 / 4e-3)) / (1 / 1e-3 + 2 / 4e-3)
    assert time_s == pytest.approx(expected_s)


def test_a_worker_whose_exchange_alone_takes_longer_gets_no_data() -> None:
    alone_s = split_epoch_s(problem_of(), np.array([1, 0]), np.array([0.01, 0.0]))
    assert split_epoch_s(problem_of(), np.array([1, 2]), np.array([0.01, 9.0])) == alone_s


def test_with_batches_of_its_own_a_workers_speed_includes_its_exchange() -> None:
    problem = problem_of(is_batch_global=False)
    time_s = split_epoch_s(problem, np.array([1, 2]), np.array([0.01, 0.02]))
    per_s = 1 / (1e-3 + 0.01 / 100) + 2 / (4e-3 + 0.02 / 100)
    assert time_s == pytest.approx(1_000 / per_s)


def test_with_less_than_a_batch_each_a_worker_still_exchanges_once() -> None:
    kinds = (MachineType("one", 4, 1e-3),)
    profile = Profile(100, 1_000, 1e6, 20, 6, is_batch_global=False)
    problem = SearchProblem.of(profile, Fleet(kinds, ((1e7,),)), RoleMode.SEPARATE)
    assert split_epoch_s(problem, np.array([2]), np.array([0.5])) == pytest.approx(0.5 + 0.05)


@pytest.mark.parametrize("workers", [[0, 0], [2, 3]])
def test_without_workers_or_without_servers_there_is_no_epoch(workers: list[int]) -> None:
    assert relaxed_epoch(problem_of(), np.array(workers))[0] == np.inf


@pytest.mark.parametrize("seed", range(20))
def test_an_epoch_in_whole_blocks_is_hardly_ever_shorter(seed: int) -> None:
    profile, fleet = random_case(seed, 8, 2, 40, 12)
    problem = SearchProblem.of(profile, fleet, RoleMode.SEPARATE)
    workers = np.maximum(problem.counts // 2, 1)
    relaxed_s, shares = relaxed_epoch(problem, workers)
    whole_s, _ = whole_epoch(problem, workers, shares, np.inf)
    assert relaxed_s <= whole_s * 1.05
    assert shares.sum() == pytest.approx(1.0)
