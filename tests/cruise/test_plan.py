"""Plans: fewest bytes, in an order that works, with the wanted configuration at the end."""

from __future__ import annotations

from itertools import permutations, product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.cruise.plan import (
    Add,
    BlockBytes,
    Delete,
    Holding,
    Move,
    Plan,
    Role,
    Switch,
    make_plan,
)
from motet.domain.errors import BadInput
from motet.estimate.epoch_cost import Configuration, Fleet, MachineType

BYTES = BlockBytes(data=100.0, model=30.0)


def fleet_of(*counts: int) -> Fleet:
    kinds = tuple(MachineType(f"t{n}", count, 1e-3) for n, count in enumerate(counts))
    return Fleet(kinds, ((1e8,) * len(counts),) * len(counts))


def holdings_of(types: list[int | None], data: list[int], model: list[int]) -> tuple[Holding, ...]:
    """Machines m0, m1, ... with the blocks dealt in order."""
    made, next_data, next_model = [], 0, 0
    for number, (kind, d, m) in enumerate(zip(types, data, model, strict=True)):
        made.append(
            Holding(
                f"m{number}",
                kind,
                tuple(range(next_data, next_data + d)),
                tuple(range(next_model, next_model + m)),
            )
        )
        next_data, next_model = next_data + d, next_model + m
    return tuple(made)


@st.composite
def changes(draw: st.DrawFn) -> tuple[tuple[Holding, ...], Fleet, Configuration]:
    """A present state of up to six machines of two types and two that leave, and a wanted one."""
    counts = draw(st.integers(1, 3)), draw(st.integers(0, 3))
    leaving = draw(st.integers(0, 2))
    types: list[int | None] = [0] * counts[0] + [1] * counts[1] + [None] * leaving
    data_blocks, model_blocks = draw(st.integers(1, 12)), draw(st.integers(1, 8))
    now = [_deal(draw, blocks, len(types)) for blocks in (data_blocks, model_blocks)]
    then = [_deal(draw, blocks, sum(counts)) for blocks in (data_blocks, model_blocks)]
    wanted = Configuration(tuple(then[0]), tuple(then[1]))
    return holdings_of(types, *now), fleet_of(*counts), wanted


def _deal(draw: st.DrawFn, blocks: int, machines: int) -> list[int]:
    cuts = sorted(draw(st.integers(0, blocks)) for _ in range(machines - 1))
    return [b - a for a, b in zip([0, *cuts], [*cuts, blocks], strict=True)]


def fewest_bytes(current: tuple[Holding, ...], fleet: Fleet, wanted: Configuration) -> float:
    """Over every way to give the machines of each type its places."""
    first, second = ([h for h in current if h.type == kind] for kind in range(len(fleet.types)))
    orders = [[*a, *b] for a, b in product(permutations(first), permutations(second))]
    return min(_incoming_bytes(order, wanted) for order in orders)


def _incoming_bytes(order: list[Holding], wanted: Configuration) -> float:
    return sum(
        max(0, data - len(holding.data_blocks)) * BYTES.data
        + max(0, model - len(holding.model_blocks)) * BYTES.model
        for holding, data, model in zip(order, wanted.data_blocks, wanted.model_blocks, strict=True)
    )


def carried_out(
    plan: Plan, current: tuple[Holding, ...], order: Random
) -> dict[str, tuple[list[int], list[int]]]:
    """The blocks of every executor after operations in any order that `after` allows."""
    state = {
        holding.machine: (list(holding.data_blocks), list(holding.model_blocks))
        for holding in current
        if holding.role or holding.type is None
    }
    waiting, done = list(range(len(plan.operations))), set[int]()
    while waiting:
        ready = [n for n in waiting if done.issuperset(plan.operations[n].after)]
        number = order.choice(ready)
        operation = plan.operations[number]
        if isinstance(operation, Add):
            assert operation.machine not in state
            state[operation.machine] = ([], [])
        elif isinstance(operation, Move):
            table = 0 if operation.table == "data" else 1
            for block in operation.blocks:
                state[operation.source][table].remove(block)
                state[operation.destination][table].append(block)
        elif isinstance(operation, Delete):
            assert state.pop(operation.machine) == ([], [])
        waiting.remove(number)
        done.add(number)
    return state


