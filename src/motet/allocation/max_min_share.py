"""Max-min fair division of GPUs: the minimum for every job, then unit by unit."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
from numba import njit

from motet.allocation.compiled import uncounted
from motet.domain.arrays import Ints, read_only
from motet.domain.decision import Reasons
from motet.domain.snapshot import JobTable
from motet.domain.wait import Wait

_TOO_FEW = int(Wait.TOO_FEW_GPUS)


class RoleAllocation(NamedTuple):
    """By row: GPUs, workers, servers, wait reasons; `free_gpus`: remaining GPUs."""

    gpus: Ints
    workers: Ints
    servers: Ints
    reasons: Reasons
    free_gpus: int


def share_evenly(order: Ints, jobs: JobTable, free_gpus: int) -> RoleAllocation:
    """Give each job of `order` (rows, each once) its minimum, if it fits; then give units to the
    job with the fewest GPUs until no unit fits.

    A unit is a worker, or a server where the job would otherwise fall below its requested ratio of
    servers to workers. Ties: the job that held more GPUs before, so that remainders stay where they
    are; then the lower number.
    """
    demand = demand_of(jobs)
    first = first_round(read_only(order), demand, free_gpus)
    gpus, workers, servers, code, free, position, left = first
    known = read_only(jobs.held_gpus), read_only(jobs.number)
    left = _fill_up(gpus, workers, servers, demand, *known, left)
    return RoleAllocation(gpus, workers, servers, Reasons(code, free, position), left)


class Demand(NamedTuple):
    """Configurations that jobs can run with, by row; see `JobTable`."""

    min_workers: Ints
    min_servers: Ints
    max_workers: Ints
    max_servers: Ints
    workers: Ints
    servers: Ints
    worker_gpus: Ints
    server_gpus: Ints


def demand_of(jobs: JobTable) -> Demand:
    """The demand of these jobs."""
    return Demand(*(read_only(getattr(jobs, name)) for name in Demand._fields))


@njit(cache=True)
def first_round(
    order: Ints, demand: Demand, free_gpus: int
) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints, int]:
    """Give each job of `order` its minimum, unless it does not fit.

    Returns columns as in `RoleAllocation` and `Reasons`, and the number of remaining GPUs.
    """
    size = len(demand.workers)
    gpus, workers = np.zeros(size, np.int64), np.zeros(size, np.int64)
    servers, code = np.zeros(size, np.int64), np.zeros(size, np.int64)
    free, position = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for place in range(len(order)):
        row = order[place]
        position[row], free[row] = place, free_gpus
        needed = demand.min_workers[row] * demand.worker_gpus[row]
        needed += demand.min_servers[row] * demand.server_gpus[row]
        if needed > free_gpus:
            code[row] = _TOO_FEW
            continue
        gpus[row] = needed
        workers[row], servers[row] = demand.min_workers[row], demand.min_servers[row]
        free_gpus -= needed
    return gpus, workers, servers, code, free, position, free_gpus


@njit(cache=True)
def _fill_up(
    gpus: Ints,
    workers: Ints,
    servers: Ints,
    demand: Demand,
    held_gpus: Ints,
    number: Ints,
    free_gpus: int,
) -> int:
    """Allocate units evenly; drops a job whose next unit does not fit, as free GPUs
    only decrease.
    """
    line = [(gpus[row], -held_gpus[row], number[row], row) for row in range(len(gpus))]
    line = [entry for entry in line if entry[0] > 0]
    heapify(line)
    while line:
        _, held, job, row = heappop(line)
        is_server = adds_server(workers[row], servers[row], demand, row)
        if not is_server and workers[row] == demand.max_workers[row]:
            continue
        needed = demand.server_gpus[row] if is_server else demand.worker_gpus[row]
        if needed > free_gpus:
            continue
        if is_server:
            servers[row] += 1
        else:
            workers[row] += 1
        gpus[row] += needed
        free_gpus -= needed
        heappush(line, (gpus[row], held, job, row))
    return free_gpus


@uncounted
def adds_server(workers: int, servers: int, demand: Demand, row: int) -> bool:
    """Whether the next unit is a server: to keep the ratio, or after the last worker."""
    if servers >= demand.max_servers[row]:
        return False
    if workers >= demand.max_workers[row]:
        return True
    return bool(servers * demand.workers[row] < workers * demand.servers[row])
