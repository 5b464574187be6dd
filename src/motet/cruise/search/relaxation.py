"""The best split of model and data for given roles, assuming arbitrary divisibility.

It guides the search as an approximate lower bound of the epoch in whole blocks and mini-batches.
For a given model split x (the share of each server type) the best data split has a closed form:
all workers finish at the same time T. The exchange time is piecewise linear in x, and on each piece
T is smallest at a corner, so a line search only tries the kinks. Descents along lines that follow
the ridges find the best corner.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from motet.cruise.search.problem import (
    Links,
    SearchProblem,
    link_seconds,
    server_counts,
    type_count,
)
from motet.domain.arrays import Floats, Ints

_DESCENTS = 2
_SWEEPS = 6
_TINY = 1e-12


class _Given(NamedTuple):
    """The fixed part of a descent: workers, servers and the links between them."""

    problem: SearchProblem
    workers: Ints
    servers: Ints
    links: Links


@njit(cache=True)
def relaxed_epoch(problem: SearchProblem, workers: Ints) -> tuple[float, Floats]:
    """T in seconds and the share of the model on each type's servers, `(T,)`."""
    servers = server_counts(problem, workers)
    shares = np.zeros(len(workers))
    if workers.sum() == 0 or servers.sum() == 0:
        return np.inf, shares
    given = _Given(problem, workers, servers, link_seconds(problem, workers, servers))
    anchors = np.zeros((len(workers) + 1, len(workers)))
    starts_s = np.full(len(anchors), np.inf)
    for anchor in range(len(anchors)):
        if _put_anchor(given, anchor, anchors[anchor]):
            starts_s[anchor] = _split_s(given, anchors[anchor])
    best_s = np.inf
    # With up to two server types one line contains every split.
    for _ in range(1 if type_count(servers) <= 2 else _DESCENTS):
        anchor = int(np.argmin(starts_s))
        if np.isfinite(starts_s[anchor]):
            starts_s[anchor] = np.inf
            time_s = _descend(given, anchors[anchor])
            if time_s < best_s:
                best_s, shares = time_s, anchors[anchor]
    return best_s, shares


@njit(cache=True)
def split_epoch_s(problem: SearchProblem, workers: Ints, exchange_s: Floats) -> float:
    """T of the best data split if workers of each type exchange in `exchange_s: (T,)`.

    Workers whose exchange alone exceeds T get no data. If B is each worker's batch, a worker with
    fewer than B instances still has one whole mini-batch.
    """
    if problem.batches == 0:
        return _own_batches_s(problem, workers, exchange_s)
    limit_s = np.inf
    while True:
        work, speed, is_dropping = problem.instances, 0.0, False
        for t in range(len(workers)):
            busy_s = problem.batches * exchange_s[t]
            if busy_s < limit_s:
                work += workers[t] * busy_s / problem.comp_s[t]
                speed += workers[t] / problem.comp_s[t]
        time_s = work / speed if speed > 0 else np.inf
        for t in range(len(workers)):
            busy_s = problem.batches * exchange_s[t]
            is_dropping |= workers[t] > 0 and time_s <= busy_s < limit_s
        if not is_dropping:
            return time_s
        limit_s = time_s


@njit(cache=True)
def _own_batches_s(problem: SearchProblem, workers: Ints, exchange_s: Floats) -> float:
    per_s, longest_batch_s = 0.0, 0.0
    for t in range(len(workers)):
        if workers[t] > 0:
            batch_s = problem.comp_s[t] * problem.batch_size + exchange_s[t]
            per_s += workers[t] * problem.batch_size / batch_s
            longest_batch_s = max(longest_batch_s, batch_s)
    time_s = problem.instances / per_s
    if time_s >= longest_batch_s:
        return time_s
    # The work finished by T is linear between the ends of each type's first exchange and batch.
    low_s, low, high_s, high = 0.0, 0.0, longest_batch_s, np.inf
    for t in range(len(workers)):
        if workers[t] == 0:
            continue
        for at_s in (exchange_s[t], exchange_s[t] + problem.comp_s[t] * problem.batch_size):
            if low_s < at_s <= high_s:
                finished = _finished_by(problem, workers, exchange_s, at_s)
                if finished < problem.instances:
                    low_s, low = at_s, finished
                else:
                    high_s, high = at_s, finished
    return low_s + (high_s - low_s) * (problem.instances - low) / (high - low)


@njit(cache=True)
def _finished_by(problem: SearchProblem, workers: Ints, exchange_s: Floats, time_s: float) -> float:
    finished = 0.0
    for t in range(len(workers)):
        if workers[t] > 0 and time_s > exchange_s[t]:
            first = (time_s - exchange_s[t]) / problem.comp_s[t]
            per_instance_s = problem.comp_s[t] + exchange_s[t] / problem.batch_size
            finished += workers[t] * min(first, time_s / per_instance_s)
    return finished