@settings(max_examples=examples(150))
@given(changes(), st.randoms(use_true_random=False))
def test_any_allowed_order_ends_in_the_wanted_configuration(
    change: tuple[tuple[Holding, ...], Fleet, Configuration], order: Random
) -> None:
    current, fleet, wanted = change
    state = carried_out(make_plan(current, fleet, wanted, BYTES), current, order)
    type_of = {holding.machine: holding.type for holding in current}
    got = sorted((type_of[m], len(d), len(b)) for m, (d, b) in state.items())
    places = zip(fleet.type_of.tolist(), wanted.data_blocks, wanted.model_blocks, strict=True)
    assert got == sorted(place for place in places if place[1] or place[2])
    assert sorted(block for d, _ in state.values() for block in d) == list(
        range(sum(wanted.data_blocks))
    )


@settings(max_examples=examples(150))
@given(changes())
def test_no_assignment_of_machines_moves_fewer_bytes(
    change: tuple[tuple[Holding, ...], Fleet, Configuration],
) -> None:
    current, fleet, wanted = change
    plan = make_plan(current, fleet, wanted, BYTES)
    assert plan.moved_bytes == pytest.approx(fewest_bytes(current, fleet, wanted))
    moved = [(o.table, b) for o in plan.operations if isinstance(o, Move) for b in o.blocks]
    assert len(moved) == len(set(moved))


@settings(max_examples=examples(150))
@given(changes())
def test_a_block_comes_to_a_machine_only_when_it_has_the_role(
    change: tuple[tuple[Holding, ...], Fleet, Configuration],
) -> None:
    current, fleet, wanted = change
    plan = make_plan(current, fleet, wanted, BYTES)
    had = {holding.machine: holding.role for holding in current}
    for operation in plan.operations:
        if isinstance(operation, Move):
            needed = Role.WORKER if operation.table == "data" else Role.SERVER
            starts = [plan.operations[n] for n in operation.after]
            given_roles = [s.role for s in starts if isinstance(s, Add | Switch)]
            roles = given_roles or [had[operation.destination]]
            assert all(needed in role for role in roles)


def test_what_is_as_wanted_needs_no_plan() -> None:
    current = holdings_of([0, 0, 0], [4, 0, 4], [0, 6, 0])
    plan = make_plan(current, fleet_of(3), Configuration((4, 4, 0), (0, 0, 6)), BYTES)
    assert plan.is_empty
    assert plan.moved_bytes == 0


def test_a_worker_becomes_a_server_before_the_model_comes_to_it() -> None:
    current = holdings_of([0, 0, 0], [4, 2, 0], [0, 0, 4])
    plan = make_plan(current, fleet_of(3), Configuration((6, 0, 0), (0, 2, 2)), BYTES)
    assert plan.operations == (
        Switch("m1", Role.SERVER),
        Move("data", (5, 4), "m1", "m0"),
        Move("model", (3, 2), "m2", "m1", after=(0,)),
    )


def test_a_new_machine_is_added_and_a_reclaimed_one_is_emptied_then_deleted() -> None:
    current = (
        Holding("old", None, (0, 1)),
        Holding("new", 0),
        Holding("server", 0, (), (0, 1)),
    )
    plan = make_plan(current, fleet_of(2), Configuration((2, 0), (0, 2)), BYTES)
    assert plan.operations == (
        Add("new", Role.WORKER),
        Move("data", (1, 0), "old", "new", after=(0,)),
        Delete("old", after=(1,)),
    )
    assert plan.moved_bytes == 200


def test_two_machines_can_swap_their_roles() -> None:
    kinds = fleet_of(1, 1)
    current = holdings_of([0, 1], [4, 0], [0, 2])
    plan = make_plan(current, kinds, Configuration((0, 4), (2, 0)), BYTES)
    assert [type(operation) for operation in plan.operations] == [Switch, Switch, Move, Move]


def test_machines_that_the_fleet_does_not_have_are_refused() -> None:
    current = holdings_of([0], [1], [1])
    with pytest.raises(BadInput, match="1 machines of type t0, the fleet has 2"):
        make_plan(current, fleet_of(2), Configuration((1, 0), (0, 1)), BYTES)
