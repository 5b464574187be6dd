"""The best configuration there is, found without cleverness: by trying everything, and by HiGHS."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numba import njit

from motet.cruise.search.problem import SearchProblem, server_counts
from motet.cruise.search.whole_blocks import blocks_by, earliest_s, exchange_seconds
from motet.domain.arrays import Floats, Ints
from motet.estimate.epoch_cost import Configuration, Fleet, Profile, epoch_s


def every_placement_s(profile: Profile, fleet: Fleet, *, may_share: bool = False) -> float:
    """The shortest epoch over every way to put each block on a machine. For very few machines."""
    return min(
        epoch_s(profile, fleet, Configuration(data, model))
        for data in _divisions(profile.data_blocks, fleet.size)
        for model in _divisions(profile.model_blocks, fleet.size)
        if may_share or not any(d and m for d, m in zip(data, model, strict=True))
    )


def _divisions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _divisions(total - first, parts - 1):
            yield (first, *rest)


@njit(cache=True)
def every_way_s(problem: SearchProblem) -> float:
    """The shortest epoch over all roles by type and all model splits between types."""
    size = len(problem.counts)
    workers = np.zeros(size, np.int64)
    best_s = np.inf
    exchange_s = np.zeros(size)
    while True:
        place = 0
        while place < size and workers[place] == problem.counts[place]:
            workers[place] = 0
            place += 1
        if place == size:
            return best_s
        workers[place] += 1
        servers = server_counts(problem, workers)
        if servers.sum() > 0:
            best_s = _every_split_s(problem, workers, servers, exchange_s, best_s)


@njit(cache=True)
def _every_split_s(
    problem: SearchProblem, workers: Ints, servers: Ints, exchange_s: Floats, best_s: float
) -> float:
    types = np.flatnonzero(servers)
    blocks = np.zeros(len(workers), np.int64)
    splits = (problem.model_blocks + 1) ** (len(types) - 1)
    for number in range(splits):
        rest, given = number, 0
        for u in types[:-1]:
            blocks[u] = rest % (problem.model_blocks + 1)
            rest //= problem.model_blocks + 1
            given += blocks[u]
        if given > problem.model_blocks:
            continue
        blocks[types[-1]] = problem.model_blocks - given
        exchange_seconds(problem, workers, servers, blocks, exchange_s)
        # Most splits are no better than the best so far, which is quickly seen.
        if np.isfinite(best_s) and not _is_faster(problem, workers, exchange_s, best_s):
            continue
        best_s = min(best_s, earliest_s(problem, workers, exchange_s, best_s))
    return best_s


@njit(cache=True)
def _is_faster(problem: SearchProblem, workers: Ints, exchange_s: Floats, best_s: float) -> bool:
    finished = 0
    for t in range(len(workers)):
        if workers[t] > 0:
            mine = blocks_by(problem, exchange_s[t], problem.comp_s[t], best_s)
            finished += workers[t] * mine
    return finished >= problem.data_blocks