@njit(cache=True, inline="always")
def _put_anchor(given: _Given, anchor: int, split: Floats) -> bool:
    """Write the start of a descent into `split`: servers' links equally busy for one worker type,
    or for all. Returns whether it is a split."""
    total = 0.0
    for u in range(len(split)):
        split[u] = given.servers[u]
        if anchor < len(split):
            split[u] *= given.problem.bandwidth[anchor, u] * (given.workers[anchor] > 0)
        total += split[u]
    for u in range(len(split)):
        split[u] = split[u] / total if total > 0 else split[u]
    return total > 0


@njit(cache=True, inline="always")
def _descend(given: _Given, split: Floats) -> float:
    """Improve `split` in place until no line improves it; returns its T."""
    time_s = _split_s(given, split)
    for _ in range(_SWEEPS):
        before_s = time_s
        for u in range(len(split)):
            if given.servers[u] == 0:
                continue
            # Between two types, then between one type and all others in proportion.
            for v in range(u + 1, len(split)):
                if given.servers[v] > 0:
                    line = np.zeros(len(split))
                    line[u], line[v] = 1.0, -1.0
                    time_s = _line_search(given, split, line, time_s)
            line = -split
            line[u] += 1.0
            time_s = _line_search(given, split, line, time_s)
        if time_s >= before_s * (1 - 1e-7):
            break
    return time_s


@njit(cache=True)
def _line_search(given: _Given, split: Floats, line: Floats, best_s: float) -> float:
    """The best split on the line through `split`, written there; returns its T."""
    best_at = 0.0
    there = np.empty(len(split))
    for at in _places(given, split, line):
        _put_point(split, line, at, there)
        time_s = _split_s(given, there)
        if time_s < best_s * (1 - _TINY):
            best_s, best_at = time_s, at
    _put_point(split, line, best_at, split)
    return best_s


@njit(cache=True)
def _put_point(split: Floats, line: Floats, at: float, point: Floats) -> None:
    """Write the split at this position of a line into `point`."""
    for u in range(len(split)):
        point[u] = np.maximum(split[u] + at * line[u], 0.0)


@njit(cache=True, inline="always")
def _places(given: _Given, split: Floats, line: Floats) -> Floats:
    """Positions on the line where T can be smallest: its ends and the kinks of exchanges."""
    size = len(split)
    low, high = -np.inf, np.inf
    for u in range(size):
        if line[u] > _TINY:
            low = max(low, -split[u] / line[u])
        elif line[u] < -_TINY:
            high = min(high, split[u] / -line[u])
    places = np.empty(2 + size + size * size * (size + 1) // 2)
    if not (low < high and np.isfinite(low) and np.isfinite(high)):
        return places[:0]
    places[0], places[1] = low, high
    count = 2
    for u in range(size):
        # With at most one block on every server of a type, its links take as long as for one.
        if line[u] != 0:
            at = (given.servers[u] / given.problem.model_blocks - split[u]) / line[u]
            if low <= at <= high:
                places[count] = at
                count += 1
    heights, slopes = np.empty(size + 1), np.empty(size + 1)
    for t in range(size):
        if given.workers[t] > 0:
            count = _add_kinks(given, t, split, line, heights, slopes, places, count)
    return places[:count]


@njit(cache=True, inline="always")
def _add_kinks(
    given: _Given,
    t: int,
    split: Floats,
    line: Floats,
    heights: Floats,
    slopes: Floats,
    places: Floats,
    count: int,
) -> int:
    """Add the positions where another link of a worker of type t becomes the slowest. Returns the
    number of positions.
    """
    links = 1
    heights[0], slopes[0] = 0.0, 0.0
    for u in range(len(split)):
        heights[0] += given.links.own[t, u] * split[u]
        slopes[0] += given.links.own[t, u] * line[u]
        if given.servers[u] > 0:
            heights[links] = given.links.shared[t, u] * split[u]
            slopes[links] = given.links.shared[t, u] * line[u]
            links += 1
    for a in range(links):
        for b in range(a + 1, links):
            if slopes[a] == slopes[b]:
                continue
            at = (heights[b] - heights[a]) / (slopes[a] - slopes[b])
            top = (heights[a] + at * slopes[a]) * (1 + 1e-9)
            is_top = places[0] <= at <= places[1]
            for c in range(links):
                is_top &= heights[c] + at * slopes[c] <= top
            if is_top:
                places[count] = at
                count += 1
    return count


@njit(cache=True)
def _split_s(given: _Given, split: Floats) -> float:
    size = len(split)
    links = given.links
    exchange_s = np.zeros(size)
    for t in range(size):
        if given.workers[t] == 0:
            continue
        total_s = 0.0
        for u in range(size):
            if split[u] > _TINY:
                link_s = max(links.shared[t, u] * split[u], links.least[t, u])
                exchange_s[t] = max(exchange_s[t], link_s)
                total_s += links.own[t, u] * split[u]
        exchange_s[t] = max(exchange_s[t], total_s)
    return split_epoch_s(given.problem, given.workers, exchange_s)
