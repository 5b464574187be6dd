"""The configuration search as numbers, the input of the compiled kernels.

Machines of a type are equal. A configuration therefore consists of the number of workers of each
type and the number of model blocks on each type's servers. Within a type both tables are spread
evenly: by symmetry, and because the exchange time is convex in the split, no other split is better.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np
from numba import njit

from motet.domain.arrays import Floats, Ints
from motet.domain.errors import BadInput
from motet.estimate.epoch_cost import Fleet, Profile


class RoleMode(Enum):
    """Whether every machine has one role, as in the paper, or every machine in use has both."""

    SEPARATE = "separate"
    BOTH = "both"


class SearchProblem(NamedTuple):
    """A profile and a fleet of T types. `batches`: K, or 0 if B is each worker's batch.

    `counts: (T,)`, `comp_s: (T,)`, `bandwidth: (T, T)` in bytes/s, worker's type first.
    """

    counts: Ints
    comp_s: Floats
    bandwidth: Floats
    instances: float
    batch_size: float
    batches: float
    exchange_bytes: float
    data_blocks: int
    model_blocks: int
    is_both: bool

    @classmethod
    def of(cls, profile: Profile, fleet: Fleet, roles: RoleMode) -> SearchProblem:
        """Raises BadInput if there are too few machines for both roles."""
        if roles is RoleMode.SEPARATE and fleet.size < 2:
            raise BadInput("machines=1: a worker and a server need 2; use machines with both roles")
        return cls(
            fleet.counts,
            fleet.comp_s,
            fleet.bandwidths,
            float(profile.instances),
            float(profile.batch_size),
            float(profile.global_batches) if profile.is_batch_global else 0.0,
            float(profile.exchange_bytes),
            profile.data_blocks,
            profile.model_blocks,
            roles is RoleMode.BOTH,
        )


class Links(NamedTuple):
    """Seconds of an exchange of a worker of type t with servers of type u, each `(T, T)`.

    For servers of type u that hold the whole model: `shared`, on each server's link, which the
    workers share; `own`, on the worker's link. `least`: on the link of a server with one block.
    """

    shared: Floats
    own: Floats
    least: Floats


@njit(cache=True)
def server_counts(problem: SearchProblem, workers: Ints) -> Ints:
    """Machines per type that can serve, given `workers: (T,)`."""
    servers = workers.copy()
    if not problem.is_both:
        for t in range(len(workers)):
            servers[t] = problem.counts[t] - workers[t]
    return servers


@njit(cache=True)
def type_count(machines: Ints) -> int:
    """How many types have some of these machines, `(T,)`."""
    types = 0
    for t in range(len(machines)):
        types += machines[t] > 0
    return types


@njit(cache=True)
def link_seconds(problem: SearchProblem, workers: Ints, servers: Ints) -> Links:
    """The links between given workers and servers of every type, see `Links`."""
    size = len(workers)
    shared, own, least = np.zeros((size, size)), np.zeros((size, size)), np.zeros((size, size))
    sharers = workers.sum() - (1 if problem.is_both else 0)
    for t in range(size):
        for u in range(size):
            if servers[u] == 0:
                continue
            whole_s = problem.exchange_bytes / problem.bandwidth[t, u]
            is_own = problem.is_both and t == u
            others = servers[u] - (1 if is_own else 0)
            shared[t, u] = whole_s * sharers / servers[u] if others > 0 else 0.0
            own[t, u] = whole_s * others / servers[u]
            least[t, u] = whole_s * sharers / problem.model_blocks if others > 0 else 0.0
    return Links(shared, own, least)
