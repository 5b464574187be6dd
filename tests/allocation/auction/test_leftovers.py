"""GPUs that nobody won."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.allocation.auction.leftovers import Taker, hand_out, nearby
from motet.domain.snapshot import Placement

frees = st.lists(st.integers(0, 4), min_size=1, max_size=5)
takers = st.lists(
    st.builds(lambda least, more: Taker(least, least + more), st.integers(1, 5), st.integers(0, 4)),
    max_size=5,
)


@pytest.mark.parametrize("is_placement_aware", [False, True])
@given(free=frees, takers=takers, seed=st.integers(0, 9))
def test_no_usable_gpu_stays_free(
    free: list[int], takers: list[Taker], seed: int, is_placement_aware: bool
) -> None:
    rng = np.random.default_rng(seed)
    got = hand_out(free, takers, lambda: rng, is_placement_aware=is_placement_aware)
    used = np.zeros(len(free), dtype=np.int64)
    for placement in got:
        for machine, count in zip(*placement, strict=True):
            used[machine] += count
    assert (used <= free).all()
    left = sum(free) - int(used.sum())
    for taker, placement in zip(takers, got, strict=True):
        gpus = sum(placement.counts)
        assert gpus == 0 or taker.least <= gpus <= taker.most
        assert left < taker.least if gpus == 0 else left == 0 or gpus == taker.most


def test_every_taker_has_its_chance() -> None:
    rng = np.random.default_rng(0)
    firsts = [hand_out([1], [Taker(1, 1)] * 3, lambda: rng)[0].counts for _ in range(300)]
    assert firsts.count((1,)) == pytest.approx(100, abs=30)


def test_the_same_seed_gives_the_same() -> None:
    takers = [Taker(1, 3), Taker(2, 2), Taker(1, 8)]
    draws = [hand_out([2, 3, 1], takers, lambda: np.random.default_rng(5)) for _ in range(2)]
    assert draws[0] == draws[1]


def test_gpus_are_drawn_from_all_machines() -> None:
    rng = np.random.default_rng(0)
    seen = {hand_out([2, 2], [Taker(2, 2)], lambda: rng)[0] for _ in range(50)}
    assert seen == {Placement((0,), (2,)), Placement((1,), (2,)), Placement((0, 1), (1, 1))}


def test_placement_awareness_keeps_takers_on_their_machines() -> None:
    taker = Taker(2, 2, machines=frozenset({1}))
    got = hand_out([4, 1, 1], [taker], lambda: np.random.default_rng(0), is_placement_aware=True)
    assert got == (Placement((1, 2), (1, 1)),)


def test_aware_of_placement_a_gang_takes_the_tightest_machine_that_holds_it() -> None:
    aware = {"is_placement_aware": True}
    assert hand_out([4, 2, 3], [Taker(3, 3)], lambda: np.random.default_rng(0), **aware) == (
        Placement((2,), (3,)),
    )
    assert hand_out([1, 4, 3], [Taker(6, 6)], lambda: np.random.default_rng(0), **aware) == (
        Placement((1, 2), (4, 2)),
    )


def test_a_gang_for_several_machines_stays_in_a_rack_that_has_room_for_it() -> None:
    free, racks = [4, 3, 3, 2, 4], [0, 1, 1, 1, 0]
    assert nearby(free, 8, frozenset(), racks) == Placement((0, 4), (4, 4))
    assert nearby(free, 7, frozenset(), racks) == Placement((0, 4), (4, 3))
    assert nearby(free, 5, frozenset(), [0, 1, 1, 1, 2]) == Placement((1, 3), (3, 2))
    assert nearby(free, 6, frozenset({2}), racks) == Placement((1, 2), (3, 3))


def plain_hand_out(
    free_gpus: list[int], takers: list[Taker], rng: np.random.Generator, *, is_near: bool
) -> tuple[Placement, ...]:
    """One taker after the other is looked at anew before every draw."""
    free, got = np.array(free_gpus), np.zeros((len(takers), len(free_gpus)), dtype=np.int64)

    def step(row: int) -> int:
        return 1 if got[row].any() else takers[row].least

    def able() -> list[int]:
        return [
            row
            for row, taker in enumerate(takers)
            if got[row].sum() < taker.most and step(row) <= free.sum()
        ]

    while rows := able():
        row = int(rng.choice(np.array(rows)))
        gpus, homes = step(row), takers[row].machines | set(np.flatnonzero(got[row]).tolist())
        taken = np.zeros_like(free)
        if is_near:
            place = nearby(free, gpus, homes)
            taken[list(place.machines)] = place.counts
        else:
            taken = rng.multivariate_hypergeometric(free, gpus)
        got[row] += taken
        free -= taken
    return tuple(
        Placement(tuple(np.flatnonzero(row).tolist()), tuple(row[row > 0].tolist())) for row in got
    )


@pytest.mark.parametrize("is_near", [False, True])
@given(free=frees, takers=takers, seed=st.integers(0, 9))
def test_draws_are_those_of_looking_at_every_taker_before_each(
    free: list[int], takers: list[Taker], seed: int, is_near: bool
) -> None:
    one, other = np.random.default_rng(seed), np.random.default_rng(seed)
    got = hand_out(free, takers, lambda: one, is_placement_aware=is_near)
    assert got == plain_hand_out(free, takers, other, is_near=is_near)
    assert one.random() == other.random()


def plain_nearby(
    free: list[int], gpus: int, homes: frozenset[int], racks: list[int]
) -> dict[int, int]:
    """Machine by machine, each the best by the rules."""
    left, taken = [*free], dict[int, int]()

    def take(machine: int) -> None:
        more = min(left[machine], gpus - sum(taken.values()))
        taken[machine] = taken.get(machine, 0) + more
        left[machine] -= more

    for machine in sorted(homes):
        take(machine)
    while (lacking := gpus - sum(taken.values())) > 0:
        current = {racks[machine] for machine, count in taken.items() if count}
        area = [machine for machine in range(len(free)) if racks[machine] in current]
        has_room = sum(left[machine] for machine in area) >= lacking
        area = area if has_room else [*range(len(free))]
        if fitting := [machine for machine in area if left[machine] >= lacking]:
            take(min(fitting, key=left.__getitem__))
            continue
        if not has_room:
            room = Counter[int]()
            for machine in area:
                room[racks[machine]] += left[machine]
            ordered = sorted(room)
            roomy = [rack for rack in ordered if room[rack] >= lacking]
            best = min(roomy, key=room.__getitem__) if roomy else max(ordered, key=room.__getitem__)
            area = [machine for machine in area if racks[machine] == best]
        take(max(area, key=left.__getitem__))
    return {machine: taken[machine] for machine in sorted(taken) if taken[machine]}


@given(
    machines=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=7),
    data=st.data(),
)
def test_near_machines_are_those_of_the_rules_one_after_the_other(
    machines: list[tuple[int, int]], data: st.DataObject
) -> None:
    free, racks = ([each[place] for each in machines] for place in range(2))
    gpus = data.draw(st.integers(0, sum(free)))
    homes = data.draw(st.frozensets(st.integers(0, len(free) - 1), max_size=2))
    expected = plain_nearby(free, gpus, homes, racks)
    assert nearby(free, gpus, homes, racks) == Placement((*expected,), (*expected.values(),))


def test_one_taker_nearby_needs_no_generator() -> None:
    def none() -> np.random.Generator:
        raise AssertionError("a choice of one is no draw")

    got = hand_out([1, 4], [Taker(1, 3)], none, is_placement_aware=True)
    assert got == (Placement((0, 1), (1, 2)),)
    assert hand_out([1, 4], [Taker(6, 6)], none) == (Placement((), ()),)
