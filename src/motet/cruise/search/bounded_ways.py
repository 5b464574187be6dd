"""All ways to choose the numbers of workers, without evaluating those that a quick bound excludes.

The bound of a way: no worker exchanges faster than with the model split that is best for its type
alone. A way whose workers cannot finish the data by the best epoch with such exchanges is excluded.
The others are evaluated in whole blocks, those with the lowest bounds first. The result is the
optimum if the effort suffices for all of them. Effort counts bounds and model splits, not seconds,
so results do not depend on the speed of the machine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from motet.cruise.search.problem import SearchProblem, server_counts, type_count
from motet.cruise.search.relaxation import relaxed_epoch
from motet.cruise.search.whole_blocks import (
    FEW_SPLITS,
    earliest_s,
    is_enough,
    split_count,
    whole_epoch,
)
from motet.domain.arrays import Floats, Ints

MOST_EFFORT = 400_000
"""Bounds and model splits, less than 0.1 s of CPU time."""
_BOUND_SPLITS = 4
_RELAXATION_SPLITS = 100
"""A bound that does not exclude its way, and a relaxed epoch, take about as long as so many model
splits.
"""
_ROUNDING = 1e-9


class BestWay(NamedTuple):
    """`workers`, `model_blocks`: per type. `is_optimal`: no other way can be better."""

    workers: Ints
    model_blocks: Ints
    epoch_s: float
    is_optimal: bool


def is_boundable(problem: SearchProblem, effort: int) -> bool:
    """Whether the effort suffices for the bounds, and all model splits of a way are tried."""
    ways = float(np.prod(problem.counts + 1.0))
    splits = float(split_count(problem.model_blocks, len(problem.counts)))
    return ways * _BOUND_SPLITS <= effort and splits <= FEW_SPLITS


def best_by_bounds(problem: SearchProblem, best: BestWay, effort: int) -> BestWay:
    """The best way, starting with the best one known. `problem`: a boundable one."""
    numbers, bounds_s = ways_below(problem, best.epoch_s)
    effort -= int(np.prod(problem.counts + 1)) * _BOUND_SPLITS
    order = np.argsort(bounds_s, kind="stable")
    return _best_in_order(problem, numbers[order], bounds_s[order], best, effort)


@njit(cache=True)
def ways_below(problem: SearchProblem, limit_s: float) -> tuple[Ints, Floats]:
    """The ways whose bounds are below `limit_s`, as numbers (see `read_way`), and their bounds."""
    ways = 1
    for count in problem.counts:
        ways *= count + 1
    numbers, bounds_s = np.empty(ways, np.int64), np.empty(ways)
    workers = np.zeros(len(problem.counts), np.int64)
    exchange_s = np.zeros(len(workers))
    found = 0
    for number in range(ways):
        read_way(problem.counts, number, workers)
        if not 0 < workers.sum() <= problem.data_blocks:
            continue
        servers = server_counts(problem, workers)
        if servers.sum() == 0:
            continue
        least_exchange_s(problem, workers, servers, exchange_s)
        if is_enough(problem, workers, exchange_s, limit_s):
            numbers[found] = number
            bounds_s[found] = earliest_s(problem, workers, exchange_s, limit_s)
            found += 1
    return numbers[:found], bounds_s[:found]


@njit(cache=True)
def read_way(counts: Ints, number: int, workers: Ints) -> None:
    """Write the way with this number, 0 <= number < prod(counts + 1), into `workers: (T,)`."""
    for t in range(len(counts)):
        workers[t] = number % (counts[t] + 1)
        number //= counts[t] + 1


@njit(cache=True)
def least_exchange_s(
    problem: SearchProblem, workers: Ints, servers: Ints, exchange_s: Floats
) -> None:
    """Seconds below which no model split takes an exchange of a worker, by type: `(T,)`."""
    sharers = workers.sum() - (1 if problem.is_both else 0)
    for t in range(len(workers)):
        exchange_s[t] = 0.0
        if workers[t] == 0:
            continue
        shared_per_s, own_s, block_s = 0.0, np.inf, np.inf
        for u in range(len(workers)):
            if servers[u] == 0:
                continue
            whole_s = problem.exchange_bytes / problem.bandwidth[t, u]
            others = servers[u] - (1 if problem.is_both and t == u else 0)
            own_s = min(own_s, whole_s * others / servers[u])
            block_s = min(block_s, whole_s * sharers / problem.model_blocks if others > 0 else 0.0)
            shared_per_s += servers[u] / (whole_s * sharers) if others * sharers > 0 else np.inf
        exchange_s[t] = max(own_s, block_s, 1.0 / shared_per_s)


@njit(cache=True)
def _best_in_order(
    problem: SearchProblem, numbers: Ints, bounds_s: Floats, best: BestWay, effort: int
) -> BestWay:
    workers, blocks, epoch_s = best.workers.copy(), best.model_blocks.copy(), best.epoch_s
    way = np.zeros(len(workers), np.int64)
    shares = np.zeros(len(workers))
    for place in range(len(numbers)):
        if bounds_s[place] >= epoch_s:
            break
        read_way(problem.counts, numbers[place], way)
        types = type_count(server_counts(problem, way))
        splits = int(split_count(problem.model_blocks, types))
        # With up to two server types the relaxed epoch is a bound, too.
        if types <= 2 and splits > _RELAXATION_SPLITS:
            effort -= _RELAXATION_SPLITS
            relaxed_s, _ = relaxed_epoch(problem, way)
            if relaxed_s >= epoch_s * (1 + _ROUNDING):
                continue
        effort -= splits
        if effort < 0:
            return BestWay(workers, blocks, epoch_s, False)
        time_s, model_blocks = whole_epoch(problem, way, shares, epoch_s)
        if time_s < epoch_s:
            workers, blocks, epoch_s = way.copy(), model_blocks, time_s
    return BestWay(workers, blocks, epoch_s, True)
