"""Dominant resource fairness: the papers' examples, and the four properties of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.allocation.progressive import Branch, Grant, Pool, ProgressiveFilling, Units

Vector = tuple[int, ...]
SMALL = 1000
"""Capacity of every resource in tasks' units: a task is a thousandth to a hundredth of it."""


def tasks_of(
    capacity: Sequence[float],
    demands: Sequence[Vector],
    weights: Sequence[float] | None = None,
    most: Sequence[int] | None = None,
) -> list[int]:
    """How many tasks each user gets that wants any number (or `most`) of one kind."""
    root = Branch()
    queues = [Branch(root, weight) for weight in weights or [1.0] * len(demands)]
    root.children.extend(queues)
    return _granted(capacity, demands, queues, root, most)


def _granted(
    capacity: Sequence[float],
    demands: Sequence[Vector],
    queues: Sequence[Branch],
    root: Branch,
    most: Sequence[int] | None = None,
) -> list[int]:
    jobs = [
        Units((number,), demand, repeat(demand) if most is None else repeat(demand, count - 1))
        for number, (demand, count) in enumerate(
            zip(demands, most or [0] * len(demands), strict=True)
        )
    ]
    granted = [0] * len(demands)
    for event in ProgressiveFilling(jobs, queues, Pool(capacity), root).events():
        granted[event.job] += isinstance(event, Grant)
    return granted


def test_the_example_of_the_paper() -> None:
    """Section 4.1: 9 CPUs, 18 GB; A's tasks take <1 CPU, 4 GB>, B's <3 CPUs, 1 GB>."""
    assert tasks_of([9, 18], [(1, 4), (3, 1)]) == [3, 2]


def test_the_order_of_the_example() -> None:
    """Table 1 of the paper: B, A, A, B, A; equal shares go to whoever is named first."""
    root = Branch()
    queues = [Branch(root), Branch(root)]
    root.children.extend(queues)
    jobs = [Units((0,), (3, 1), repeat((3, 1))), Units((1,), (1, 4), repeat((1, 4)))]
    events = ProgressiveFilling(jobs, queues, Pool([9, 18]), root).events()
    assert "".join("BA"[each.job] for each in events if isinstance(each, Grant)) == "BAABA"


def test_one_resource_is_shared_evenly() -> None:
    assert tasks_of([12], [(1,), (1,), (1,)]) == [4, 4, 4]
    assert tasks_of([12], [(1,), (2,), (1,)]) == [4, 2, 4]


def test_weights_scale_dominant_shares() -> None:
    assert tasks_of([12, 12], [(1, 0), (1, 0)], weights=[3, 1]) == [9, 3]


def test_who_wants_little_leaves_the_rest_to_the_others() -> None:
    assert tasks_of([12], [(1,), (1,), (1,)], most=[1, 100, 100]) == [1, 6, 5]


def test_a_queue_is_not_held_back_by_what_its_sister_holds_of_another_resource() -> None:
    """H-DRF's first example: n1 wants GPUs; n2.1 only CPUs, n2.2 only GPUs."""
    root = Branch()
    one, two = Branch(root), Branch(root)
    root.children.extend([one, two])
    two.children.extend([Branch(two), Branch(two)])
    queues = [one, *two.children]
    assert _granted([10, 10], [(0, 1), (1, 0), (0, 1)], queues, root) == [5, 10, 5]


def test_a_queue_that_can_get_no_more_does_not_block_its_sisters() -> None:
    """H-DRF's second: once GPUs are gone, CPUs are shared evenly by who still wants them."""
    root = Branch()
    branches = [Branch(root) for _ in range(3)]
    root.children.extend(branches)
    branches[2].children.extend([Branch(branches[2]), Branch(branches[2])])
    queues = [*branches[:2], *branches[2].children]
    # Two queues want CPUs, of which one sits beside a queue that wants GPUs, of which are few.
    assert _granted([100, 3], [(1, 0), (0, 1), (1, 0), (0, 1)], queues, root) == [50, 2, 50, 1]


# -- the properties of section 3, for tasks that are small beside the capacity ---------------------

demand = st.tuples(st.integers(0, 10), st.integers(0, 10), st.integers(0, 10)).filter(any)
users = st.lists(demand, min_size=1, max_size=5)
CAPACITY = (SMALL, SMALL, SMALL)


def share_of(demand: Vector, tasks: int) -> Fraction:
    return Fraction(max(demand) * tasks, SMALL)


