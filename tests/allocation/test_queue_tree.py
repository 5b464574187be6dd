"""Trees of queues: whose turn it is, and what counts for queues of queues."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from motet.allocation.queue_tree import (
    NO_JOB,
    ROOT,
    JobKeys,
    QueueStates,
    QueueTree,
    dominant_share,
    goes_before,
    next_queue,
    update_above,
)
from motet.domain.arrays import read_only

CAPACITY = np.array([10.0, 20.0, np.inf, 0.0])
TREE = QueueTree.of([NO_JOB, ROOT, ROOT, 2, 2], [1.0, 1.0, 2.0, 1.0, 1.0])
"""Queues 1, and 2 with 3 and 4 in it."""


def keys(*rows: tuple[float, int, int, int]) -> JobKeys:
    share, *others = zip(*rows, strict=True)
    used, *known = map(np.array, others)
    return JobKeys(np.array(share), used, *map(read_only, known))  # As in allocations.


def states(used: dict[int, tuple[float, float]], heads: dict[int, int]) -> QueueStates:
    found = QueueStates.empty(TREE, 4)
    for queue, amounts in used.items():
        found.used[queue, :2] = amounts
        found.share[queue] = dominant_share(found.used[queue], CAPACITY) / TREE.weight[queue]
    for queue, job in heads.items():
        found.wants[queue], found.head[queue] = True, job
    return found


def test_children_are_in_order_and_tops_are_right_below_the_root() -> None:
    first = TREE.first_child.tolist()
    assert [TREE.children[a:b].tolist() for a, b in pairwise(first)] == [
        *([1, 2], [], [3, 4], [], [])
    ]
    assert [TREE.top(node) for node in range(5)] == [0, 1, 2, 2, 2]


@pytest.mark.parametrize(
    ("used", "share"),
    [((0, 0, 0, 0), 0.0), ((1, 4, 0, 0), 0.2), ((3, 4, 9, 9), 0.3)],
)
def test_a_dominant_share_is_the_largest_part_of_what_is_counted(
    used: tuple[int, ...], share: float
) -> None:
    assert dominant_share(np.array(used, dtype=np.float64), CAPACITY) == share


def test_jobs_are_compared_by_share_then_what_they_held_then_age_then_number() -> None:
    ordered = keys((0.1, 0, 9, 9), (0.2, -4, 9, 8), (0.2, 0, 1, 7), (0.2, 0, 2, 5), (0.2, 0, 2, 6))
    places = range(5)
    found = [[goes_before(one, other, ordered) for other in places] for one in places]
    assert found == [[one < other for other in places] for one in places]


def test_the_lowest_weighted_share_is_next_and_ties_go_to_the_older_head() -> None:
    jobs = keys((0.0, 0, 5, 0), (0.0, 0, 3, 1))
    equal = states({1: (2, 0), 3: (4, 0)}, {1: 0, 3: 1})
    update_above(3, TREE, equal, jobs, CAPACITY)
    assert (equal.share[1], equal.share[2]) == (0.2, 0.2)
    assert next_queue(TREE, equal, jobs) == 3
    less = states({1: (1, 0), 3: (4, 0)}, {1: 0, 3: 1})
    update_above(3, TREE, less, jobs, CAPACITY)
    assert next_queue(TREE, less, jobs) == 1


def test_the_root_is_next_if_no_queue_wants_more() -> None:
    assert next_queue(TREE, states({1: (1, 0)}, {}), keys((0.0, 0, 0, 0))) == ROOT


def test_usage_of_wanting_queues_is_scaled_to_the_least_sibling() -> None:
    jobs = keys((0.0, 0, 5, 0), (0.0, 0, 3, 1))
    both = states({3: (4, 0), 4: (0, 2)}, {3: 0, 4: 1})
    update_above(4, TREE, both, jobs, CAPACITY)
    assert both.used[2].tolist() == [1.0, 2.0, 0.0, 0.0]  # 0.4 is scaled to 0.1.
    assert (both.wants[2], both.head[2]) == (True, 1)
    one = states({3: (4, 0), 4: (0, 2)}, {4: 1})
    update_above(4, TREE, one, jobs, CAPACITY)
    assert one.used[2].tolist() == [4.0, 2.0, 0.0, 0.0]
