"""Workers and servers of every job evenly over as few machines as can hold them.

Optimus (Peng et al., EuroSys 2018, section 4.2): fewer machines mean less traffic between them, and
equal shares mean that no link carries more than the others. Jobs from the smallest demand on, each
on the k machines with the most free GPUs, for the smallest k that will do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from motet.domain.arrays import Ints
from motet.domain.snapshot import Placement


class Gangs(NamedTuple):
    """Jobs to place, `(gangs,)`: how many workers and servers, and the GPUs that one takes."""

    workers: Ints
    servers: Ints
    worker_gpus: Ints
    server_gpus: Ints

    @property
    def gpus(self) -> Ints:
        """Of all workers and servers."""
        return self.workers * self.worker_gpus + self.servers * self.server_gpus


def place_evenly(free_gpus: Ints, gangs: Gangs) -> list[Placement]:
    """Where each of them runs. `free_gpus: (machines,)` is left as it is.

    A gang that cannot be spread evenly takes all that the emptiest machines have, in turn. Of
    machines with equally many free GPUs the first ones are taken, of gangs of one size, too.
    Raises ValueError if too few GPUs are free.
    """
    if int(gangs.gpus.sum()) > int(free_gpus.sum()):
        raise ValueError(f"{int(gangs.gpus.sum())} GPUs wanted, {int(free_gpus.sum())} free")
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
    """Machines by free GPUs: `first[f]` of those with f, then `then[machine]`; -1: no more.
    `sizes[f]`: how many there are."""

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
        machines[used : used + len(shares)] = taken
        counts[used : used + len(shares)] = shares
        used += len(shares)
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
    """GPUs on each of the emptiest machines, the largest share first; none where it cannot be."""
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
    """Whether the emptiest machine holds the largest share, the next one the next, and so on."""
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
    """All that the emptiest machines have, until it is enough."""
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
    """From each of the emptiest machines its share: which they are. They change shelves."""
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
