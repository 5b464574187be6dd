"""Progressive filling: gives one unit at a time to the job with the least dominant share.

Ghodsi et al., Dominant Resource Fairness (NSDI 2011), section 4.1 and algorithm 1; with
hierarchical queues as in `motet.allocation.queue_tree`. Within a queue the job with the least share
comes first. A refused job gets no further units, and filling continues with the next job: no
resource that fits a job stays free. Compiled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from motet.allocation.compiled import uncounted
from motet.allocation.max_min_share import Demand, adds_server
from motet.allocation.queue_tree import (
    NO_JOB,
    ROOT,
    JobKeys,
    QueueStates,
    QueueTree,
    dominant_share,
    goes_before,
    is_lowest_alone,
    next_queue,
    update_above,
)
from motet.domain.arrays import Bools, Floats, Ints, read_only
from motet.domain.snapshot import UNKNOWN

_GPUS = 0


class Claims(NamedTuple):
    """Requests of jobs, by row. `queue`: a node without children. `full`: `(jobs, resources)` of
    the full request, GPUs first; fractions of it take the other resources in proportion, rounded
    up.

    An elastic job gets the minimum of its `roles`, then one worker or server at a time, in the
    order of `max_min_share`; a rigid job its full request. Ties of shares: among jobs with a unit,
    the job that held more GPUs before, so that remainders stay where they are; then the oldest.
    """

    queue: Ints
    full: Ints
    roles: Demand
    is_elastic: Bools
    held_gpus: Ints
    submit_us: Ints
    number: Ints


class Filling(NamedTuple):
    """By row: allocated `units`, with `workers` and `servers`; `position` in the order of first
    answers; and, if the first unit was refused, the `short` resource and the `free_gpus` at that
    moment. `share`: weighted dominant share by tree node.
    """

    units: Ints
    workers: Ints
    servers: Ints
    position: Ints
    short: Ints
    free_gpus: Ints
    share: Floats


class _Run(NamedTuple):
    """State and inputs of a run. `free`: `(resources,)`.

    The line of a queue are its jobs that can get a unit: those that had none at first, by age, in
    `new[next_new[queue] : first[queue + 1]]`, and those that got one, as a heap of `size[queue]`
    jobs in `line[first[queue] :]`. `keeps_full`: whether jobs that have all of their units stay in
    it until their turn. Without elastic jobs and queues in queues they change nothing there.
    """

    claims: Claims
    tree: QueueTree
    states: QueueStates
    keys: JobKeys
    new: Ints
    next_new: Ints
    line: Ints
    first: Ints
    size: Ints
    held: Floats
    capacity: Floats
    free: Floats
    keeps_full: bool


def fill_progressively(
    claims: Claims,
    tree: QueueTree,
    capacity: Floats,
    has_unit: Bools | None = None,
    by_age: Ints | None = None,
) -> Filling:
    """Allocate units while any fits. `capacity`: `(resources,)`; an infinite resource is never
    short and does not count for shares. `has_unit`: jobs that get their first unit in any case.
    `by_age`: rows by `submit_us`, then `number`; None: they are sorted here.
    """
    jobs, nodes = len(claims.queue), len(tree.parent)
    first = np.concatenate(([0], np.bincount(claims.queue, minlength=nodes).cumsum()))
    run = _Run(
        claims,
        tree,
        QueueStates.empty(tree, len(capacity)),
        JobKeys(np.zeros(jobs), _zeros(jobs), claims.submit_us, claims.number),
        _zeros(jobs),
        first[:-1].copy(),
        _zeros(jobs),
        first,
        _zeros(nodes),
        np.zeros((jobs, len(capacity))),
        capacity,
        capacity.copy(),
        bool(claims.is_elastic.any() or tree.parent.max(initial=ROOT) > ROOT),
    )
    position, short = np.full((2, jobs), UNKNOWN, dtype=np.int64)
    units, workers, servers, free_gpus = np.zeros((4, jobs), dtype=np.int64)
    filling = Filling(units, workers, servers, position, short, free_gpus, run.states.share)
    if by_age is None:
        by_age = np.lexsort((claims.number, claims.submit_us))
    has_unit = np.zeros(jobs, np.bool_) if has_unit is None else has_unit
    _fill(run, filling, read_only(by_age), has_unit)
    return filling


def _zeros(size: int) -> Ints:
    return np.zeros(size, dtype=np.int64)


@njit(cache=True)
def _fill(run: _Run, filling: Filling, by_age: Ints, has_unit: Bools) -> None:
    turns = int(np.int64(0))  # Of a literal, Numba compiles `_serve` once more.
    for job in by_age:
        if has_unit[job]:
            filling.position[job], turns = turns, turns + 1
            _grant(job, run, filling)
    _fill_lines(run, by_age, has_unit)
    _serve(turns, run, filling)


@uncounted
def _serve(turns: int, run: _Run, filling: Filling) -> None:
    """Give units to the jobs of the lines. `turns`: jobs that were answered before."""
    queue = next_queue(run.tree, run.states, run.keys)
    while queue != ROOT:
        stays_next, is_granted = is_lowest_alone(queue, run.tree, run.states), False
        while not is_granted:
            job = _pop(queue, run)
            if _has_more(job, run.claims, filling):
                if filling.position[job] == UNKNOWN:
                    filling.position[job], turns = turns, turns + 1
                is_granted = _grant_or_refuse(job, run, filling)
            if not stays_next or _head(queue, run) == NO_JOB:  # A refusal changes no share.
                break
        _update_queue(queue, run)
        queue = next_queue(run.tree, run.states, run.keys)


@njit(cache=True)
def _fill_lines(run: _Run, by_age: Ints, has_unit: Bools) -> None:
    """Insert all jobs into the lines of their queues."""
    count = np.zeros_like(run.size)
    for job in by_age:
        queue = run.claims.queue[job]
        if has_unit[job]:
            if run.keeps_full:
                _push(job, queue, run)
            run.next_new[queue] += 1
    for job in by_age:
        queue = run.claims.queue[job]
        if not has_unit[job]:
            run.new[run.next_new[queue] + count[queue]] = job
            count[queue] += 1
    for queue in range(len(run.size)):
        if _head(queue, run) != NO_JOB:
            _update_queue(queue, run)


@uncounted
def _grant_or_refuse(job: int, run: _Run, filling: Filling) -> bool:
    """Grant or refuse the next unit of a job; returns whether it is granted."""
    gpus_before, gpus = _gpus_of_unit(job, run.claims, filling)
    for resource in range(len(run.free)):
        if _amount(job, resource, gpus_before, gpus, run.claims) > run.free[resource]:
            if filling.units[job] == 0:
                filling.short[job], filling.free_gpus[job] = resource, int(run.free[_GPUS])
            return False
    _grant(job, run, filling)
    if run.keeps_full:
        _push(job, run.claims.queue[job], run)
    return True


@uncounted
def _grant(job: int, run: _Run, filling: Filling) -> None:
    claims, queue, states = run.claims, run.claims.queue[job], run.states
    gpus_before, gpus = _gpus_of_unit(job, claims, filling)
    for resource in range(len(run.free)):
        amount = _amount(job, resource, gpus_before, gpus, claims)
        run.free[resource] -= amount
        run.held[job, resource] += amount
        states.used[queue, resource] += amount
    workers, servers = _roles_after(job, claims, filling)
    filling.workers[job], filling.servers[job] = workers, servers
    filling.units[job] += 1
    run.keys.share[job] = dominant_share(run.held[job], run.capacity)
    run.keys.minus_held[job] = -claims.held_gpus[job] if claims.is_elastic[job] else 0
    states.share[queue] = dominant_share(states.used[queue], run.capacity) / run.tree.weight[queue]


# -- units -----------------------------------------------------------------------------------------


@uncounted
def _has_more(job: int, claims: Claims, filling: Filling) -> bool:
    if filling.units[job] == 0:
        return True
    workers, servers = _roles_after(job, claims, filling)
    return bool(workers != filling.workers[job] or servers != filling.servers[job])


@uncounted
def _roles_after(job: int, claims: Claims, filling: Filling) -> tuple[int, int]:
    """Workers and servers with one more unit; unchanged if there is none."""
    roles, workers, servers = claims.roles, filling.workers[job], filling.servers[job]
    if not claims.is_elastic[job]:
        return roles.workers[job], roles.servers[job]
    if filling.units[job] == 0:
        return roles.min_workers[job], roles.min_servers[job]
    if adds_server(workers, servers, roles, job):
        return workers, servers + 1
    return min(workers + 1, max(workers, roles.max_workers[job])), servers


@uncounted
def _gpus_of_unit(job: int, claims: Claims, filling: Filling) -> tuple[int, int]:
    """GPUs of the job without the next unit and with it."""
    if not claims.is_elastic[job]:
        return 0, claims.full[job, _GPUS]
    workers, servers = _roles_after(job, claims, filling)
    worker_gpus, server_gpus = claims.roles.worker_gpus[job], claims.roles.server_gpus[job]
    before = filling.workers[job] * worker_gpus + filling.servers[job] * server_gpus
    return before, workers * worker_gpus + servers * server_gpus


@uncounted
def _amount(job: int, resource: int, gpus_before: int, gpus: int, claims: Claims) -> int:
    """Amount of one resource between two GPU counts."""
    full, all_gpus = claims.full[job, resource], claims.full[job, _GPUS]
    if resource == _GPUS:
        return gpus - gpus_before
    if full == 0:
        return 0
    with_unit, without = -(-gpus * full // all_gpus), -(-gpus_before * full // all_gpus)
    return int(with_unit - without)


# -- lines -----------------------------------------------------------------------------------------


@uncounted
def _update_queue(queue: int, run: _Run) -> None:
    """Update the state of a queue from its line; a queue with jobs in its line can take more."""
    states = run.states
    states.head[queue] = _head(queue, run)
    states.wants[queue] = states.head[queue] != NO_JOB
    update_above(queue, run.tree, states, run.keys, run.capacity)


@uncounted
def _head(queue: int, run: _Run) -> int:
    """The first job of the line."""
    new = run.next_new[queue]
    has_new = new < run.first[queue + 1]
    if not run.size[queue]:
        return int(run.new[new]) if has_new else NO_JOB
    top = run.line[run.first[queue]]
    is_new = has_new and goes_before(run.new[new], top, run.keys)
    return int(run.new[new]) if is_new else int(top)


@uncounted
def _push(job: int, queue: int, run: _Run) -> None:
    heap = run.line[run.first[queue] :]
    place = run.size[queue]
    run.size[queue] += 1
    while place > 0 and goes_before(job, heap[(place - 1) // 2], run.keys):
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = job


@uncounted
def _pop(queue: int, run: _Run) -> int:
    """Remove the first job of the line."""
    heap, job = run.line[run.first[queue] :], _head(queue, run)
    if not run.size[queue] or heap[0] != job:
        run.next_new[queue] += 1
        return job
    run.size[queue] -= 1
    size = run.size[queue]
    last, place, child = heap[size], 0, 1
    while child < size:
        if child + 1 < size and goes_before(heap[child + 1], heap[child], run.keys):
            child += 1
        if not goes_before(heap[child], last, run.keys):
            break
        heap[place] = heap[child]
        place, child = child, 2 * child + 1
    heap[place] = last
    return job
