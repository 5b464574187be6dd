"""Alignment of a gang's demands with the free resources of machines. Compiled.

Tetris (Grandl et al., SIGCOMM 2014, section 3.2): the dot product of demands and free resources,
each as a fraction of the machine. Resource columns: GPUs, CPUs, memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from motet.domain.arrays import Floats, Ints

GPUS = 0
UNFIT = -np.inf
"""The alignment of a gang that fits on no machines."""
_SLACK = 1.0 + 1e-9
"""Exceeds the rounding error of a sum over all machines."""


class Space(NamedTuple):
    """Capacities and free resources of machines, `(machines, resources)`. 0: not counted.

    `counts`, `alignments`: `(machines,)`, scratch buffers of `best_spot`.
    """

    size: Ints
    free: Ints
    counts: Ints
    alignments: Floats

    @classmethod
    def of(cls, size: Ints, free: Ints) -> Space:
        """A space with its own scratch buffers."""
        return cls(size, free, np.zeros(len(size), np.int64), np.zeros(len(size)))


@njit(cache=True)
def best_spot(needed: Ints, space: Space, machines: Ints, counts: Ints) -> tuple[int, float, float]:
    """The best machines for a gang: those that hold most of it, then those with the best alignment.

    `needed`: `(resources,)`, of the whole gang. Writes the machines and their GPU counts to
    `machines` and `counts`. Returns the number of machines, the sum of its GPUs' alignments there,
    and an upper bound of that sum while machines only become fuller; 0 machines and UNFIT if the
    gang does not fit.
    """
    if count_gpus(needed, space) < needed[GPUS]:
        return 0, UNFIT, UNFIT
    best = 0.0
    for machine in range(len(space.size)):
        if space.counts[machine]:
            space.alignments[machine] = _alignment_of_a_gpu(needed, space, machine)
            best = max(best, space.alignments[machine])
    left, used, alignment = needed[GPUS], 0, 0.0
    while left:
        machine = _best_machine(space, left)
        machines[used], counts[used] = machine, min(space.counts[machine], left)
        alignment += counts[used] * space.alignments[machine]
        left -= counts[used]
        space.counts[machine] = 0
        used += 1
    return used, alignment, needed[GPUS] * best * _SLACK


@njit(cache=True)
def take(needed: Ints, space: Space, machines: Ints, counts: Ints) -> None:
    """Subtract a started gang; each machine provides its fraction, rounded up."""
    for place in range(len(machines)):
        machine = machines[place]
        space.free[machine, GPUS] -= counts[place]
        for resource in range(GPUS + 1, len(needed)):
            if space.size[machine, resource]:
                part = -(-counts[place] * needed[resource] // needed[GPUS])
                space.free[machine, resource] -= part


@njit(cache=True)
def count_gpus(needed: Ints, space: Space) -> int:
    """Total number of GPUs that machines can give to a gang; writes each machine's to `counts`."""
    total = 0
    for machine in range(len(space.size)):
        space.counts[machine] = _gpus_for(needed, space, machine)
        total += space.counts[machine]
    return total


@njit(cache=True)
def _gpus_for(needed: Ints, space: Space, machine: int) -> int:
    """Number of GPUs that one machine can give to a gang, see `Room.gpus_for`."""
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
        if count > most or (count == most and space.alignments[machine] > space.alignments[best]):
            best, most = machine, count
    return best
