"""Waiting gangs, grouped into lines of which only the first gang can start."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from motet.domain.arrays import Floats, Ints


class Waiting(NamedTuple):
    """Waiting gangs. Ties of scores go to the lower index.

    `needed`: `(kinds, resources)`, demand of each kind; kinds are distinct. `kind`, `queue`,
    `cost`: `(gangs,)`; gangs of one kind and one queue have ascending costs.
    """

    needed: Ints
    kind: Ints
    queue: Ints
    cost: Floats

    @classmethod
    def of(cls, needed: Ints, queue: Ints, cost: Floats) -> Waiting:
        """`needed`: `(gangs, resources)`. Kinds are in the order of their first gangs."""
        kinds, first, kind = np.unique(needed, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        return cls(kinds[order], np.argsort(order)[kind.reshape(-1)], queue, cost)


class Lines(NamedTuple):
    """Gangs of one kind and one queue: `gang[head:end]`. `head` advances with each start; `cost`:
    of the first gang, infinite for an empty line.
    """

    kind: Ints
    queue: Ints
    cost: Floats
    head: Ints
    end: Ints
    gang: Ints

    @classmethod
    def of(cls, waiting: Waiting) -> Lines:
        """Lines of which no gang has started."""
        line_of = waiting.kind * (1 + waiting.queue.max(initial=0)) + waiting.queue
        gang = np.argsort(line_of, kind="stable")
        _, head = np.unique(line_of[gang], return_index=True)
        heads = gang[head]
        end = np.append(head, len(gang))[1:]
        kind, queue, cost = waiting.kind[heads], waiting.queue[heads], waiting.cost[heads]
        return cls(kind, queue, cost, head, end, gang)


@njit(cache=True)
def start_next(line: int, lines: Lines, cost: Floats) -> None:
    """Remove the first gang of a line. `cost`: of every gang."""
    lines.head[line] += 1
    is_over = lines.head[line] == lines.end[line]
    lines.cost[line] = np.inf if is_over else cost[lines.gang[lines.head[line]]]
