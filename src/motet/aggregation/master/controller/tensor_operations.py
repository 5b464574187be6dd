"""Operations that bring tensors and replicas to where the plan has them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from motet.aggregation.master.state.instructions import (
    ForgetOn,
    MoveTo,
    PoolOperation,
    PromoteOn,
    ReplicateTo,
)
from motet.aggregation.master.state.pool_job import NOWHERE, UNSURE, PoolJob
from motet.aggregation.master.state.pool_state import PoolState
from motet.domain.arrays import Bools, Ints


def tensor_operations(
    state: PoolState, job: PoolJob, homes: Ints, replicas: Ints
) -> Iterator[PoolOperation]:
    """Of a job whose tensors are to have these homes and replicas. One at a time per tensor."""
    if not job.is_routed:
        return
    is_free = np.ones(len(homes), np.bool_)
    for operation in state.tensor_operations(job.number):
        is_free[list(operation.tensors)] = False
    yield from _promotions(state, job, is_free)
    is_free[list(job.heirs)] = False
    is_ready = {each: state.is_ready(each, job.number) for each in state.aggregators}
    may_move = (
        is_free & (job.homes != homes) & _ready(is_ready, job.homes) & _ready(is_ready, homes)
    )
    # Should the origin die first, the target may be asked to serve from a replica: it must be new.
    # Where the replica is afterwards has to be known: the source keeps one if there is no other.
    is_unsure = (job.replicas == UNSURE) & (job.homes != homes)
    is_copied_first = _stale(job, homes) | is_unsure
    may_move &= ~is_copied_first
    replicas = np.where(is_copied_first, homes, replicas)
    for tensors in _groups(job.homes, homes, may_move):
        source, target = int(job.homes[tensors[0]]), int(homes[tensors[0]])
        yield MoveTo(state.new_operation(), source, job.number, tensors, target)
    # A tensor that cannot move yet is copied where it is: its Aggregator may die meanwhile.
    may_copy = is_free & ~may_move & (job.replicas != replicas) & (replicas != NOWHERE)
    may_copy &= (job.homes != replicas) & _ready(is_ready, job.homes) & _ready(is_ready, replicas)
    may_copy &= ~_forgotten(state, job, replicas)
    for tensors in _groups(job.homes, replicas, may_copy):
        source, target = int(job.homes[tensors[0]]), int(replicas[tensors[0]])
        yield ReplicateTo(state.new_operation(), source, job.number, tensors, target)


def _promotions(state: PoolState, job: PoolJob, is_free: Bools) -> Iterator[PoolOperation]:
    firsts = {tensor: heirs[0] for tensor, heirs in job.heirs.items() if is_free[tensor]}
    for heir in sorted(set(firsts.values())):
        if state.is_ready(heir, job.number):
            tensors = tuple(sorted(tensor for tensor, first in firsts.items() if first == heir))
            groups = [(each,) for each in tensors] if job.is_promoted_singly else [tensors]
            for group in groups:
                yield PromoteOn(state.new_operation(), heir, job.number, group)


def _stale(job: PoolJob, aggregators: Ints) -> Bools:
    """`(tensors,)`, whether these Aggregators have replicas that lack steps."""
    found = np.zeros(len(aggregators), np.bool_)
    for tensor, holders in job.stale.items():
        found[tensor] = int(aggregators[tensor]) in holders
    return found


def _forgotten(state: PoolState, job: PoolJob, replicas: Ints) -> Bools:
    """`(tensors,)`, whether the tensor's Aggregator is about to forget all replicas there."""
    pairs = {
        (each.aggregator, each.peer)
        for each in state.operations.values()
        if isinstance(each, ForgetOn) and each.job == job.number
    }
    for aggregator, measured in job.measured.items():
        pairs |= {(aggregator, peer) for peer in measured.lost_replicas}
    endpoints = {each.number: each.endpoint for each in state.aggregators.values()}
    return np.array(
        [
            bool(pairs) and (int(home), endpoints.get(int(peer), "")) in pairs
            for home, peer in zip(job.homes, replicas, strict=True)
        ]
    )


def _ready(is_ready: dict[int, bool], aggregators: Ints) -> Bools:
    return np.array([is_ready.get(int(each), False) for each in aggregators])


def _groups(sources: Ints, destinations: Ints, chosen: Bools) -> Iterator[tuple[int, ...]]:
    """The chosen tensors by source and destination."""
    rows = np.flatnonzero(chosen)
    pairs = np.stack([sources[rows], destinations[rows]])
    for pair in np.unique(pairs, axis=1).T:
        yield tuple(rows[(pairs == pair[:, None]).all(axis=0)].tolist())
