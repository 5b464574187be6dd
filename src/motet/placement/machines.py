"""Choice of machines for one gang. Compiled; functions do not change the free GPUs."""

from __future__ import annotations

import numpy as np
from numba import njit

from motet.domain.arrays import Ints
from motet.domain.snapshot import Placement


def consolidated(free_gpus: Ints, gpus: int) -> Placement:
    """As few machines as possible: the emptiest ones, the last part on the tightest fit.

    Raises ValueError if too few GPUs are free.
    """
    return _placement(_consolidated(free_gpus, gpus), free_gpus, gpus)


def fragments(free_gpus: Ints, gpus: int) -> Placement:
    """Free GPUs of the fullest machines first. Raises ValueError if too few are free."""
    return _placement(_fragments(free_gpus, gpus), free_gpus, gpus)


def spread(free_gpus: Ints, gpus: int) -> Placement:
    """One GPU at a time on the machine with the most free ones.

    Raises ValueError if too few GPUs are free.
    """
    return _placement(_spread(free_gpus, gpus), free_gpus, gpus)


def in_order(machines: Ints, free_gpus: Ints, gpus: int) -> Placement:
    """All free GPUs of each machine in turn. Raises ValueError if too few are free."""
    return _placement(_in_order(machines, free_gpus, gpus), free_gpus, gpus)


def fewest_machines(sizes: Ints, gpus: int) -> int:
    """The smallest number of empty machines that hold the gang; `sizes`: GPUs of each machine."""
    return int(_fewest_machines(sizes, gpus))


@njit(cache=True)
def _fewest_machines(sizes: Ints, gpus: int) -> int:
    ascending = np.sort(sizes)
    for count in range(len(ascending)):
        gpus -= ascending[len(ascending) - 1 - count]
        if gpus <= 0:
            return count + 1
    return len(ascending) + 1


def _placement(found: tuple[Ints, int], free_gpus: Ints, gpus: int) -> Placement:
    taken, left = found
    if left:
        raise ValueError(f"{gpus} GPUs requested, {int(free_gpus.sum())} free")
    machines, counts = taken.tolist()
    return Placement(tuple(machines), tuple(counts))


@njit(cache=True)
def _in_order(machines: Ints, free_gpus: Ints, gpus: int) -> tuple[Ints, int]:
    taken = np.zeros(len(free_gpus), np.int64)
    for machine in machines:
        if gpus == 0:
            break
        taken[machine] = min(free_gpus[machine], gpus)
        gpus -= taken[machine]
    return _of_taken(taken, gpus)


@njit(cache=True)
def _fragments(free_gpus: Ints, gpus: int) -> tuple[Ints, int]:
    """Machines with equally many free GPUs in ascending order. A pass over all machines for each
    number of free GPUs, of which there are few, takes less time than a sort."""
    taken, least = np.zeros(len(free_gpus), np.int64), 0
    while gpus > 0:
        free, least = least, _least_above(free_gpus, least)
        if free == least:
            break
        for machine in range(len(free_gpus)):
            if free_gpus[machine] == least and gpus > 0:
                taken[machine] = min(least, gpus)
                gpus -= taken[machine]
    return _of_taken(taken, gpus)


@njit(cache=True)
def _least_above(free_gpus: Ints, bound: int) -> int:
    """The least number of free GPUs above `bound`; `bound` if no machine has more."""
    least = bound
    for free in free_gpus:
        if free > bound and (least == bound or free < least):
            least = free
    return least


@njit(cache=True)
def _spread(free_gpus: Ints, gpus: int) -> tuple[Ints, int]:
    taken = np.zeros(len(free_gpus), np.int64)
    for _ in range(min(gpus, free_gpus.sum())):
        taken[np.argmax(free_gpus - taken)] += 1
    return _of_taken(taken, gpus - taken.sum())


@njit(cache=True)
def _of_taken(taken: Ints, left: int) -> tuple[Ints, int]:
    """Machines and their counts, `(2, machines)`, in ascending order, and the number of GPUs that
    are missing."""
    found, size = np.empty((2, len(taken)), np.int64), 0
    for machine in range(len(taken)):
        if taken[machine] > 0:
            found[0, size], found[1, size] = machine, taken[machine]
            size += 1
    return found[:, :size], left


@njit(cache=True)
def _consolidated(free_gpus: Ints, gpus: int) -> tuple[Ints, int]:
    taken = np.zeros(len(free_gpus), np.int64)
    while gpus > 0:
        tightest, emptiest = -1, -1
        for machine in range(len(free_gpus)):
            free = free_gpus[machine] - taken[machine]
            if free >= gpus and (tightest < 0 or free < free_gpus[tightest]):
                tightest = machine
            is_empty = taken[machine] == 0 and free > 0
            if is_empty and (emptiest < 0 or free > free_gpus[emptiest]):
                emptiest = machine
        chosen = tightest if tightest >= 0 else emptiest
        if chosen < 0:
            break
        taken[chosen] = min(free_gpus[chosen], gpus)
        gpus -= taken[chosen]
    return _of_taken(taken, gpus)
