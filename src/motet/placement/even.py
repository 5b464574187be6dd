"""Even placement of each job's workers and servers over as few machines as possible.

Optimus (Peng et al., EuroSys 2018, section 4.2): fewer machines cause less traffic between
machines, and equal shares load all links equally. Jobs are placed in ascending order of their
demand, each on the k machines with the most free GPUs, for the smallest feasible k.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from motet.domain.arrays import Ints
from motet.domain.snapshot import Placement


class Gangs(NamedTuple):
    """Jobs to place, `(gangs,)`: numbers of workers and servers, and the GPUs of each."""

    workers: Ints
    servers: Ints
    worker_gpus: Ints
    server_gpus: Ints

    @property
    def gpus(self) -> Ints:
        """GPUs of all workers and servers."""
        return self.workers * self.worker_gpus + self.servers * self.server_gpus


def place_evenly(free_gpus: Ints, gangs: Gangs) -> list[Placement]:
    """The placement of each gang. Does not change `free_gpus: (machines,)`.

    A gang that cannot be spread evenly takes all free GPUs of the emptiest machines, one after the
    other. Ties between machines and between gangs go to the lower index. Raises ValueError if too
    few GPUs are free.
    """
    if int(gangs.gpus.sum()) > int(free_gpus.sum()):
        raise ValueError(f"{int(gangs.gpus.sum())} GPUs requested, {int(free_gpus.sum())} free")
    order = np.argsort(gangs.gpus, kind="stable")
    machines, counts, ends = _place_all(free_gpus, gangs, order)
    starts = np.concatenate([[0], ends])[:-1].astype(np.int64)
    found = [Placement((), ())] * len(order)
    for gang, start, end in zip(order.tolist(), starts.tolist(), ends.tolist(), strict=True):
        by_machine = np.argsort(machines[start:end])
        where = machines[start:end][by_machine].tolist()
        found[gang] = Placement(tuple(where), tuple(counts[start:end][by_machine].tolist()))
    return found


class _Shelves(NamedTuple):
    """Machines grouped by free GPUs: `first[f]` is the first machine with f, `then[machine]` the
    next one; -1: none. `sizes[f]`: number of machines with f free GPUs.
    """

    first: Ints
    then: Ints
    sizes: Ints


@njit(cache=True)
def _place_all(free_gpus: Ints, gangs: Gangs, order: Ints) -> tuple[Ints, Ints, Ints]:
    shelves = _shelved(free_gpus)
    wanted = gangs.workers * gangs.worker_gpus + gangs.servers * gangs.server_gpus
    machines, counts = np.empty(wanted.sum(), np.int64), np.empty(wanted.sum(), np.int64)
    ends = np.empty(len(order), np.int64)
    used = 0
    for place in range(len(order)):
        gang = order[place]
        shares = _even_shares(shelves, gangs, gang)
        if len(shares) == 0:
            shares = _whole_machines(shelves, wanted[gang])
        taken = _take(shelves, shares)
        for share in range(len(shares)):  # As slices, they take two seconds more to compile.
            machines[used] = taken[share]
            counts[used] = shares[share]
            used += 1
        ends[place] = used
    return machines[:used], counts[:used], ends


@njit(cache=True)
def _shelved(free_gpus: Ints) -> _Shelves:
    most = free_gpus.max() if len(free_gpus) else 0
    first = np.full(most + 1, -1, np.int64)
    then = np.full(len(free_gpus), -1, np.int64)
    count = np.zeros(most + 1, np.int64)
    for machine in range(len(free_gpus) - 1, -1, -1):
        free = free_gpus[machine]
        then[machine], first[free] = first[free], machine
        count[free] += 1
    return _Shelves(first, then, count)


@njit(cache=True)
def _even_shares(shelves: _Shelves, gangs: Gangs, gang: int) -> Ints:
    """GPUs on each of the emptiest machines, largest share first; empty if no even split fits."""
    workers, servers = gangs.workers[gang], gangs.servers[gang]
    if gangs.server_gpus[gang] == 0:
        servers = 0
    for machines in range(1, workers + servers + 1):
        shares = np.empty(machines, np.int64)
        for machine in range(machines):
            own_workers = workers // machines + (machine < workers % machines)
            after = (machine - workers) % machines
            own_servers = servers // machines + (after < servers % machines)
            shares[machine] = own_workers * gangs.worker_gpus[gang]
            shares[machine] += own_servers * gangs.server_gpus[gang]
        shares = np.sort(shares)[::-1].copy()
        if _fit(shelves, shares):
            return shares
    return np.empty(0, np.int64)


@njit(cache=True)
def _fit(shelves: _Shelves, shares: Ints) -> bool:
    """Whether the i-th emptiest machine holds the i-th largest share, for all shares."""
    free, left = len(shelves.sizes) - 1, shelves.sizes[-1]
    for share in shares:
        while left == 0 and free > 0:
            free -= 1
            left = shelves.sizes[free]
        if share > free or left == 0:
            return False
        left -= 1
    return True


@njit(cache=True)
def _whole_machines(shelves: _Shelves, gpus: int) -> Ints:
    """All free GPUs of the emptiest machines, up to `gpus` in total."""
    shares = np.empty(gpus, np.int64)
    used, free, left = 0, len(shelves.sizes) - 1, shelves.sizes[-1]
    while gpus > 0:
        while left == 0:
            free -= 1
            left = shelves.sizes[free]
        shares[used] = min(free, gpus)
        gpus -= shares[used]
        left -= 1
        used += 1
    return shares[:used].copy()


@njit(cache=True)
def _take(shelves: _Shelves, shares: Ints) -> Ints:
    """Take each share from the next emptiest machine and regroup the machines. Returns the
    machines.
    """
    taken = np.empty(len(shares), np.int64)
    had = np.empty(len(shares), np.int64)
    free = len(shelves.sizes) - 1
    for place in range(len(shares)):
        while shelves.first[free] < 0:
            free -= 1
        machine = shelves.first[free]
        shelves.first[free] = shelves.then[machine]
        shelves.sizes[free] -= 1
        taken[place], had[place] = machine, free
    for place in range(len(shares) - 1, -1, -1):
        machine, left = taken[place], had[place] - shares[place]
        shelves.then[machine] = shelves.first[left]
        shelves.first[left] = machine
        shelves.sizes[left] += 1
    return taken
