"""GPUs unit by unit to the job that gains most from the next one.

SLAQ (Zhang et al., SoCC 2017, section 4.3) and Optimus (Peng et al., EuroSys 2018, section 4.1):
greedy, with a heap. Where the worth of a job grows ever less with every unit, and all units are of
one size, no allocation is worth more.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np
from numba import njit
from numpy.typing import NDArray

from motet.allocation.deal import Dealt, Demand, first_round
from motet.allocation.worth import Worth, speed_of, worth_at
from motet.domain.decision import Reasons

Ints = NDArray[np.int64]


def allot(order: Ints, demand: Demand, number: Ints, worth: Worth, free_gpus: int) -> Dealt:
    """Give each job of `order` (rows, each once) the least that it runs with, if it fits; then one
    worker or one server at a time to the job that gains most by it per GPU.

    Nobody gets a unit that does not make it faster. Of jobs that gain equally much the one with
    the fewest GPUs goes first, then the one of the lower `number`. A unit of no GPUs comes before
    all others.
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
    line = [(0.0, 0, 0, 0, False) for _ in range(0)]  # So the compiler knows its type.
    for row in range(len(gpus)):
        if gpus[row] == 0:
            continue
        gain, adds_server = _next_unit(row, workers[row], servers[row], demand, worth, free_gpus)
        if gain >= 0.0:
            line.append((-gain, gpus[row], number[row], row, adds_server))
    heapify(line)
    while line:
        _, _, job, row, adds_server = heappop(line)
        needed = demand.server_gpus[row] if adds_server else demand.worker_gpus[row]
        if needed <= free_gpus:
            servers[row] += adds_server
            workers[row] += not adds_server
            gpus[row] += needed
            free_gpus -= needed
        gain, adds_server = _next_unit(row, workers[row], servers[row], demand, worth, free_gpus)
        if gain >= 0.0:
            heappush(line, (-gain, gpus[row], job, row, adds_server))
    return free_gpus


@njit(cache=True)
def _next_unit(
    row: int, workers: int, servers: int, demand: Demand, worth: Worth, free_gpus: int
) -> tuple[float, bool]:
    """What a job gains per GPU by its better next unit, and whether that is a server.

    Below 0: no unit that fits makes it faster.
    """
    now = speed_of(worth.speeds, row, workers, servers)
    worker, server = -1.0, -1.0
    if workers < demand.max_workers[row] and demand.worker_gpus[row] <= free_gpus:
        then = speed_of(worth.speeds, row, workers + 1, servers)
        worker = _gain(worth, row, now, then, demand.worker_gpus[row])
    if servers < demand.max_servers[row] and demand.server_gpus[row] <= free_gpus:
        then = speed_of(worth.speeds, row, workers, servers + 1)
        server = _gain(worth, row, now, then, demand.server_gpus[row])
    return max(worker, server), server > worker


@njit(cache=True)
def _gain(worth: Worth, row: int, now: float, then: float, gpus: int) -> float:
    """Per GPU; -1 if it does not become faster, infinite if it costs nothing."""
    if not then > now:
        return -1.0
    gain = worth_at(worth, row, then) - worth_at(worth, row, now)
    return max(gain, 0.0) / gpus if gpus > 0 else np.inf
