"""Sequential packing of gangs in order of their scores. Compiled.

Tetris (Grandl et al., SIGCOMM 2014, sections 3.2 to 3.4). A gang's maximum alignment remains an
upper bound while machines become fuller. After a start the search therefore re-evaluates only gangs
whose best spot used the same machines and whose bound exceeds the best known score.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np
from numba import njit

from motet.domain.arrays import Bools, Floats, Ints
from motet.domain.wait import Wait
from motet.placement.packing.alignment import GPUS, UNFIT, Space, count_gpus, take
from motet.placement.packing.lines import Lines, Waiting, start_next
from motet.placement.packing.spots import Spots, evaluate_spot, invalidate_spots_on

_NO_LINE = -1
_TOO_FEW_GPUS, _TOO_FEW_CPUS, _TOO_LITTLE_MEMORY = (
    int(Wait.TOO_FEW_GPUS),
    int(Wait.TOO_FEW_CPUS),
    int(Wait.TOO_LITTLE_MEMORY),
)


class Holdings(NamedTuple):
    """Usage of queues, `(queues, resources)`, changed in place, and the capacity, `(resources,)`.

    `fairness`: fraction of the queues with a fitting gang that is excluded, those with the largest
    dominant shares first; at least one queue remains.
    """

    held: Ints
    capacity: Ints
    fairness: float


class Packed(NamedTuple):
    """`started`: gangs in order of their start. Gang `started[i]` gets `counts` GPUs of `machines`,
    both from `first[i]` to `first[i + 1]`. `code`: by kind, why its other gangs cannot run, a
    `Wait`.
    """

    started: Ints
    first: Ints
    machines: Ints
    counts: Ints
    code: Ints


class _Starts(NamedTuple):
    """As `Packed`, with room for the maximum number of starts."""

    gang: Ints
    first: Ints
    machines: Ints
    counts: Ints

    @classmethod
    def at_most(cls, number: int) -> _Starts:
        """Room for this number of gangs and machines."""
        columns = np.zeros((4, number + 1), np.int64)
        return cls(*columns)


class _Search(NamedTuple):
    """State of the search."""

    waiting: Waiting
    lines: Lines
    spots: Spots
    space: Space
    holdings: Holdings


def pack(waiting: Waiting, space: Space, holdings: Holdings) -> Packed:
    """Start the gang with the highest alignment / mean alignment - cost, repeatedly, while any
    fits; the mean is over the kinds of eligible queues that fit at the beginning.

    Updates `space.free` and `holdings.held`.
    """
    spots = Spots.unknown(waiting.needed, len(space.size))
    search = _Search(waiting, Lines.of(waiting), spots, space, holdings)
    starts = _Starts.at_most(int(space.free[:, GPUS].sum()))  # Each start takes at least one GPU.
    number = _pack(search, starts)
    first = starts.first[: number + 1]
    machines, counts = starts.machines[: first[-1]], starts.counts[: first[-1]]
    return Packed(starts.gang[:number], first, machines, counts, _shortages(search))


@njit(cache=True)
def _pack(search: _Search, starts: _Starts) -> int:
    """Start gangs. Returns the number of starts."""
    for kind in range(len(search.waiting.needed)):
        evaluate_spot(kind, search.waiting.needed, search.spots, search.space)
    eligible = _eligible_queues(search)
    mean = _mean_alignment(search, eligible)
    number = int(np.int64(0))  # Of a literal, Numba compiles `_start` once more.
    while True:
        line = _best_line(search, eligible, mean)
        if line == _NO_LINE:
            return number
        _start(line, search, starts, number)
        eligible, number = _eligible_queues(search), number + 1


@njit(cache=True)
def _mean_alignment(search: _Search, eligible: Bools) -> float:
    """Mean over the kinds that fit; a kind with many gangs counts once."""
    lines, alignment = search.lines, search.spots.alignment
    is_meant = np.zeros(len(alignment), np.bool_)
    for line in range(len(lines.kind)):
        is_meant[lines.kind[line]] |= eligible[lines.queue[line]]
    total, count = 0.0, 0
    for kind in range(len(alignment)):
        if is_meant[kind] and alignment[kind] > UNFIT:
            total, count = total + alignment[kind], count + 1
    return total / count if count else 1.0


@njit(cache=True)
def _best_line(search: _Search, eligible: Bools, mean: float) -> int:
    """The line whose first gang has the best score; _NO_LINE if none fits.

    Lines with known spots come first: the higher their best score, the fewer others are evaluated.
    """
    lines, spots, best, highest = search.lines, search.spots, _NO_LINE, UNFIT
    for may_evaluate in (False, True):
        for line in range(len(lines.kind)):
            kind = lines.kind[line]
            score = spots.alignment[kind] / mean - lines.cost[line]
            if score < highest or score == UNFIT or not eligible[lines.queue[line]]:
                continue
            if may_evaluate and not spots.is_known[kind]:
                evaluate_spot(kind, search.waiting.needed, spots, search.space)
                score = spots.alignment[kind] / mean - lines.cost[line]
            if spots.is_known[kind] and _is_ahead(line, score, best, highest, lines):
                best, highest = line, score
    return best


@njit(cache=True)
def _is_ahead(line: int, score: float, other: int, highest: float, lines: Lines) -> bool:
    """Whether the score is higher; ties go to the gang with the lower index."""
    if score != highest or other == _NO_LINE:
        return score > highest
    return bool(lines.gang[lines.head[line]] < lines.gang[lines.head[other]])


@njit(cache=True)
def _start(line: int, search: _Search, starts: _Starts, number: int) -> None:
    """Start the first gang of a line on its best spot."""
    lines, spots, held = search.lines, search.spots, search.holdings.held
    kind, needed = lines.kind[line], search.waiting.needed[lines.kind[line]]
    begin, first, used = starts.first[number], spots.first[kind], spots.used[kind]
    starts.gang[number], starts.first[number + 1] = lines.gang[lines.head[line]], begin + used
    machines, counts = spots.machines[first : first + used], spots.counts[first : first + used]
    for place in range(used):
        starts.machines[begin + place] = machines[place]
        starts.counts[begin + place] = counts[place]
    take(needed, search.space, machines, counts)
    for resource in range(len(needed)):
        held[lines.queue[line], resource] += needed[resource]
    start_next(line, lines, search.waiting.cost)
    invalidate_spots_on(machines, spots, search.space)


# -- fairness --------------------------------------------------------------------------------------


@njit(cache=True)
def _eligible_queues(search: _Search) -> Bools:
    """`(queues,)`: of the queues with a fitting gang, those with the least dominant shares."""
    holdings = search.holdings
    queues = len(holdings.held)
    if queues == 1:
        return np.ones(1, np.bool_)
    fits, share = _queues_that_fit(search), _dominant_shares(holdings)
    most = max(ceil((1 - holdings.fairness) * np.count_nonzero(fits)), 1)
    eligible = fits.copy()
    for queue in range(queues):
        ahead = 0
        for other in range(queues):
            ahead += fits[other] and (share[other], other) < (share[queue], queue)
        eligible[queue] &= ahead < most
    return eligible


@njit(cache=True)
def _dominant_shares(holdings: Holdings) -> Floats:
    queues, resources = holdings.held.shape
    share = np.zeros(queues)
    for queue in range(queues):
        for resource in range(resources):
            if holdings.capacity[resource]:
                part = holdings.held[queue, resource] / holdings.capacity[resource]
                share[queue] = max(share[queue], part)
    return share


@njit(cache=True)
def _queues_that_fit(search: _Search) -> Bools:
    """Queues with a fitting gang; checks known spots first, since they need no evaluation."""
    lines, spots = search.lines, search.spots
    fits = np.zeros(len(search.holdings.held), np.bool_)
    for may_evaluate in (False, True):
        for line in range(len(lines.kind)):
            kind, queue = lines.kind[line], lines.queue[line]
            if fits[queue] or lines.head[line] == lines.end[line]:
                continue
            if may_evaluate and not spots.is_known[kind]:
                evaluate_spot(kind, search.waiting.needed, spots, search.space)
            fits[queue] = spots.is_known[kind] and spots.alignment[kind] > UNFIT
    return fits


# -- reasons of waiting gangs ------------------------------------------------------------------


@njit(cache=True)
def _shortages(search: _Search) -> Ints:
    """The short resource by kind."""
    needed, space = search.waiting.needed, search.space
    code, free_gpus = np.zeros(len(needed), np.int64), space.free[:, GPUS].sum()
    for kind in range(len(needed)):
        gpus, without_memory = needed[kind, GPUS], needed[kind].copy()
        without_memory[-1] = 0
        if gpus > free_gpus:
            code[kind] = _TOO_FEW_GPUS
        elif gpus > count_gpus(without_memory, space):
            code[kind] = _TOO_FEW_CPUS
        elif gpus > count_gpus(needed[kind], space):
            code[kind] = _TOO_LITTLE_MEMORY
    return code
