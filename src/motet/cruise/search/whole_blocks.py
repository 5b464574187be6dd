"""The best split of model and data for given roles in whole blocks and whole mini-batches.

Bisection finds the exact best data split for a given model split: T is feasible if the workers can
finish all blocks by T, and the number of finished blocks is monotonic in T. Few model splits are
all tried; of many, those around the relaxed split.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from motet.cruise.search.problem import SearchProblem, server_counts
from motet.domain.arrays import Floats, Ints

FEW_SPLITS = 5_000
_SLACK = 1e-9


@njit(cache=True)
def whole_epoch(
    problem: SearchProblem, workers: Ints, shares: Floats, limit_s: float
) -> tuple[float, Ints]:
    """T in seconds, below `limit_s` (else infinite), and model blocks on each type's servers.

    `shares: (T,)`: the relaxed split.
    """
    servers = server_counts(problem, workers)
    types = np.flatnonzero(servers)
    nothing = np.zeros(len(workers), np.int64)
    if workers.sum() == 0 or len(types) == 0 or workers.sum() > problem.data_blocks:
        return np.inf, nothing
    if split_count(problem.model_blocks, len(types)) <= FEW_SPLITS:
        return _best_of_all(problem, workers, servers, types, limit_s)
    return _best_nearby(problem, workers, servers, types, shares, limit_s)


@njit(cache=True)
def rounded_epoch(problem: SearchProblem, workers: Ints, shares: Floats) -> float:
    """T in seconds with the relaxed split rounded to blocks: a quick estimate."""
    servers = server_counts(problem, workers)
    blocks = _rounded(problem.model_blocks, shares, np.flatnonzero(servers))
    exchange_s = np.zeros(len(workers))
    exchange_seconds(problem, workers, servers, blocks, exchange_s)
    return earliest_s(problem, workers, exchange_s, np.inf)


@njit(cache=True)
def blocks_by(problem: SearchProblem, exchange_s: float, comp_s: float, time_s: float) -> int:
    """Data blocks that a worker finishes by `time_s`."""
    time_s *= 1 + 1e-12
    block = problem.instances / problem.data_blocks
    if problem.batches > 0:
        left_s = time_s - problem.batches * exchange_s
        return int(max(left_s, 0.0) / (comp_s * block) + _SLACK)
    batch_s = comp_s * problem.batch_size + exchange_s
    full = np.floor(time_s / batch_s + _SLACK)
    rest = max((time_s - full * batch_s - exchange_s) / comp_s, 0.0)
    return int((full * problem.batch_size + rest) / block + _SLACK)


@njit(cache=True)
def exchange_seconds(
    problem: SearchProblem, workers: Ints, servers: Ints, model_blocks: Ints, exchange_s: Floats
) -> None:
    """Seconds of one exchange for workers of each type, written into `exchange_s: (T,)`."""
    block = problem.exchange_bytes / problem.model_blocks
    sharers = workers.sum() - (1 if problem.is_both else 0)
    for t in range(len(workers)):
        exchange_s[t] = 0.0
        if workers[t] == 0:
            continue
        total_s = 0.0
        for u in range(len(workers)):
            if model_blocks[u] == 0:
                continue
            block_s = block / problem.bandwidth[t, u]
            fullest = -(-model_blocks[u] // servers[u])
            is_own = problem.is_both and t == u
            remote = model_blocks[u] - (model_blocks[u] // servers[u] if is_own else 0)
            if not (is_own and servers[u] == 1):
                exchange_s[t] = max(exchange_s[t], fullest * sharers * block_s)
                total_s += remote * block_s
        exchange_s[t] = max(exchange_s[t], total_s)


@njit(cache=True)
def earliest_s(problem: SearchProblem, workers: Ints, exchange_s: Floats, limit_s: float) -> float:
    """The smallest T by which all data blocks are finished; infinite unless below `limit_s`."""
    if not is_enough(problem, workers, exchange_s, limit_s * (1 - _SLACK)):
        return np.inf
    low_s, high_s = 0.0, limit_s
    if not np.isfinite(high_s):
        high_s = _alone_s(problem, workers, exchange_s)
    while high_s - low_s > _SLACK * high_s:
        middle_s = (low_s + high_s) / 2
        if is_enough(problem, workers, exchange_s, middle_s):
            high_s = middle_s
        else:
            low_s = middle_s
    return high_s


@njit(cache=True, inline="always")
def _alone_s(problem: SearchProblem, workers: Ints, exchange_s: Floats) -> float:
    """A time by which the first worker alone finishes all blocks."""
    first = np.flatnonzero(workers)[0]
    batches = problem.batches
    if batches == 0:
        batches = np.ceil(problem.instances / problem.batch_size)
    alone_s = problem.comp_s[first] * problem.instances + (batches + 1) * exchange_s[first]
    return float(1.001 * alone_s)


@njit(cache=True)
def is_enough(problem: SearchProblem, workers: Ints, exchange_s: Floats, time_s: float) -> bool:
    """Whether the workers finish all data blocks by `time_s`."""
    if not np.isfinite(time_s):
        return True
    finished = 0
    for t in range(len(workers)):
        if workers[t] > 0:
            mine = blocks_by(problem, exchange_s[t], problem.comp_s[t], time_s)
            finished += workers[t] * mine
    return finished >= problem.data_blocks


@njit(cache=True)
def split_count(blocks: int, types: int) -> float:
    """The number of ways to divide this many blocks among this many types."""
    count = 1.0
    for part in range(1, types):
        count *= (blocks + part) / part
    return count


@njit(cache=True, inline="always")
def _best_of_all(
    problem: SearchProblem, workers: Ints, servers: Ints, types: Ints, limit_s: float
) -> tuple[float, Ints]:
    blocks = np.zeros(len(workers), np.int64)
    best, best_s = blocks.copy(), limit_s
    exchange_s = np.zeros(len(workers))
    blocks[types[-1]] = problem.model_blocks
    while True:
        exchange_seconds(problem, workers, servers, blocks, exchange_s)
        time_s = earliest_s(problem, workers, exchange_s, best_s)
        if time_s < best_s:
            best_s = time_s
            # A loop: for an array assigned to a slice, each process compiles an error message.
            for type_ in range(len(blocks)):
                best[type_] = blocks[type_]
        # The next division: one more for the last type before the final one that has room.
        place = len(types) - 2
        while place >= 0 and blocks[types[-1]] == 0:
            blocks[types[-1]] += blocks[types[place]]
            blocks[types[place]] = 0
            place -= 1
        if place < 0:
            break
        blocks[types[place]] += 1
        blocks[types[-1]] -= 1
    return (best_s if best.sum() > 0 else np.inf), best


@njit(cache=True, inline="always")
def _best_nearby(
    problem: SearchProblem,
    workers: Ints,
    servers: Ints,
    types: Ints,
    shares: Floats,
    limit_s: float,
) -> tuple[float, Ints]:
    blocks = _rounded(problem.model_blocks, shares, types)
    exchange_s = np.zeros(len(workers))
    exchange_seconds(problem, workers, servers, blocks, exchange_s)
    best_s = earliest_s(problem, workers, exchange_s, np.inf)
    is_better = True
    while is_better:
        is_better = False
        for u in types:
            for v in types:
                # One block, or as many as reduce the load of the fuller servers of either type.
                steps = (1, (blocks[u] - 1) % servers[u] + 1, -blocks[v] % servers[v])
                for step in steps:
                    if u == v or step == 0 or step > blocks[u]:
                        continue
                    blocks[u] -= step
                    blocks[v] += step
                    exchange_seconds(problem, workers, servers, blocks, exchange_s)
                    time_s = earliest_s(problem, workers, exchange_s, best_s)
                    if time_s < best_s:
                        best_s, is_better = time_s, True
                    else:
                        blocks[u] += step
                        blocks[v] -= step
    return (best_s if best_s < limit_s else np.inf), blocks


@njit(cache=True)
def _rounded(total: int, shares: Floats, types: Ints) -> Ints:
    """The shares in whole blocks that sum to `total`."""
    blocks = np.zeros(len(shares), np.int64)
    for u in types:
        blocks[u] = int(shares[u] * total)
    while blocks.sum() < total:
        lacking = types[0]
        for u in types:
            if shares[u] * total - blocks[u] > shares[lacking] * total - blocks[lacking]:
                lacking = u
        blocks[lacking] += 1
    return blocks
