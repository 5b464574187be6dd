"""A job's layout in Cruise's terms, and Cruise's plans carried out on the layout."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from motet.cruise.calibration.machine_groups import CandidateMachine
from motet.cruise.machine_assignment import BlockBytes
from motet.cruise.machine_state import MachineState
from motet.cruise.plan import make_plan
from motet.domain.reconfiguration import Plan
from motet.estimate.epoch_cost import Configuration, Fleet
from motet.runtime.autotune.machine_states import candidate_machines, machine_states
from motet.runtime.core.machine import Machine
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.elastic.plan_effects import layout_after_plan
from motet.runtime.elastic.role_placement import RolePlacement

MACHINES = 5
FLEET = Fleet.uniform(MACHINES, 1e-3, 1e8)
DATA, MODEL = 12, 10


def layout_of(workers: tuple[int, ...], servers: tuple[int, ...]) -> JobLayout:
    return JobLayout.even(RolePlacement(workers, servers), MODEL, DATA)


def planned(layout: JobLayout, data: tuple[int, ...], model: tuple[int, ...]) -> Plan:
    held = {state.machine: state for state in machine_states(layout)}
    states = [
        MachineState(m, 0, held[m].data_blocks, held[m].model_blocks, held[m].empty_roles)
        if m in held
        else MachineState(m, 0)
        for m in range(MACHINES)
    ]
    return make_plan(states, FLEET, Configuration(data, model), BlockBytes(100.0, 10.0))


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
def test_every_plan_of_cruise_can_be_carried_out_by_the_runtime(
    workers: tuple[int, ...],
    servers: tuple[int, ...],
    data: tuple[int, ...],
    model: tuple[int, ...],
) -> None:
    layout = layout_of(workers, servers)
    then = layout_after_plan(layout, planned(layout, data, model), range(MACHINES))
    assert sorted(len(then.data.blocks_of(m)) for m in range(MACHINES)) == sorted(data)
    assert sorted(len(then.model.blocks_of(m)) for m in range(MACHINES)) == sorted(model)
    assert all(then.data.blocks_of(worker) for worker in then.workers)
    assert all(then.model.blocks_of(server) for server in then.servers)


def test_every_executor_is_listed_with_its_blocks_and_its_roles_without_blocks() -> None:
    layout = layout_of((0, 1), (1,)).with_role(2, "server").with_role(0, "server")
    assert machine_states(layout) == [
        MachineState(0, None, (0, 2, 4, 6, 8, 10), (), ("server",)),
        MachineState(1, None, (1, 3, 5, 7, 9, 11), tuple(range(MODEL))),
        MachineState(2, None, (), (), ("server",)),
    ]


def test_machines_keep_their_numbers_and_kinds() -> None:
    machines = [Machine(3, "a", "fast"), Machine(7, "b", "slow", "leaving", notice_s=30.0)]
    assert candidate_machines(machines) == [
        CandidateMachine(3, "fast"),
        CandidateMachine(7, "slow", is_leaving=True),
    ]
