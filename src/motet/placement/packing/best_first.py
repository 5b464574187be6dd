"""Gangs packed one after the other, the one that scores best first, compiled.

Tetris (Grandl et al., SIGCOMM 2014, sections 3.2 to 3.4). What a gang's alignment is at most bounds
it when machines have become fuller. So after a start only those gangs are looked at again that ran
best on the same machines and whose bound is above the best score that is known.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np
from numba import njit

from motet.domain.arrays import Bools, Floats, Ints
from motet.domain.wait import Wait
from motet.placement.packing.alignment import GPUS, UNFIT, Space, count_gpus, take
from motet.placement.packing.lines import Lines, Waiting, move_on
from motet.placement.packing.spots import Spots, forget_spots_on, look

_NOBODY = -1
_TOO_FEW_GPUS, _TOO_FEW_CPUS, _TOO_LITTLE_MEMORY = (
    int(Wait.TOO_FEW_GPUS),
    int(Wait.TOO_FEW_CPUS),
    int(Wait.TOO_LITTLE_MEMORY),
)


class Holdings(NamedTuple):
    """What queues hold, `(queues, resources)`, changed in place, and what there is, `(resources,)`.

    `fairness`: of the queues of which a gang fits only those with the least dominant shares count,
    all but this part, but at least one.
    """

    held: Ints
    capacity: Ints
    fairness: float


class Packed(NamedTuple):
    """`started`: gangs in the order in which they start. Gang `started[i]` gets `counts` GPUs of
    `machines`, both from `first[i]` to `first[i + 1]`. `code`: by kind, what then keeps others of
    it from running, a `Wait`.
    """

    started: Ints
    first: Ints
    machines: Ints
    counts: Ints
    code: Ints


class _Starts(NamedTuple):
    """The same with room for all that could start."""

    gang: Ints
    first: Ints
    machines: Ints
    counts: Ints

    @classmethod
    def at_most(cls, number: int) -> _Starts:
        """So many gangs on so many machines."""
        columns = np.zeros((4, number + 1), np.int64)
        return cls(*columns)


class _Search(NamedTuple):
    """What is known while gangs start."""

    waiting: Waiting
    lines: Lines
    spots: Spots
    space: Space
    holdings: Holdings


def pack(waiting: Waiting, space: Space, holdings: Holdings) -> Packed:
    """Let the gang with the highest alignment / mean alignment - cost start where it fits best, as
    long as any fits; the mean is of the kinds that fit at first, of queues that count.

    `space.free` and `holdings.held` become what is left and held then.
    """
    spots = Spots.unknown(waiting.needed, len(space.size))
    search = _Search(waiting, Lines.of(waiting), spots, space, holdings)
    starts = _Starts.at_most(int(space.free[:, GPUS].sum()))  # Each takes a GPU at least.
    number = _pack(search, starts)
    first = starts.first[: number + 1]
    machines, counts = starts.machines[: first[-1]], starts.counts[: first[-1]]
    return Packed(starts.gang[:number], first, machines, counts, _shortages(search))


@njit(cache=True)
def _pack(search: _Search, starts: _Starts) -> int:
    """How many start."""
    for kind in range(len(search.waiting.needed)):
        look(kind, search.waiting.needed, search.spots, search.space)
    counting = _queues_that_count(search)
    mean, number = _mean_alignment(search, counting), 0
    while True:
        line = _best_line(search, counting, mean)
        if line == _NOBODY:
            return number
        _start(line, search, starts, number)
        counting, number = _queues_that_count(search), number + 1


@njit(cache=True)
def _mean_alignment(search: _Search, counting: Bools) -> float:
    """Of the kinds that fit; a kind with many gangs counts once."""
    lines, alignment = search.lines, search.spots.alignment
    is_meant = np.zeros(len(alignment), np.bool_)
    for line in range(len(lines.kind)):
        is_meant[lines.kind[line]] |= counting[lines.queue[line]]
    total, count = 0.0, 0
    for kind in range(len(alignment)):
        if is_meant[kind] and alignment[kind] > UNFIT:
            total, count = total + alignment[kind], count + 1
    return total / count if count else 1.0


@njit(cache=True)
def _best_line(search: _Search, counting: Bools, mean: float) -> int:
    """Of which the first gang scores best; NOBODY if none fits.

    Those of known spots come first: the higher their best score, the fewer others need a look.
    """
    lines, spots, best, highest = search.lines, search.spots, _NOBODY, UNFIT
    for may_look in (False, True):
        for line in range(len(lines.kind)):
            kind = lines.kind[line]
            score = spots.alignment[kind] / mean - lines.cost[line]
            if score < highest or score == UNFIT or not counting[lines.queue[line]]:
                continue
            if may_look and not spots.is_known[kind]:
                look(kind, search.waiting.needed, spots, search.space)
                score = spots.alignment[kind] / mean - lines.cost[line]
            if spots.is_known[kind] and _is_ahead(line, score, best, highest, lines):
                best, highest = line, score
    return best


@njit(cache=True)
def _is_ahead(line: int, score: float, other: int, highest: float, lines: Lines) -> bool:
    """Of equals the gang with the lower index is."""
    if score != highest or other == _NOBODY:
        return score > highest
    return bool(lines.gang[lines.head[line]] < lines.gang[lines.head[other]])


@njit(cache=True)
def _start(line: int, search: _Search, starts: _Starts, number: int) -> None:
    """The first gang of a line begins to run where it fits best."""
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
    move_on(line, lines, search.waiting.cost)
    forget_spots_on(machines, spots, search.space)


# -- fairness --------------------------------------------------------------------------------------


@njit(cache=True)
def _queues_that_count(search: _Search) -> Bools:
    """`(queues,)`: those that hold least, of the queues of which a gang fits."""
    holdings = search.holdings
    queues = len(holdings.held)
    if queues == 1:
        return np.ones(1, np.bool_)
    fits, share = _queues_that_fit(search), _dominant_shares(holdings)
    most = max(ceil((1 - holdings.fairness) * np.count_nonzero(fits)), 1)
    counting = fits.copy()
    for queue in range(queues):
        ahead = 0
        for other in range(queues):
            ahead += fits[other] and (share[other], other) < (share[queue], queue)
        counting[queue] &= ahead < most
    return counting


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
    """Spots that are known come first: they need no look."""
    lines, spots = search.lines, search.spots
    fits = np.zeros(len(search.holdings.held), np.bool_)
    for may_look in (False, True):
        for line in range(len(lines.kind)):
            kind, queue = lines.kind[line], lines.queue[line]
            if fits[queue] or lines.head[line] == lines.end[line]:
                continue
            if may_look and not spots.is_known[kind]:
                look(kind, search.waiting.needed, spots, search.space)
            fits[queue] = spots.is_known[kind] and spots.alignment[kind] > UNFIT
    return fits


# -- what keeps the others waiting -----------------------------------------------------------------


@njit(cache=True)
def _shortages(search: _Search) -> Ints:
    """By kind; RUNS where another gang would fit, of which there is none."""
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
