"""Hierarchical queues and their dominant shares. Compiled.

Bhattacharya et al., Hierarchical Scheduling for Diverse Datacenter Workloads (SoCC 2013): the usage
of sibling queues is scaled down to the least share among the siblings that want more before it
counts for the parent. A queue is therefore not penalised for a sibling's use of a resource that it
does not need, and a queue that can get no more does not determine the least share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from motet.allocation.compiled import uncounted
from motet.domain.arrays import Bools, Floats, Ints

ROOT = 0
NO_JOB = -1


class QueueTree(NamedTuple):
    """Node 0 is the root; every other node has a parent with a lower number.

    `weight`: share relative to a queue of weight 1. The children of a node are
    `children[first_child[node] : first_child[node + 1]]`, in ascending order. A queue with children
    holds no jobs itself.
    """

    parent: Ints
    weight: Floats
    first_child: Ints
    children: Ints

    @classmethod
    def of(cls, parent: Sequence[int], weight: Sequence[float]) -> Self:
        """`parent[0]`: NO_JOB, of the root."""
        above = np.array(parent, dtype=np.int64)
        children = 1 + np.argsort(above[1:], kind="stable")
        first = np.searchsorted(above[children], np.arange(len(above) + 1))
        return cls(above, np.array(weight, dtype=np.float64), first, children)

    def top(self, node: int) -> int:
        """The ancestor directly below the root, or the node itself."""
        while self.parent[node] > ROOT:
            node = int(self.parent[node])
        return node


class QueueStates(NamedTuple):
    """By node, changed in place. `used`: `(nodes, resources)`, the usage of its jobs or, for a
    queue with children, their scaled usage. `share`: weighted dominant share. `wants`: whether a
    job of the queue can get more. `head`: the next job inside, if the queue can take more.
    """

    used: Floats
    share: Floats
    wants: Bools
    head: Ints

    @classmethod
    def empty(cls, tree: QueueTree, resources: int) -> Self:
        """States without usage."""
        nodes = len(tree.parent)
        head = np.full(nodes, NO_JOB, dtype=np.int64)
        return cls(np.zeros((nodes, resources)), np.zeros(nodes), np.zeros(nodes, np.bool_), head)


class JobKeys(NamedTuple):
    """Sort keys of jobs inside a queue, lowest first: `share` of the job's usage, minus the GPUs
    `held` before, `submit_us`, and `number`, which is unique.
    """

    share: Floats
    minus_held: Ints
    submit_us: Ints
    number: Ints


@uncounted
def dominant_share(used: Floats, capacity: Floats) -> float:
    """The largest fraction of any resource; resources without capacity do not count."""
    share = 0.0
    for resource in range(len(used)):
        if capacity[resource] != 0.0:
            share = max(share, used[resource] / capacity[resource])
    return share


@uncounted
def goes_before(job: int, other: int, keys: JobKeys) -> bool:
    """Whether the key of `job` is lower."""
    if keys.share[job] != keys.share[other]:
        return bool(keys.share[job] < keys.share[other])
    if keys.minus_held[job] != keys.minus_held[other]:
        return bool(keys.minus_held[job] < keys.minus_held[other])
    if keys.submit_us[job] != keys.submit_us[other]:
        return bool(keys.submit_us[job] < keys.submit_us[other])
    return bool(keys.number[job] < keys.number[other])


@uncounted
def next_queue(tree: QueueTree, states: QueueStates, keys: JobKeys) -> int:
    """The next queue without children; the root if no queue can take more.

    On every level the lowest share comes first, then the queue with the lower head job.
    """
    node, found = ROOT, ROOT
    while found != NO_JOB:
        node, found = found, NO_JOB
        for place in range(tree.first_child[node], tree.first_child[node + 1]):
            child = tree.children[place]
            if states.wants[child] and (found == NO_JOB or _precedes(child, found, states, keys)):
                found = child
    return node


@uncounted
def is_lowest_alone(node: int, tree: QueueTree, states: QueueStates) -> bool:
    """Whether the share of this queue, and of every queue above it, is lower than those of all
    others below the same parent that can take more: `next_queue` finds it whatever its head is.
    """
    while node != ROOT:
        above = tree.parent[node]
        for place in range(tree.first_child[above], tree.first_child[above + 1]):
            other = tree.children[place]
            if other != node and states.wants[other] and states.share[other] <= states.share[node]:
                return False
        node = above
    return True


@uncounted
def _precedes(node: int, other: int, states: QueueStates, keys: JobKeys) -> bool:
    if states.share[node] != states.share[other]:
        return bool(states.share[node] < states.share[other])
    return goes_before(states.head[node], states.head[other], keys)


@uncounted
def update_above(
    node: int, tree: QueueTree, states: QueueStates, keys: JobKeys, capacity: Floats
) -> None:
    """Propagate the change of a queue to its ancestors."""
    above = tree.parent[node]
    while above != NO_JOB and above != ROOT:
        _find_head(above, tree, states, keys)
        _add_up(above, tree, states)
        states.share[above] = dominant_share(states.used[above], capacity) / tree.weight[above]
        above = tree.parent[above]


@uncounted
def _find_head(node: int, tree: QueueTree, states: QueueStates, keys: JobKeys) -> None:
    states.wants[node], states.head[node] = False, NO_JOB
    for place in range(tree.first_child[node], tree.first_child[node + 1]):
        child = tree.children[place]
        if not states.wants[child]:
            continue
        if not states.wants[node] or goes_before(states.head[child], states.head[node], keys):
            states.wants[node], states.head[node] = True, states.head[child]


@uncounted
def _add_up(node: int, tree: QueueTree, states: QueueStates) -> None:
    """Sum the usage of children; children that want more are scaled to the least of
    their shares.
    """
    least = np.inf
    for place in range(tree.first_child[node], tree.first_child[node + 1]):
        child = tree.children[place]
        if states.wants[child]:
            least = min(least, states.share[child])
    states.used[node] = 0.0
    for place in range(tree.first_child[node], tree.first_child[node + 1]):
        child = tree.children[place]
        is_scaled = states.wants[child] and states.share[child] > least
        factor = least / states.share[child] if is_scaled else 1.0
        for resource in range(states.used.shape[1]):
            states.used[node, resource] += states.used[child, resource] * factor
