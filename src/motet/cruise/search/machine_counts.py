"""The number of workers of each type; a choice of all these numbers is called a way.

Few ways are all evaluated, in order of their relaxed epochs, until these certainly exceed the best
epoch found. Of many ways those with a low enough bound are all evaluated, if the effort suffices
(`bounded_ways`). Otherwise they are searched by descents with decreasing steps from the best points
of a coarse grid, first on relaxed epochs and then on epochs in whole blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from motet.cruise.search.bounded_ways import MOST_EFFORT, BestWay, best_by_bounds, is_boundable
from motet.cruise.search.problem import SearchProblem
from motet.cruise.search.relaxation import relaxed_epoch
from motet.cruise.search.whole_blocks import rounded_epoch, whole_epoch
from motet.domain.arrays import Floats, Ints

_GRID_POINTS = 600
_STARTS = 4
_CERTAIN = 1.05
"""A way is dropped if its relaxed epoch exceeds the best by this factor, since a split may miss
its corner.
"""
_LARGEST_WHOLE_STEP = 8
_MOST_WHOLE = 400


@dataclass(frozen=True)
class SearchEffort:
    """How much a search may evaluate before it is content with descents.

    `ways`: so many at most are all evaluated, with the relaxed epoch of each. `bounds`: for more
    ways, so many bounds and model splits at most.
    """

    ways: int = 4_096
    bounds: int = MOST_EFFORT


USUAL = SearchEffort()
DESCENTS = SearchEffort(0, 0)


class Found(NamedTuple):
    """`workers`, `model_blocks`: per type. `tried: (n, T)` ways with their relaxed epochs."""

    workers: Ints
    model_blocks: Ints
    epoch_s: float
    tried: Ints
    relaxed_s: Floats


def search(problem: SearchProblem, effort: SearchEffort = USUAL) -> Found:
    """The best way found: the optimum if the effort suffices."""
    ways = float(np.prod(problem.counts + 1.0))
    if ways <= effort.ways:
        tried = _all_ways(problem.counts)
        tried = tried[tried.sum(axis=1) <= problem.data_blocks]
        relaxed_s = relaxed_epochs(problem, tried)
        best = best_in_order(problem, tried, relaxed_s, len(tried))
        return Found(*best, tried, relaxed_s)
    grid = _grid(problem)
    relaxed_s = relaxed_epochs(problem, grid)
    best = best_in_order(problem, grid, relaxed_s, _STARTS)
    if is_boundable(problem, effort.bounds):
        found = best_by_bounds(problem, BestWay(*best, is_optimal=False), effort.bounds)
        best = found.workers, found.model_blocks, found.epoch_s
        if found.is_optimal:
            return Found(*best, grid, relaxed_s)
    return _search_by_descents(problem, grid, relaxed_s, best)


def _search_by_descents(
    problem: SearchProblem, grid: Ints, relaxed_s: Floats, known: tuple[Ints, Ints, float]
) -> Found:
    tried, relaxed_s = _descended(problem, grid, relaxed_s)
    best = best_in_order(problem, tried, relaxed_s, _STARTS)
    starts = tried[np.argsort(relaxed_s, kind="stable")[:_STARTS]]
    starts = np.vstack([starts, _whole_starts(problem, grid)])
    best = _whole_descent(problem, starts, *min(best, known, key=lambda way: way[2]))
    return Found(*best, tried, relaxed_s)


@njit(cache=True)
def relaxed_epochs(problem: SearchProblem, tried: Ints) -> Floats:
    """The relaxed epoch of every way, seconds, `(n,)`."""
    epochs_s = np.empty(len(tried))
    for row in range(len(tried)):
        epochs_s[row], _ = relaxed_epoch(problem, tried[row])
    return epochs_s


@njit(cache=True)
def best_in_order(
    problem: SearchProblem, tried: Ints, relaxed_s: Floats, most: int
) -> tuple[Ints, Ints, float]:
    """The best of the `most` ways with the least relaxed epochs, as workers, model blocks, T."""
    best_s, best_row = np.inf, 0
    best_blocks = np.zeros(tried.shape[1], np.int64)
    for row in np.argsort(relaxed_s)[:most]:
        if relaxed_s[row] >= best_s * _CERTAIN:
            break
        _, shares = relaxed_epoch(problem, tried[row])
        time_s, blocks = whole_epoch(problem, tried[row], shares, best_s)
        if time_s < best_s:
            best_s, best_row, best_blocks = time_s, row, blocks
    return tried[best_row].copy(), best_blocks, best_s


def best_with(problem: SearchProblem, near: Ints, total: int) -> tuple[Ints, float]:
    """The best way with this number of workers, and its epoch; the search starts at `near`."""
    start = near.copy()
    while start.sum() != total:
        # Changes in proportion to the room of each type preserve the mix of types.
        room = problem.counts - start if start.sum() < total else -start
        missing = total - int(start.sum())
        change = np.trunc(room * (missing / room.sum())).astype(np.int64)
        if not change.any():
            change[np.argmax(np.abs(room))] = np.sign(missing)
        start = start + change
    tried, relaxed_s = relaxed_descent(problem, start, True)
    workers, _, epoch_s = best_in_order(problem, tried, relaxed_s, _STARTS)
    return workers, float(epoch_s)


def _all_ways(counts: Ints) -> Ints:
    grids = np.meshgrid(*(np.arange(count + 1) for count in counts), indexing="ij")
    return np.stack([grid.ravel() for grid in grids], axis=1).astype(np.int64)


def _grid(problem: SearchProblem) -> Ints:
    """About `_GRID_POINTS` points, evenly over every type, ends included."""
    levels = max(3, int(_GRID_POINTS ** (1 / len(problem.counts))))
    axes = [np.unique(np.linspace(0, count, levels).round()) for count in problem.counts]
    grids = np.meshgrid(*axes, indexing="ij")
    points = np.stack([grid.ravel() for grid in grids], axis=1)
    # More workers than blocks are scaled down in proportion.
    excess = np.maximum(points.sum(axis=1) / problem.data_blocks, 1.0)
    return np.unique(np.floor(points / excess[:, None]).astype(np.int64), axis=0)


def _whole_starts(problem: SearchProblem, grid: Ints) -> Ints:
    """The best grid points in whole blocks; relaxed epochs are misleading for coarse blocks."""
    epochs_s = _whole_epochs(problem, grid)
    return grid[np.argsort(epochs_s, kind="stable")[:_STARTS]]


@njit(cache=True)
def _whole_epochs(problem: SearchProblem, ways: Ints) -> Floats:
    epochs_s = np.full(len(ways), np.inf)
    for row in range(len(ways)):
        bound_s, shares = relaxed_epoch(problem, ways[row])
        if np.isfinite(bound_s):
            epochs_s[row] = rounded_epoch(problem, ways[row], shares)
    return epochs_s


def _descended(problem: SearchProblem, points: Ints, relaxed_s: Floats) -> tuple[Ints, Floats]:
    """The points and all ways on the descents from the best of them, with relaxed epochs."""
    starts = points[np.argsort(relaxed_s, kind="stable")[:_STARTS]]
    met = [relaxed_descent(problem, start, False) for start in starts]
    tried = np.vstack([points, *(ways for ways, _ in met)])
    epochs_s = np.concatenate([relaxed_s, *(times for _, times in met)])
    tried, first = np.unique(tried, axis=0, return_index=True)
    return tried, epochs_s[first]


@njit(cache=True)
def relaxed_descent(
    problem: SearchProblem, start: Ints, is_total_fixed: bool
) -> tuple[Ints, Floats]:
    """All ways that a descent from `start` evaluates, and their relaxed epochs.

    `is_total_fixed`: only ways with the same number of workers.
    """
    size = len(start)
    tried = [start.copy()]
    here = start.copy()
    here_s, _ = relaxed_epoch(problem, here)
    epochs_s = [here_s]
    step = max(problem.counts.max() // 8, 1)
    while step >= 1:
        best, best_s = here, here_s
        for move in range(_move_count(size)):
            there = here + step * _move(move, size)
            if is_total_fixed and there.sum() != here.sum():
                continue
            if not _is_possible(problem, there):
                continue
            there_s, _ = relaxed_epoch(problem, there)
            tried.append(there)
            epochs_s.append(there_s)
            if there_s < best_s * (1 - 1e-9):
                best, best_s = there, there_s
        if best_s < here_s:
            here, here_s = best, best_s
        else:
            step = step // 2
    ways = np.empty((len(tried), size), np.int64)
    for row in range(len(tried)):
        # A loop: for an array assigned to a slice, each process compiles an error message.
        for type_ in range(size):
            ways[row, type_] = tried[row][type_]
    return ways, np.array(epochs_s)


@njit(cache=True)
def _whole_descent(
    problem: SearchProblem, starts: Ints, workers: Ints, blocks: Ints, epoch_s: float
) -> tuple[Ints, Ints, float]:
    """Improve on the best way, in whole blocks, from several starts."""
    size = len(workers)
    for start in starts:
        here = start.copy()
        here_s = np.inf
        step = min(_LARGEST_WHOLE_STEP, max(problem.counts.max() // 8, 1))
        left = _MOST_WHOLE
        while step >= 1 and left > 0:
            is_better = False
            for move in range(_move_count(size)):
                there = here + step * _move(move, size)
                if not _is_possible(problem, there):
                    continue
                left -= 1
                bound_s, shares = relaxed_epoch(problem, there)
                if bound_s >= here_s * _CERTAIN:
                    continue
                there_s, there_blocks = whole_epoch(problem, there, shares, here_s)
                if there_s < here_s:
                    here, here_s, is_better = there, there_s, True
                    if here_s < epoch_s:
                        workers, blocks, epoch_s = here.copy(), there_blocks, here_s
            if not is_better:
                step //= 2
    return workers, blocks, epoch_s


@njit(cache=True)
def _move_count(size: int) -> int:
    return 2 * size + 2 * size * (size - 1)


@njit(cache=True)
def _move(number: int, size: int) -> Ints:
    """Changes of one type, then of two types, in opposite directions or in the same one."""
    change = np.zeros(size, np.int64)
    if number < 2 * size:
        change[number // 2] = 1 if number % 2 == 0 else -1
        return change
    number -= 2 * size
    first, rest = number // (2 * (size - 1)), number % (2 * (size - 1))
    second, sign = rest // 2, rest % 2
    if second >= first:
        second += 1
    if sign == 0:
        change[first], change[second] = 1, -1
    else:
        change[first] = change[second] = 1 if first < second else -1
    return change


@njit(cache=True)
def _is_possible(problem: SearchProblem, workers: Ints) -> bool:
    for t in range(len(workers)):
        if not 0 <= workers[t] <= problem.counts[t]:
            return False
    working = int(workers.sum())
    return 0 < working <= problem.data_blocks
