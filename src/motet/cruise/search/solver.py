"""The best configuration of a job on a fleet, and the best epoch for every number of workers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from motet.cruise.search.homogeneous import homogeneous_epochs
from motet.cruise.search.machine_counts import (
    USUAL,
    Found,
    SearchEffort,
    best_in_order,
    best_with,
    search,
)
from motet.cruise.search.problem import RoleMode, SearchProblem, server_counts
from motet.cruise.search.whole_blocks import blocks_by, exchange_seconds
from motet.domain.arrays import Floats, Ints
from motet.estimate.epoch_cost import (
    Configuration,
    Fleet,
    MachineType,
    Profile,
    epoch_s,
    even_shares,
)

_WAYS_PER_TOTAL = 8
_SAMPLED_TOTALS = 41


@dataclass(frozen=True)
class Choice:
    """A configuration and the epoch that the cost model predicts for it."""

    configuration: Configuration
    epoch_s: float


@dataclass(frozen=True, eq=False)
class CostCurve:
    """The best epoch for every number of workers: `workers: (n,)`, ascending; `epoch_s: (n,)`."""

    workers: Ints
    epoch_s: Floats


def best_configuration(
    profile: Profile,
    fleet: Fleet,
    roles: RoleMode = RoleMode.SEPARATE,
    effort: SearchEffort = USUAL,
) -> Choice:
    """The configuration with the shortest epoch. Raises BadInput if there are too few machines.

    If exchanged bytes depend on shares and machines differ, the function runs a sequence of
    searches, each with the bytes for the number of workers in the previous result, and returns the
    best result.
    """
    if profile.touched and len(fleet.types) > 1:
        return _best_by_share(profile, fleet, roles, effort)
    problem = SearchProblem.of(profile, fleet, roles)
    if len(fleet.types) == 1:
        workers, epochs_s = homogeneous_epochs(profile, fleet, roles)
        configuration = _even_configuration(problem, fleet.size, int(workers[np.argmin(epochs_s)]))
    else:
        found = search(problem, effort)
        configuration = _typed_configuration(problem, fleet, found)
    return Choice(configuration, epoch_s(profile, fleet, configuration))


def _best_by_share(profile: Profile, fleet: Fleet, roles: RoleMode, effort: SearchEffort) -> Choice:
    workers, tried = max(fleet.size // 2, 1), dict[int, Choice]()
    while workers not in tried:
        blocks = np.array([profile.data_blocks / workers])
        own_bytes = profile.exchange_bytes * float(profile.exchanged_part(blocks)[0])
        alike = replace(profile, exchange_bytes=own_bytes, touched=())
        found = best_configuration(alike, fleet, roles, effort).configuration
        tried[workers] = Choice(found, epoch_s(profile, fleet, found))
        workers = found.worker_count
    return min(tried.values(), key=lambda choice: choice.epoch_s)


def compile_search() -> None:
    """Compile the search for several machine types in advance."""
    kinds = (MachineType("fast", 1, 1.0), MachineType("slow", 1, 2.0))
    best_configuration(Profile(2, 1, 1.0, 2, 2), Fleet(kinds, ((1.0, 1.0), (1.0, 1.0))))


def cost_curve(
    profile: Profile,
    fleet: Fleet,
    roles: RoleMode = RoleMode.SEPARATE,
    effort: SearchEffort = USUAL,
) -> CostCurve:
    """The best epoch found for every number of workers, or for some of them on large fleets."""
    problem = SearchProblem.of(profile, fleet, roles)
    if len(fleet.types) == 1:
        return CostCurve(*homogeneous_epochs(profile, fleet, roles))
    found = search(problem, effort)
    ways = float(np.prod(fleet.counts + 1.0))
    return _every_total(problem, found) if ways <= effort.ways else _some_totals(problem, found)


def _every_total(problem: SearchProblem, found: Found) -> CostCurve:
    totals = found.tried.sum(axis=1)
    usable = np.isfinite(found.relaxed_s)
    best_s: dict[int, float] = {}
    for total in np.unique(totals[usable]).tolist():
        same = usable & (totals == total)
        ways, relaxed_s = found.tried[same], found.relaxed_s[same]
        best_s[total] = float(best_in_order(problem, ways, relaxed_s, _WAYS_PER_TOTAL)[2])
    return _with_best(best_s, found)


def _some_totals(problem: SearchProblem, found: Found) -> CostCurve:
    """Search from the best way outwards; each search starts at the previous result."""
    best = int(found.workers.sum())
    most = min(int(problem.counts.sum()) - (not problem.is_both), problem.data_blocks)
    totals = np.unique(np.linspace(1, most, _SAMPLED_TOTALS).round().astype(int)).tolist()
    best_s: dict[int, float] = {}
    for outwards in ([n for n in totals if n > best], [n for n in reversed(totals) if n < best]):
        near = found.workers
        for total in outwards:
            near, best_s[total] = best_with(problem, near, total)
    return _with_best(best_s, found)


def _with_best(best_s: dict[int, float], found: Found) -> CostCurve:
    best = int(found.workers.sum())
    best_s[best] = min(best_s.get(best, np.inf), found.epoch_s)
    workers = np.array(sorted(total for total in best_s if np.isfinite(best_s[total])))
    return CostCurve(workers, np.array([best_s[total] for total in workers.tolist()]))


def _even_configuration(problem: SearchProblem, machines: int, workers: int) -> Configuration:
    """Equal machines: the first ones work, the last ones serve, or all used machines do both."""
    servers = workers if problem.is_both else machines - workers
    data = even_shares(problem.data_blocks, workers) + (0,) * (machines - workers)
    model, idle = even_shares(problem.model_blocks, servers), (0,) * (machines - servers)
    return Configuration(data, model + idle if problem.is_both else idle + model)


def _typed_configuration(problem: SearchProblem, fleet: Fleet, found: Found) -> Configuration:
    """Blocks per machine from counts per type: the first machines of a type work, the
    last serve.
    """
    workers, model_blocks = found.workers, found.model_blocks
    servers = server_counts(problem, workers)
    shares = _data_shares(problem, workers, servers, model_blocks, found.epoch_s)
    data: list[int] = []
    model: list[int] = []
    for t, machines in enumerate(fleet.counts.tolist()):
        working = shares[t] + [0] * (machines - int(workers[t]))
        serving = list(even_shares(int(model_blocks[t]), int(servers[t])))
        padding = [0] * (machines - len(serving))
        data += working
        model += serving + padding if problem.is_both else padding + serving
    return Configuration(tuple(data), tuple(model))


def _data_shares(
    problem: SearchProblem, workers: Ints, servers: Ints, model_blocks: Ints, time_s: float
) -> list[list[int]]:
    """Data blocks of every worker, per type: its capacity by T, scaled to all blocks."""
    exchange_s = np.zeros(len(workers))
    exchange_seconds(problem, workers, servers, model_blocks, exchange_s)
    limits = np.array(
        [
            blocks_by(problem, exchange_s[t], problem.comp_s[t], time_s * (1 + 1e-9))
            for t in np.repeat(np.arange(len(workers)), workers)
        ],
        dtype=np.int64,
    )
    kinds = np.repeat(np.arange(len(workers)), workers)
    shares = np.minimum(limits, np.floor(limits * (problem.data_blocks / limits.sum())))
    lacking = int(problem.data_blocks - shares.sum())
    # Workers furthest below their limits take the next blocks, so that few need all of T.
    while lacking > 0:
        room = np.argsort(-(limits - shares) / np.maximum(limits, 1), kind="stable")
        takers = [i for i in room.tolist() if shares[i] < limits[i]][:lacking]
        shares[takers] += 1
        lacking -= len(takers)
    return [shares[kinds == t].astype(int).tolist() for t in range(len(workers))]
