"""Plans: fewest bytes, in an order that works, with the wanted configuration at the end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import permutations, product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.cruise.machine_assignment import BlockBytes
from motet.cruise.machine_state import MachineState
from motet.cruise.plan import make_plan
from motet.domain.reconfiguration import Add, Delete, Move, Operation, Plan, Role, holder_role
from motet.estimate.epoch_cost import Configuration, Fleet, MachineType

BYTES = BlockBytes(data=100.0, model=30.0)
ROLES: tuple[Role, ...] = ("worker", "server")


def fleet_of(*counts: int) -> Fleet:
    kinds = tuple(MachineType(f"t{n}", count, 1e-3) for n, count in enumerate(counts))
    return Fleet(kinds, ((1e8,) * len(counts),) * len(counts))


def states_of(
    types: list[int | None],
    data: list[int],
    model: list[int],
    empty_roles: list[tuple[Role, ...]] | None = None,
) -> tuple[MachineState, ...]:
    """Machines 0, 1, ... with the blocks dealt in order."""
    made, next_data, next_model = [], 0, 0
    empty = empty_roles or [()] * len(types)
    for number, (kind, d, m) in enumerate(zip(types, data, model, strict=True)):
        data_blocks = tuple(range(next_data, next_data + d))
        model_blocks = tuple(range(next_model, next_model + m))
        made.append(MachineState(number, kind, data_blocks, model_blocks, empty[number]))
        next_data, next_model = next_data + d, next_model + m
    return tuple(made)


@dataclass(frozen=True)
class Case:
    """Present states, and a wanted configuration of a fleet."""

    current: tuple[MachineState, ...]
    fleet: Fleet
    wanted: Configuration

    @property
    def plan(self) -> Plan:
        return make_plan(self.current, self.fleet, self.wanted, BYTES)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Up to six machines of two types and two that leave; some roles without blocks."""
    counts = draw(st.integers(1, 3)), draw(st.integers(0, 3))
    leaving = draw(st.integers(0, 2))
    types: list[int | None] = [0] * counts[0] + [1] * counts[1] + [None] * leaving
    data_blocks, model_blocks = draw(st.integers(1, 12)), draw(st.integers(1, 8))
    now = [_deal(draw, blocks, len(types)) for blocks in (data_blocks, model_blocks)]
    then = [_deal(draw, blocks, sum(counts)) for blocks in (data_blocks, model_blocks)]
    empty: list[tuple[Role, ...]] = [
        tuple(
            role
            for role, held in zip(ROLES, (now[0][i], now[1][i]), strict=True)
            if not held and draw(st.booleans())
        )
        for i in range(len(types))
    ]
    current = states_of(types, *now, empty)
    return Case(current, fleet_of(*counts), Configuration(tuple(then[0]), tuple(then[1])))


def _deal(draw: st.DrawFn, blocks: int, machines: int) -> list[int]:
    cuts = sorted(draw(st.integers(0, blocks)) for _ in range(machines - 1))
    return [b - a for a, b in zip([0, *cuts], [*cuts, blocks], strict=True)]


def fewest_bytes(case: Case) -> float:
    """Over every way to give the machines of each type its places."""
    kinds = range(len(case.fleet.types))
    first, second = ([s for s in case.current if s.type == kind] for kind in kinds)
    orders = [[*a, *b] for a, b in product(permutations(first), permutations(second))]
    return min(_incoming_bytes(order, case.wanted) for order in orders)


def _incoming_bytes(order: list[MachineState], wanted: Configuration) -> float:
    return sum(
        max(0, data - len(state.data_blocks)) * BYTES.data
        + max(0, model - len(state.model_blocks)) * BYTES.model
        for state, data, model in zip(order, wanted.data_blocks, wanted.model_blocks, strict=True)
    )


class Executors:
    """The roles and blocks of every executor while operations are carried out."""

    def __init__(self, current: tuple[MachineState, ...]) -> None:
        self.blocks = {
            (state.machine, role): {*(state.data_blocks, state.model_blocks)[role == "server"]}
            for state in current
            for role in state.roles
        }

    def carry_out(self, operation: Operation) -> None:
        """Raises AssertionError for what the runtime would refuse."""
        if isinstance(operation, Add):
            assert (operation.executor, operation.role) not in self.blocks
            self.blocks[operation.executor, operation.role] = set()
        elif isinstance(operation, Move):
            role = holder_role(operation.table)
            self.blocks[operation.source, role] -= {*operation.blocks}
            self.blocks[operation.destination, role] |= {*operation.blocks}
        else:
            assert isinstance(operation, Delete)
            for role in ROLES if operation.role is None else (operation.role,):
                assert not self.blocks.pop((operation.executor, role), set())
        assert {role for _, role in self.blocks} == {*ROLES}

    def counts(self, machine: int) -> tuple[int, int]:
        """Data blocks and model blocks of a machine."""
        data, model = (len(self.blocks.get((machine, role), ())) for role in ROLES)
        return data, model


