"""The roles of a machine follow from its blocks and its roles without blocks."""

from __future__ import annotations

import pytest

from motet.cruise.machine_state import MachineState, roles_with
from motet.domain.reconfiguration import Role


@pytest.mark.parametrize(
    ("state", "roles", "holds_blocks"),
    [
        (MachineState(0, None), set(), False),
        (MachineState(0, None, (1,)), {"worker"}, True),
        (MachineState(0, None, (), (1,)), {"server"}, True),
        (MachineState(0, None, (1,), (), ("server",)), {"worker", "server"}, True),
        (MachineState(0, None, empty_roles=("worker",)), {"worker"}, False),
    ],
)
def test_blocks_and_empty_roles_make_the_roles(
    state: MachineState, roles: set[Role], holds_blocks: bool
) -> None:
    assert (state.roles, state.holds_blocks) == (roles, holds_blocks)


def test_each_table_has_its_blocks() -> None:
    state = MachineState(0, None, (3, 4), (5,))
    assert (state.blocks_of("data"), state.blocks_of("model")) == ((3, 4), (5,))


def test_a_machine_without_blocks_needs_no_role() -> None:
    assert roles_with(0, 0) == frozenset()
    assert roles_with(1, 2) == {"worker", "server"}
