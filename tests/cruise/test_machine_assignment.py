"""Which machine takes which place of a wanted configuration."""

from __future__ import annotations

import pytest

from motet.cruise.machine_assignment import AssignedMachine, BlockBytes, assign_machines
from motet.cruise.machine_state import MachineState
from motet.domain.errors import BadInput
from motet.estimate.epoch_cost import Configuration, Fleet, MachineType

BYTES = BlockBytes(data=100.0, model=30.0)
FLEET = Fleet.uniform(2, 1e-3, 1e8)
TWO_TYPES = Fleet((MachineType("a", 1, 1.0), MachineType("b", 1, 1.0)), ((1.0, 1.0), (1.0, 1.0)))


def blocks(*assigned: AssignedMachine) -> dict[int, tuple[int, int]]:
    return {each.state.machine: (each.data_blocks, each.model_blocks) for each in assigned}


def test_machines_of_a_type_take_the_places_that_keep_their_blocks() -> None:
    current = [MachineState(0, 0, (0, 1)), MachineState(1, 0, (), (0, 1))]
    assigned = assign_machines(current, FLEET, Configuration((0, 2), (2, 0)), BYTES)
    assert blocks(*assigned) == {0: (2, 0), 1: (0, 2)}


def test_the_heavier_blocks_stay_where_both_tables_cannot() -> None:
    current = [MachineState(0, 0, (0, 1), (0, 1, 2)), MachineState(1, 0)]
    assigned = assign_machines(current, FLEET, Configuration((2, 0), (0, 3)), BYTES)
    assert blocks(*assigned) == {0: (2, 0), 1: (0, 3)}


def test_machines_of_another_type_keep_their_own_places() -> None:
    current = [MachineState(0, 0, (0, 1)), MachineState(1, 1, (), (0, 1))]
    assigned = assign_machines(current, TWO_TYPES, Configuration((0, 2), (2, 0)), BYTES)
    assert blocks(*assigned) == {0: (0, 2), 1: (2, 0)}


def test_a_machine_that_must_be_left_holds_nothing_afterwards() -> None:
    leaving = MachineState(7, None, (0, 1))
    current = [leaving, MachineState(0, 0), MachineState(1, 0, (), (0,))]
    assigned = assign_machines(current, FLEET, Configuration((2, 0), (0, 1)), BYTES)
    assert assigned[0] == AssignedMachine(leaving, 0, 0)
    assert assigned[0].roles == frozenset()


def test_surplus_counts_blocks_above_the_wanted_number() -> None:
    assigned = AssignedMachine(MachineState(0, 0, (4, 5, 6), (1,)), 1, 3)
    assert (assigned.surplus("data"), assigned.surplus("model")) == (2, -2)
    assert assigned.roles == {"worker", "server"}


def test_states_that_do_not_match_the_fleet_are_refused() -> None:
    with pytest.raises(BadInput, match="1 machines of type machine, the fleet has 2"):
        assign_machines([MachineState(0, 0)], FLEET, Configuration((1, 0), (0, 1)), BYTES)