def carried_out(case: Case, order: Random) -> Executors:
    """The executors after operations in any order that `after` allows."""
    executors, plan = Executors(case.current), case.plan
    waiting, done = list(range(len(plan.operations))), set[int]()
    while waiting:
        number = order.choice([n for n in waiting if done.issuperset(plan.after[n])])
        executors.carry_out(plan.operations[number])
        waiting.remove(number)
        done.add(number)
    return executors


@settings(max_examples=examples(150))
@given(cases(), st.randoms(use_true_random=False))
def test_any_allowed_order_ends_in_the_wanted_configuration(case: Case, order: Random) -> None:
    executors = carried_out(case, order)
    wanted = zip(case.wanted.data_blocks, case.wanted.model_blocks, strict=True)
    places = Counter(zip(case.fleet.type_of.tolist(), wanted, strict=True))
    left = sum(state.type is None for state in case.current)
    assert Counter((s.type, executors.counts(s.machine)) for s in case.current) == places + Counter(
        {(None, (0, 0)): left}
    )
    if not case.plan.is_empty:
        assert all(executors.blocks.values())


@settings(max_examples=examples(150))
@given(cases())
def test_no_assignment_of_machines_moves_fewer_bytes(case: Case) -> None:
    moves = [each for each in case.plan.operations if isinstance(each, Move)]
    moved_bytes = sum(len(move.blocks) * getattr(BYTES, move.table) for move in moves)
    assert moved_bytes == pytest.approx(fewest_bytes(case))
    moved = Counter((move.table, block) for move in moves for block in move.blocks)
    assert set(moved.values()) <= {1}


def test_the_wanted_configuration_needs_no_plan() -> None:
    current = states_of([0, 0, 0], [4, 0, 4], [0, 6, 0])
    case = Case(current, fleet_of(3), Configuration((4, 4, 0), (0, 0, 6)))
    assert case.plan.is_empty


def test_roles_without_blocks_end_with_the_next_plan_and_are_no_reason_for_one() -> None:
    current = states_of([0, 0, 0], [4, 0, 4], [0, 6, 0], [("server",), (), ()])
    as_wanted = Case(current, fleet_of(3), Configuration((4, 4, 0), (0, 0, 6)))
    assert as_wanted.plan.is_empty
    other = Case(current, fleet_of(3), Configuration((5, 3, 0), (0, 0, 6)))
    assert other.plan == Plan((Move("data", (3,), 0, 2), Delete(0, "server")), ((), (0,)))


def test_no_role_is_added_twice() -> None:
    current = states_of([0, 0, 0], [4, 0, 0], [0, 0, 4], [(), ("worker",), ()])
    case = Case(current, fleet_of(3), Configuration((2, 2, 0), (0, 0, 4)))
    assert case.plan == Plan((Move("data", (3, 2), 0, 1),), ((),))


def test_a_worker_becomes_a_server_before_model_blocks_reach_it() -> None:
    current = states_of([0, 0, 0], [4, 2, 0], [0, 0, 4])
    case = Case(current, fleet_of(3), Configuration((6, 0, 0), (0, 2, 2)))
    assert case.plan.operations == (
        Add(1, "server"),
        Move("data", (5, 4), 1, 0),
        Move("model", (3, 2), 2, 1),
        Delete(1, "worker"),
    )
    assert case.plan.after == ((), (), (0,), (0, 1))


def test_a_new_machine_is_added_and_a_reclaimed_one_is_emptied_then_deleted() -> None:
    current = (
        MachineState(0, None, (0, 1)),
        MachineState(1, 0),
        MachineState(2, 0, (), (0, 1)),
    )
    case = Case(current, fleet_of(2), Configuration((2, 0), (0, 2)))
    assert case.plan.operations == (Add(1, "worker"), Move("data", (1, 0), 0, 1), Delete(0))
    assert case.plan.after == ((), (0,), (0, 1))


def test_a_reclaimed_machine_without_blocks_is_deleted() -> None:
    current = (*states_of([0, 0], [4, 0], [0, 2]), MachineState(2, None, empty_roles=("worker",)))
    case = Case(current, fleet_of(2), Configuration((4, 0), (0, 2)))
    assert case.plan == Plan((Delete(2),), ((),))


def test_two_machines_can_swap_their_roles() -> None:
    current = states_of([0, 1], [4, 0], [0, 2])
    case = Case(current, fleet_of(1, 1), Configuration((0, 4), (2, 0)))
    assert case.plan.operations == (
        Add(1, "worker"),
        Add(0, "server"),
        Move("data", (3, 2, 1, 0), 0, 1),
        Move("model", (1, 0), 1, 0),
        Delete(0, "worker"),
        Delete(1, "server"),
    )
    assert case.plan.after == ((), (), (0,), (1,), (0, 1, 2), (0, 1, 3))