def fit(amounts: Sequence[int], demand: Vector) -> int:
    """How many of these tasks an amount of resources holds."""
    return min(amount // needed for amount, needed in zip(amounts, demand, strict=True) if needed)


def divided(demands: Sequence[Vector], weights: Sequence[int]) -> list[Fraction]:
    """Weighted dominant shares if tasks could be divided: all grow at one pace, until each user
    needs a resource that is used up. Every resource has an amount of 1."""
    growing, shares = set(range(len(demands))), [Fraction(0)] * len(demands)
    free = [Fraction(1)] * len(demands[0])
    pace = [
        [Fraction(needed * weight, max(demand)) for needed in demand]
        for demand, weight in zip(demands, weights, strict=True)
    ]
    while growing:
        total = [sum(pace[user][each] for user in growing) for each in range(len(free))]
        step = min(left / used for left, used in zip(free, total, strict=True) if used)
        free = [left - step * used for left, used in zip(free, total, strict=True)]
        for user in growing:
            shares[user] += step
        growing = {
            user
            for user in growing
            if not any(needed and not left for needed, left in zip(pace[user], free, strict=True))
        }
    return shares


@given(demands=users, data=st.data())
def test_small_tasks_come_to_what_divisible_ones_would(
    demands: list[Vector], data: st.DataObject
) -> None:
    weights = data.draw(st.lists(st.integers(1, 4), min_size=len(demands), max_size=len(demands)))
    got = tasks_of(CAPACITY, demands, weights)
    slack = Fraction((len(demands) + 1) * max(map(max, demands)), SMALL)
    for demand, weight, tasks, share in zip(
        demands, weights, got, divided(demands, weights), strict=True
    ):
        assert share_of(demand, tasks) / weight >= share - slack


@given(demands=users)
def test_everybody_is_as_well_off_as_with_an_equal_part_of_the_cluster(
    demands: list[Vector],
) -> None:
    """Sharing incentive, up to one task of whoever was served before."""
    got = tasks_of(CAPACITY, demands)
    for demand, tasks in zip(demands, got, strict=True):
        alone = fit([SMALL // len(demands)] * 3, demand)
        largest = max(max(other) for other in demands)
        assert share_of(demand, tasks) >= share_of(demand, alone) - Fraction(largest, SMALL)


@given(demands=users)
def test_nobody_would_rather_have_what_another_has(demands: list[Vector]) -> None:
    """Envy-freedom, up to one task of the other."""
    got = tasks_of(CAPACITY, demands)
    for mine, tasks in zip(demands, got, strict=True):
        for other, count in zip(demands, got, strict=True):
            theirs = [needed * (count - 1) for needed in other]
            assert count == 0 or fit(theirs, mine) <= tasks


@given(demands=users)
def test_nobody_can_get_a_task_more_without_another_losing_one(demands: list[Vector]) -> None:
    """Pareto efficiency: no task of anybody fits into what is left. Exact, for any sizes."""
    got = tasks_of(CAPACITY, demands)
    left = [
        SMALL - sum(d[resource] * n for d, n in zip(demands, got, strict=True))
        for resource in range(3)
    ]
    assert min(left) >= 0
    assert all(fit(left, demand) == 0 for demand in demands)


@given(demands=users, lie=demand)
def test_asking_for_something_else_gains_nobody_more_than_a_task(
    demands: list[Vector], lie: Vector
) -> None:
    """Strategy-proofness, up to the rounding of whole tasks: see the slack below."""
    honest = tasks_of(CAPACITY, demands)[0]
    told = tasks_of(CAPACITY, [lie, *demands[1:]])[0]
    useful = fit([needed * told for needed in lie], demands[0])
    slack = max(max(each) for each in (*demands, lie))
    assert share_of(demands[0], useful) <= share_of(demands[0], honest) + Fraction(
        (len(demands) + 1) * slack, SMALL
    )


@pytest.mark.parametrize("weights", [(1.0, 1.0), (2.0, 1.0), (1.0, 5.0)])
@given(one=demand, other=demand)
def test_weighted_shares_are_equal_while_both_want_the_same_resource_most(
    weights: tuple[float, float], one: Vector, other: Vector
) -> None:
    one, other = ((max(each), 0, 0) for each in (one, other))
    got = tasks_of(CAPACITY, [one, other], weights)
    shares = [
        float(share_of(each, count)) / weight
        for each, count, weight in zip((one, other), got, weights, strict=True)
    ]
    assert abs(shares[0] - shares[1]) <= 2 * (one[0] + other[0]) / min(weights) / SMALL
