"""GPUs unit by unit to the job that gains most from the next one.

SLAQ (Zhang et al., SoCC 2017, section 4.3) and Optimus (Peng et al., EuroSys 2018, section 4.1):
greedy, with a heap. Where the worth of a job grows ever less with every unit, and all units are of
one size, no allocation is worth more.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np
from numba import njit

from motet.allocation.marginal_utility import Worth, speed_of, worth_at
from motet.allocation.max_min_share import Dealt, Demand, first_round
from motet.domain.arrays import Ints
from motet.domain.decision import Reasons


def allot(order: Ints, demand: Demand, number: Ints, worth: Worth, free_gpus: int) -> Dealt:
    """Give each job of `order` (rows, each once) the least that it runs with, if it fits; then one
    worker or one server at a time to the job that gains most by it per GPU.

    Nobody gets a unit that does not make it faster; a job without servers, whose workers begin to
    exchange with the second one, may get several at once that do. Of jobs that gain equally much
    the one with the fewest GPUs goes first, then the one of the lower `number`. A unit of no GPUs
    comes before all others.
    """
    gpus, workers, servers, code, free, position, left = first_round(order, demand, free_gpus)
    left = _hand_out(gpus, workers, servers, demand, number, worth, left)
    return Dealt(gpus, workers, servers, Reasons(code, free, position), left)


@njit(cache=True)
def _hand_out(
    gpus: Ints,
    workers: Ints,
    servers: Ints,
    demand: Demand,
    number: Ints,
    worth: Worth,
    free_gpus: int,
) -> int:
    """Whose next units do not fit gets none any more: what is free only becomes less."""
    line = [(0.0, 0, 0, 0, 0, 0) for _ in range(0)]  # So the compiler knows its type.
    for row in range(len(gpus)):
        if gpus[row] == 0:
            continue
        gain, more_workers, more_servers = _next_units(
            row, workers[row], servers[row], demand, worth, free_gpus
        )
        if gain >= 0.0:
            line.append((-gain, gpus[row], number[row], row, more_workers, more_servers))
    heapify(line)
    while line:
        _, _, job, row, more_workers, more_servers = heappop(line)
        needed = more_workers * demand.worker_gpus[row] + more_servers * demand.server_gpus[row]
        if needed <= free_gpus:
            workers[row] += more_workers
            servers[row] += more_servers
            gpus[row] += needed
            free_gpus -= needed
        gain, more_workers, more_servers = _next_units(
            row, workers[row], servers[row], demand, worth, free_gpus
        )
        if gain >= 0.0:
            heappush(line, (-gain, gpus[row], job, row, more_workers, more_servers))
    return free_gpus


@njit(cache=True)
def _next_units(
    row: int, workers: int, servers: int, demand: Demand, worth: Worth, free_gpus: int
) -> tuple[float, int, int]:
    """What a job gains per GPU by its best next unit, and how many workers and servers that is.

    Below 0: none that fits makes it faster.
    """
    now = speed_of(worth.speeds, row, workers, servers)
    worker, server = -1.0, -1.0
    if workers < demand.max_workers[row] and demand.worker_gpus[row] <= free_gpus:
        then = speed_of(worth.speeds, row, workers + 1, servers)
        worker = _gain(worth, row, now, then, demand.worker_gpus[row])
    if servers < demand.max_servers[row] and demand.server_gpus[row] <= free_gpus:
        then = speed_of(worth.speeds, row, workers, servers + 1)
        server = _gain(worth, row, now, then, demand.server_gpus[row])
    if servers == 0 and worker < 0.0 and server < 0.0:
        gain, more = _leap(row, workers, demand, worth, free_gpus)
        return gain, more, 0
    return max(worker, server), int(server <= worker), int(server > worker)


@njit(cache=True)
def _leap(
    row: int, workers: int, demand: Demand, worth: Worth, free_gpus: int
) -> tuple[float, int]:
    """Where one more worker of a job without servers is of no use: by how many it gains most per
    GPU."""
    now, gpus = speed_of(worth.speeds, row, workers, 0), demand.worker_gpus[row]
    most = demand.max_workers[row] - workers
    if gpus > 0:
        most = min(most, free_gpus // gpus)
    best, found = -1.0, 0
    for more in range(2, most + 1):
        then = speed_of(worth.speeds, row, workers + more, 0)
        gain = _gain(worth, row, now, then, more * gpus)
        if gain > best:
            best, found = gain, more
    return best, found


@njit(cache=True)
def _gain(worth: Worth, row: int, now: float, then: float, gpus: int) -> float:
    """Per GPU; -1 if it does not become faster, infinite if it costs nothing."""
    if not then > now:
        return -1.0
    gain = worth_at(worth, row, then) - worth_at(worth, row, now)
    return max(gain, 0.0) / gpus if gpus > 0 else np.inf
