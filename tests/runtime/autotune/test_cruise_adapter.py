"""Cruise's plans on a job's layout: who takes a role on, who hands over, who ends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from motet.cruise import plan as cruise
from motet.cruise.plan import BlockBytes, Holding, make_plan
from motet.estimate.epoch_cost import Configuration, Fleet
from motet.runtime.autotune.cruise_adapter import holdings_of, name_of, runtime_plan
from motet.runtime.elastic.layout import Layout
from motet.runtime.elastic.plan import Add, Delete, Move, Plan
from motet.runtime.elastic.roles import Roles

MACHINES = 5
FLEET = Fleet.uniform(MACHINES, 1e-3, 1e8)
NUMBERS = {name_of(number): number for number in range(MACHINES)}
DATA, MODEL = 12, 10


def layout_of(workers: tuple[int, ...], servers: tuple[int, ...]) -> Layout:
    return Layout.even(Roles(workers, servers), MODEL, DATA)


def translated(layout: Layout, data: tuple[int, ...], model: tuple[int, ...]) -> Plan:
    holdings = [Holding(h.machine, 0, h.data_blocks, h.model_blocks) for h in holdings_of(layout)]
    held = {holding.machine for holding in holdings}
    holdings += [Holding(name, 0) for name in NUMBERS if name not in held]
    wanted = make_plan(holdings, FLEET, Configuration(data, model), BlockBytes(100.0, 10.0))
    return runtime_plan(wanted, layout, NUMBERS)


def split(blocks: int) -> st.SearchStrategy[tuple[int, ...]]:
    cuts = st.lists(st.integers(0, blocks), min_size=MACHINES - 1, max_size=MACHINES - 1)
    return cuts.map(
        lambda places: tuple(
            high - low
            for low, high in zip([0, *sorted(places)], [*sorted(places), blocks], strict=True)
        )
    )


roles = st.sets(st.integers(0, MACHINES - 1), min_size=1).map(lambda s: tuple(sorted(s)))


@given(roles, roles, split(DATA), split(MODEL))
def test_every_plan_can_be_carried_out_in_any_order_that_it_allows(
    workers: tuple[int, ...],
    servers: tuple[int, ...],
    data: tuple[int, ...],
    model: tuple[int, ...],
) -> None:
    layout = layout_of(workers, servers)
    plan = translated(layout, data, model)
    then = plan.checked(layout, range(MACHINES))
    assert sorted(len(then.data.blocks_of(m)) for m in range(MACHINES)) == sorted(data)
    assert sorted(len(then.model.blocks_of(m)) for m in range(MACHINES)) == sorted(model)
    assert all(then.data.blocks_of(worker) for worker in then.workers)
    assert all(then.model.blocks_of(server) for server in then.servers)
    for place, operation in enumerate(plan.operations):
        before = [plan.operations[i] for i in plan.after[place]]
        if isinstance(operation, Delete):
            adds = sum(isinstance(each, Add) for each in plan.operations)
            assert sum(isinstance(each, Add) for each in before) == adds


def test_a_switch_takes_the_new_role_first_and_gives_the_old_one_up_when_it_is_empty() -> None:
    layout = layout_of((0, 1, 2, 3), (4,))
    plan = translated(layout, (4, 4, 4, 0, 0), (0, 0, 0, 5, 5))
    kinds = [type(operation) for operation in plan.operations]
    assert (kinds[0], kinds[-1]) == (Add, Delete)
    add, delete = plan.operations[0], plan.operations[-1]
    assert isinstance(add, Add)
    assert isinstance(delete, Delete)
    assert (add.executor, add.role, delete.role) == (delete.executor, "server", "worker")
    leaving = [
        place
        for place, operation in enumerate(plan.operations)
        if isinstance(operation, Move) and operation.source == delete.executor
    ]
    assert set(plan.after[-1]) == {0, *leaving}


def test_roles_without_blocks_are_cleared_away() -> None:
    layout = layout_of((0, 1), (4,)).with_role(2, "server").with_role(3, "worker")
    plan = translated(layout, (6, 6, 0, 0, 0), (0, 0, 0, 0, 10))
    assert plan.operations == (Delete(2), Delete(3))


def test_who_holds_a_role_already_is_not_given_it_again() -> None:
    layout = layout_of((0, 1), (4,)).with_role(2, "worker")
    moved = layout.data.blocks_of(0)[0]
    wanted = cruise.Plan((cruise.Move("data", (moved,), "0", "2"),), 0.0)
    assert runtime_plan(wanted, layout, NUMBERS).operations == (Move("data", (moved,), 0, 2),)
