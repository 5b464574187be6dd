"""Where a gang's demands point in the direction of what is free, compiled.

Tetris (Grandl et al., SIGCOMM 2014, section 3.2): the dot product of what is needed and what is
free, each in parts of the machine. Resources have the columns GPUs, CPUs, memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from motet.domain.arrays import Floats, Ints

GPUS = 0
UNFIT = -np.inf
"""The alignment of a gang that fits nowhere."""
_SLACK = 1.0 + 1e-9
"""More than rounding can add to a sum over all machines."""


class Space(NamedTuple):
    """What machines have and what of it is free, `(machines, resources)`. 0: it is not counted.

    `counts`, `worth`: `(machines,)`, a scratch pad of `best_spot`.
    """

    size: Ints
    free: Ints
    counts: Ints
    worth: Floats

    @classmethod
    def of(cls, size: Ints, free: Ints) -> Space:
        """With a scratch pad of its own."""
        return cls(size, free, np.zeros(len(size), np.int64), np.zeros(len(size)))


@njit(cache=True)
def best_spot(needed: Ints, space: Space, machines: Ints, counts: Ints) -> tuple[int, float, float]:
    """Where a gang would run: the machines that hold most of it, then those aligned best.

    `needed`: `(resources,)`, of the whole gang. The machines and how many of its GPUs each gives
    are written to `machines` and `counts`. Returns how many machines these are, the sum of its
    GPUs' alignments there, and what that sum can be at most from now on while machines only become
    fuller; 0 machines and UNFIT where it does not fit.
    """
    if count_gpus(needed, space) < needed[GPUS]:
        return 0, UNFIT, UNFIT
    best = 0.0
    for machine in range(len(space.size)):
        if space.counts[machine]:
            space.worth[machine] = _alignment_of_a_gpu(needed, space, machine)
            best = max(best, space.worth[machine])
    left, used, alignment = needed[GPUS], 0, 0.0
    while left:
        machine = _best_machine(space, left)
        machines[used], counts[used] = machine, min(space.counts[machine], left)
        alignment += counts[used] * space.worth[machine]
        left -= counts[used]
        space.counts[machine] = 0
        used += 1
    return used, alignment, needed[GPUS] * best * _SLACK


@njit(cache=True)
def take(needed: Ints, space: Space, machines: Ints, counts: Ints) -> None:
    """A gang begins to run there; every machine gives its part, rounded up."""
    for place in range(len(machines)):
        machine = machines[place]
        space.free[machine, GPUS] -= counts[place]
        for resource in range(GPUS + 1, len(needed)):
            if space.size[machine, resource]:
                part = -(-counts[place] * needed[resource] // needed[GPUS])
                space.free[machine, resource] -= part


@njit(cache=True)
def count_gpus(needed: Ints, space: Space) -> int:
    """How many of its GPUs every machine could give to a gang (into `counts`), and all of them."""
    total = 0
    for machine in range(len(space.size)):
        space.counts[machine] = _gpus_for(needed, space, machine)
        total += space.counts[machine]
    return total


@njit(cache=True)
def _gpus_for(needed: Ints, space: Space, machine: int) -> int:
    """How many of its GPUs one machine could give to a gang, see `Room.gpus_for`."""
    gpus: int = min(space.free[machine, GPUS], needed[GPUS])
    for resource in range(GPUS + 1, len(needed)):
        free = space.free[machine, resource]
        if gpus and free < needed[resource] and space.size[machine, resource]:
            gpus = min(gpus, free * needed[GPUS] // needed[resource])
    return gpus


@njit(cache=True)
def _alignment_of_a_gpu(needed: Ints, space: Space, machine: int) -> float:
    total = 0.0
    for resource in range(len(needed)):
        size = space.size[machine, resource]
        if needed[resource] and size:
            part = needed[resource] / needed[GPUS] / size
            total += part * (space.free[machine, resource] / size)
    return total


@njit(cache=True)
def _best_machine(space: Space, wanted: int) -> int:
    best, most = 0, 0
    for machine in range(len(space.counts)):
        count = min(space.counts[machine], wanted)
        if count > most or (count == most and space.worth[machine] > space.worth[best]):
            best, most = machine, count
    return best
