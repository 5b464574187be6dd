"""Widths of jobs: the GPU counts on which they can run, and their speeds there. Compiled.

A rigid job has one width, its full request. An elastic job grows by one worker at a time, with
servers in the requested proportion; widths that are no faster than a smaller one are omitted.
Speeds are in GPUs of the full request: the speed on the full request equals its GPU count.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from motet.domain.arrays import Floats, Ints, read_only
from motet.estimate.exchange import WITHIN_A_MACHINE
from motet.estimate.speed_function import speed

_FASTER = 1 + 1e-9
_speed = njit(cache=True)(speed)


class RequestedSizes(NamedTuple):
    """`(jobs,)` each. `gpus`: of the full request, the only width of a rigid job."""

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
        """`(jobs,)`: the smallest width in GPUs."""
        return self.gpus[self.first[:-1]]

    @property
    def most(self) -> Ints:
        """`(jobs,)`: the largest width in GPUs."""
        return self.gpus[self.first[1:] - 1]

    @property
    def fastest(self) -> Floats:
        """`(jobs,)`: the speed on the largest width."""
        return self.speed[self.first[1:] - 1]

    def of(self, row: int) -> slice:
        """The entries of a job."""
        return slice(int(self.first[row]), int(self.first[row + 1]))

    def entry(self, row: int, gpus: int) -> int:
        """The entry with this many GPUs, or the next smaller one."""
        own = self.of(row)
        return bisect_right(self.gpus, gpus, own.start, own.stop) - 1


def request_of(table: Any) -> RequestedSizes:
    """A request from columns of these names."""
    return RequestedSizes(*(getattr(table, name) for name in RequestedSizes._fields))


def widths_of(
    request: RequestedSizes, mode: Ints, parameters: Floats, most_gpus: int, together_gpus: int = 0
) -> Widths:
    """`mode`, `parameters`: of speed functions; without one, an elastic job's speed is proportional
    to its workers. `most_gpus`: of the cluster.

    `together_gpus`: GPUs per machine; every width is assumed to be on the fewest machines, which
    shortens the exchange (`motet.estimate.exchange`); 0: speeds as the functions give them. The
    unit remains the speed on the full request with one member per machine.
    """
    seen = RequestedSizes(*map(read_only, request))
    functions = read_only(mode), read_only(parameters)
    return Widths(*_widths(seen, *functions, most_gpus, together_gpus))


@njit(cache=True)
def _widths(
    request: RequestedSizes, mode: Ints, parameters: Floats, most_gpus: int, together_gpus: int
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
def _most_workers(request: RequestedSizes, row: int, most_gpus: int) -> int:
    """The number of worker counts that fit into the cluster."""
    most = min(request.max_workers[row], most_gpus // max(request.worker_gpus[row], 1))
    return int(most - request.min_workers[row] + 1)


@njit(cache=True)
def _servers(request: RequestedSizes, row: int, workers: int) -> int:
    wanted = -(-workers * request.servers[row] // max(request.workers[row], 1))
    return int(min(max(wanted, request.min_servers[row]), request.max_servers[row]))


@njit(cache=True)
def _exchanging(gpus: int, together_gpus: int) -> float:
    """Exchange factor on the fewest machines, in equal shares."""
    if together_gpus == 0:
        return 1.0
    machines = -(-gpus // together_gpus)
    return max(1.0 - 1.0 / machines, WITHIN_A_MACHINE)


@njit(cache=True)
def _part(
    request: RequestedSizes,
    row: int,
    mode: Ints,
    parameters: Floats,
    workers: int,
    servers: int,
    exchanging: float,
) -> float:
    """Speed relative to that on the full request."""
    asked, asked_servers = request.workers[row], request.servers[row]
    if workers == asked and servers == asked_servers and exchanging == 1.0:
        return 1.0
    whole = _speed(mode[row], parameters[row], asked, asked_servers)
    found = _speed(mode[row], parameters[row], workers, servers, 1.0, 1.0, exchanging)
    if not (0.0 < whole < np.inf and 0.0 < found < np.inf):
        return float(workers / asked)
    return float(found / whole)
