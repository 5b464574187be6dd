"""Greedy allocation of single units by marginal gain.

SLAQ (Zhang et al., SoCC 2017, section 4.3) and Optimus (Peng et al., EuroSys 2018, section 4.1) use
this algorithm with a heap. For concave utilities and units of equal size it is optimal.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np
from numba import njit

from motet.allocation.marginal_utility import Worth, speed_of, utility_at
from motet.allocation.max_min_share import Demand, RoleAllocation, first_round
from motet.domain.arrays import Ints, read_only
from motet.domain.decision import Reasons


def allot(
    order: Ints, demand: Demand, number: Ints, utility: Worth, free_gpus: int
) -> RoleAllocation:
    """Give each job of `order` (rows, each once) its minimum, if it fits; then give one worker or
    one server at a time to the job with the largest gain per GPU.

    A job gets no unit that does not make it faster; a job without servers, whose workers start to
    exchange with the second one, can get several units at once that do. Ties: the job with the
    fewest GPUs, then the lower `number`. Units of 0 GPUs precede all others.
    """
    demand = Demand(*map(read_only, demand))
    first = first_round(read_only(order), demand, free_gpus)
    gpus, workers, servers, code, free, position, left = first
    left = _hand_out(gpus, workers, servers, demand, read_only(number), utility, left)
    return RoleAllocation(gpus, workers, servers, Reasons(code, free, position), left)


@njit(cache=True)
def _hand_out(
    gpus: Ints,
    workers: Ints,
    servers: Ints,
    demand: Demand,
    number: Ints,
    utility: Worth,
    free_gpus: int,
) -> int:
    """Allocate units by gain; drops a job whose next unit does not fit, as free GPUs
    only decrease.
    """
    line = [(0.0, 0, 0, 0, 0, 0) for _ in range(0)]  # Defines the element type for the compiler.
    for row in range(len(gpus)):
        if gpus[row] == 0:
            continue
        gain, more_workers, more_servers = _next_units(
            row, workers[row], servers[row], demand, utility, free_gpus
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
            row, workers[row], servers[row], demand, utility, free_gpus
        )
        if gain >= 0.0:
            heappush(line, (-gain, gpus[row], job, row, more_workers, more_servers))
    return free_gpus


@njit(cache=True)
def _next_units(
    row: int, workers: int, servers: int, demand: Demand, utility: Worth, free_gpus: int
) -> tuple[float, int, int]:
    """Gain per GPU of a job's best next unit, and its numbers of workers and servers.

    Below 0: no unit that fits makes the job faster.
    """
    now = speed_of(utility.speeds, row, workers, servers)
    worker, server = -1.0, -1.0
    if workers < demand.max_workers[row] and demand.worker_gpus[row] <= free_gpus:
        then = speed_of(utility.speeds, row, workers + 1, servers)
        worker = _gain(utility, row, now, then, demand.worker_gpus[row])
    if servers < demand.max_servers[row] and demand.server_gpus[row] <= free_gpus:
        then = speed_of(utility.speeds, row, workers, servers + 1)
        server = _gain(utility, row, now, then, demand.server_gpus[row])
    if servers == 0 and worker < 0.0 and server < 0.0:
        gain, more = _best_jump(row, workers, demand, utility, free_gpus)
        return gain, more, 0
    return max(worker, server), int(server <= worker), int(server > worker)


@njit(cache=True)
def _best_jump(
    row: int, workers: int, demand: Demand, utility: Worth, free_gpus: int
) -> tuple[float, int]:
    """For a job without servers whose next worker brings no gain: the number of workers with the
    largest gain per GPU.
    """
    now, gpus = speed_of(utility.speeds, row, workers, 0), demand.worker_gpus[row]
    most = demand.max_workers[row] - workers
    if gpus > 0:
        most = min(most, free_gpus // gpus)
    best, found = -1.0, 0
    for more in range(2, most + 1):
        then = speed_of(utility.speeds, row, workers + more, 0)
        gain = _gain(utility, row, now, then, more * gpus)
        if gain > best:
            best, found = gain, more
    return best, found


@njit(cache=True)
def _gain(utility: Worth, row: int, now: float, then: float, gpus: int) -> float:
    """Gain per GPU; -1 if the job does not become faster, infinite if the unit needs no GPU."""
    if not then > now:
        return -1.0
    gain = utility_at(utility, row, then) - utility_at(utility, row, now)
    return max(gain, 0.0) / gpus if gpus > 0 else np.inf
