"""Machines go before anything was measured: the others keep their roles."""

from __future__ import annotations

import pytest

from motet.cruise.calibration.fleet_memory import FleetMemory
from motet.cruise.calibration.machine_groups import CandidateMachine
from motet.cruise.kept_roles import configuration_with_kept_roles
from motet.cruise.machine_state import MachineState
from motet.estimate.epoch_cost import Configuration, Profile

PROFILE = Profile(100, 10, 0.0, data_blocks=6, model_blocks=4)


def kept(roles: str) -> Configuration:
    """By a letter per machine that stays: worker, server, both or free."""
    states = [
        MachineState(number, None, (number,) * (role in "wb"), (number,) * (role in "sb"))
        for number, role in enumerate(roles)
    ]
    machines = [CandidateMachine(number) for number in range(len(roles))]
    return configuration_with_kept_roles(PROFILE, FleetMemory().view(machines, states, {}))


@pytest.mark.parametrize(
    ("roles", "data", "model"),
    [
        ("wws", (3, 3, 0), (0, 0, 4)),
        ("wbf", (3, 3, 0), (0, 4, 0)),
        ("wwf", (3, 3, 0), (0, 0, 4)),
        ("www", (3, 3, 0), (0, 0, 4)),
        ("sss", (6, 0, 0), (0, 2, 2)),
        ("sf", (0, 6), (4, 0)),
        ("w", (6,), (4,)),
        ("s", (6,), (4,)),
    ],
)
def test_roles_stay_and_a_role_without_a_holder_gets_one(
    roles: str, data: tuple[int, ...], model: tuple[int, ...]
) -> None:
    assert kept(roles) == Configuration(data, model)
