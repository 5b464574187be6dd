"""The machines of a running job as Cruise reads them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from motet.cruise.calibration.machine_groups import CandidateMachine
from motet.cruise.machine_state import MachineState
from motet.domain.reconfiguration import Role
from motet.runtime.core.machine import Machine
from motet.runtime.elastic.layout import JobLayout


def machine_states(layout: JobLayout) -> list[MachineState]:
    """The roles and blocks of every executor; its type is left open."""
    return [_state(layout, executor) for executor in layout.executors]


def candidate_machines(machines: Iterable[Machine]) -> list[CandidateMachine]:
    """The machines that a job may use."""
    return [
        CandidateMachine(each.number, each.kind, each.condition == "leaving") for each in machines
    ]


def _state(layout: JobLayout, executor: int) -> MachineState:
    data, model = layout.data.blocks_of(executor), layout.model.blocks_of(executor)
    holds: dict[Role, bool] = {"worker": bool(data), "server": bool(model)}
    empty = tuple(role for role in layout.roles_of(executor) if not holds[role])
    return MachineState(executor, None, tuple(data), tuple(model), empty)
