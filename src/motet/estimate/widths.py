"""On how many GPUs jobs can run, and how fast they are there. Compiled.

A rigid job has one width, all that it asks for. An elastic one grows by a worker at a time, with
servers in the proportion that it asks for; widths at which it is no faster than at a smaller one
are left out. Speeds are counted in GPUs of the full request: on that, a job has its speed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from motet.domain.arrays import Floats, Ints
from motet.estimate.exchange import WITHIN_A_MACHINE
from motet.estimate.speed_function import speed

_FASTER = 1 + 1e-9
_speed = njit(cache=True)(speed)


class Request(NamedTuple):
    """`(jobs,)` each. `gpus`: of all that it asks for, which a rigid job gets, whatever else."""

    gpus: Ints
    workers: Ints
    servers: Ints
    min_workers: Ints
    max_workers: Ints
    min_servers: Ints
    max_servers: Ints
    worker_gpus: Ints
    server_gpus: Ints


class Widths(NamedTuple):
    """Row i of the jobs has the entries from `first[i]` to `first[i + 1]`, ascending: `gpus`, of
    which `workers` and `servers`, and `speed`. At least one each.
    """

    first: Ints
    gpus: Ints
    workers: Ints
    servers: Ints
    speed: Floats

    @property
    def least(self) -> Ints:
        """`(jobs,)`: the fewest GPUs."""
        return self.gpus[self.first[:-1]]

    @property
    def most(self) -> Ints:
        """`(jobs,)`: more GPUs are of no use."""
        return self.gpus[self.first[1:] - 1]

    @property
    def fastest(self) -> Floats:
        """`(jobs,)`: the speed on these."""
        return self.speed[self.first[1:] - 1]

    def of(self, row: int) -> slice:
        """Its entries."""
        return slice(int(self.first[row]), int(self.first[row + 1]))

    def entry(self, row: int, gpus: int) -> int:
        """The one with so many GPUs, or else fewer."""
        own = self.of(row)
        found = np.searchsorted(self.gpus[own], gpus, side="right")
        return int(self.first[row]) + int(found) - 1


def request_of(table: Any) -> Request:
    """From columns of these names."""
    return Request(*(getattr(table, name) for name in Request._fields))


def widths_of(
    request: Request, mode: Ints, parameters: Floats, most_gpus: int, together_gpus: int = 0
) -> Widths:
    """`mode`, `parameters`: of speed functions; where they are not known, an elastic job is taken
    to be as fast as it has workers. `most_gpus`: of the cluster.

    `together_gpus`: so many share a machine, and every width lies on the fewest machines, where
    exchanging takes less (`motet.estimate.exchange`); 0: speeds are as the functions say. That on
    the full request stays the unit, with a machine for each.
    """
    return Widths(*_widths(request, mode, parameters, most_gpus, together_gpus))


@njit(cache=True)
def _widths(
    request: Request, mode: Ints, parameters: Floats, most_gpus: int, together_gpus: int
) -> tuple[Ints, Ints, Ints, Ints, Floats]:
    jobs = len(request.gpus)
    first = np.zeros(jobs + 1, np.int64)
    for row in range(jobs):
        first[row + 1] = first[row] + max(_most_workers(request, row, most_gpus), 1)
    gpus, workers = np.empty(first[-1], np.int64), np.empty(first[-1], np.int64)
    servers, speeds = np.empty(first[-1], np.int64), np.empty(first[-1])
    end = 0
    for row in range(jobs):
        begin, first[row] = end, end
        for more in range(max(_most_workers(request, row, most_gpus), 1)):
            count = request.min_workers[row] + more
            role = _servers(request, row, count)
            size = count * request.worker_gpus[row] + role * request.server_gpus[row]
            if request.min_workers[row] == request.max_workers[row]:
                count, role, size = request.workers[row], request.servers[row], request.gpus[row]
            if end > begin and size > most_gpus:
                break
            exchanging = _exchanging(size, together_gpus) if role > 0 else 1.0
            found = _part(request, row, mode, parameters, count, role, exchanging)
            found *= request.gpus[row]
            if end == begin or found > speeds[end - 1] * _FASTER:
                gpus[end], workers[end], servers[end] = size, count, role
                speeds[end] = found
                end += 1
    first[jobs] = end
    return first, gpus[:end], workers[:end], servers[:end], speeds[:end]


@njit(cache=True)
def _most_workers(request: Request, row: int, most_gpus: int) -> int:
    """How many numbers of workers there are within the cluster."""
    most = min(request.max_workers[row], most_gpus // max(request.worker_gpus[row], 1))
    return int(most - request.min_workers[row] + 1)


@njit(cache=True)
def _servers(request: Request, row: int, workers: int) -> int:
    wanted = -(-workers * request.servers[row] // max(request.workers[row], 1))
    return int(min(max(wanted, request.min_servers[row]), request.max_servers[row]))


@njit(cache=True)
def _exchanging(gpus: int, together_gpus: int) -> float:
    """On the fewest machines, in equal shares."""
    if together_gpus == 0:
        return 1.0
    machines = -(-gpus // together_gpus)
    return max(1.0 - 1.0 / machines, WITHIN_A_MACHINE)


@njit(cache=True)
def _part(
    request: Request,
    row: int,
    mode: Ints,
    parameters: Floats,
    workers: int,
    servers: int,
    exchanging: float,
) -> float:
    """Of the speed on the full request."""
    asked, asked_servers = request.workers[row], request.servers[row]
    if workers == asked and servers == asked_servers and exchanging == 1.0:
        return 1.0
    whole = _speed(mode[row], parameters[row], asked, asked_servers)
    found = _speed(mode[row], parameters[row], workers, servers, 1.0, 1.0, exchanging)
    if not (0.0 < whole < np.inf and 0.0 < found < np.inf):
        return float(workers / asked)
    return float(found / whole)
