"""Whole blocks: what a worker finishes by a time, and when all workers have finished."""

from __future__ import annotations

import numpy as np
import pytest

from motet.cruise.search.problem import RoleMode, SearchProblem
from motet.cruise.search.relaxation import relaxed_epoch
from motet.cruise.search.whole_blocks import (
    blocks_by,
    earliest_s,
    exchange_seconds,
    rounded_epoch,
    whole_epoch,
)
from motet.estimate.epoch_cost import Configuration, Fleet, MachineType, Profile, epoch_s

KINDS = (MachineType("fast", 2, 1e-3), MachineType("slow", 3, 4e-3))
FLEET = Fleet(KINDS, ((2e7, 1e7), (1e7, 5e6)))
WORKERS = np.array([1, 1])


def problem_of(*, is_batch_global: bool = True) -> SearchProblem:
    profile = Profile(1_000, 100, 1e6, 20, 6, is_batch_global=is_batch_global)
    return SearchProblem.of(profile, FLEET, RoleMode.SEPARATE)


@pytest.mark.parametrize(
    ("time_s", "blocks"), [(0.99, 0), (1.0, 0), (1.04, 0), (1.05, 1), (2.0, 20)]
)
def test_with_a_common_batch_every_worker_exchanges_in_all_mini_batches(
    time_s: float, blocks: int
) -> None:
    # Ten exchanges of 0.1 s, then blocks of 50 instances of 1 ms.
    assert blocks_by(problem_of(), 0.1, 1e-3, time_s) == blocks


@pytest.mark.parametrize(
    ("time_s", "blocks"), [(0.14, 0), (0.15, 1), (0.2, 2), (0.34, 2), (0.35, 3)]
)
def test_with_batches_of_its_own_a_worker_exchanges_once_per_batch(
    time_s: float, blocks: int
) -> None:
    # A batch of two blocks: 0.1 s of exchange and 0.1 s of COMP.
    assert blocks_by(problem_of(is_batch_global=False), 0.1, 1e-3, time_s) == blocks


def test_the_earliest_time_is_the_first_by_which_all_blocks_are_finished() -> None:
    problem, exchange = problem_of(), np.array([0.1, 0.05])
    found_s = earliest_s(problem, WORKERS, exchange, np.inf)

    def finished(time_s: float) -> int:
        return sum(
            blocks_by(problem, each_s, comp_s, time_s)
            for each_s, comp_s in zip(exchange, (1e-3, 4e-3), strict=True)
        )

    assert finished(found_s) >= 20 > finished(found_s * (1 - 1e-6))


def test_an_infeasible_limit_gives_no_time() -> None:
    problem, exchange = problem_of(), np.array([0.1, 0.05])
    found_s = earliest_s(problem, WORKERS, exchange, np.inf)
    assert earliest_s(problem, WORKERS, exchange, found_s * 0.99) == np.inf
    assert earliest_s(problem, WORKERS, exchange, found_s * 1.01) == pytest.approx(found_s)


def test_the_best_split_is_no_longer_than_any_other_split() -> None:
    problem = problem_of()
    _, shares = relaxed_epoch(problem, WORKERS)
    time_s, blocks = whole_epoch(problem, WORKERS, shares, np.inf)
    exchange = np.zeros(2)
    for on_fast in range(7):
        split = np.array([on_fast, 6 - on_fast])
        exchange_seconds(problem, WORKERS, np.array([1, 2]), split, exchange)
        assert time_s <= earliest_s(problem, WORKERS, exchange, np.inf) * (1 + 1e-6)
    assert blocks.sum() == 6
    assert time_s <= rounded_epoch(problem, WORKERS, shares) * (1 + 1e-6)


def test_an_epoch_in_whole_blocks_agrees_with_the_cost_model() -> None:
    problem = problem_of()
    exchange = np.zeros(2)
    exchange_seconds(problem, WORKERS, np.array([1, 2]), np.array([2, 4]), exchange)
    found_s = earliest_s(problem, WORKERS, exchange, np.inf)
    counts = [
        blocks_by(problem, exchange[t], comp_s, found_s) for t, comp_s in enumerate((1e-3, 4e-3))
    ]
    data = (20 - counts[1], 0, counts[1], 0, 0)
    profile = Profile(1_000, 100, 1e6, 20, 6)
    cost_s = epoch_s(profile, FLEET, Configuration(data, (0, 2, 0, 2, 2)))
    assert cost_s <= found_s * (1 + 1e-6)


@pytest.mark.parametrize("workers", [[0, 0], [2, 3]])
def test_without_workers_or_without_servers_there_is_no_epoch(workers: list[int]) -> None:
    time_s, blocks = whole_epoch(problem_of(), np.array(workers), np.zeros(2), np.inf)
    assert time_s == np.inf
    assert blocks.sum() == 0
