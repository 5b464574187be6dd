"""Assignment of machines to the places of a configuration with the fewest bytes moved.

Machines of a type are equal, so every assignment of a type's machines to its places gives the
wanted configuration. The Hungarian method finds the assignment that keeps the most bytes in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from motet.cruise.machine_state import MachineState, roles_with
from motet.domain.errors import BadInput
from motet.domain.reconfiguration import Role, TableName
from motet.estimate.epoch_cost import Configuration, Fleet


@dataclass(frozen=True)
class BlockBytes:
    """Bytes of one block of each table."""

    data: float
    model: float


@dataclass(frozen=True)
class AssignedMachine:
    """A machine and its wanted numbers of blocks."""

    state: MachineState
    data_blocks: int
    model_blocks: int

    @property
    def roles(self) -> frozenset[Role]:
        """The wanted roles."""
        return roles_with(self.data_blocks, self.model_blocks)

    def surplus(self, table: TableName) -> int:
        """Blocks above the wanted number; negative for missing blocks."""
        wanted = self.data_blocks if table == "data" else self.model_blocks
        return len(self.state.blocks_of(table)) - wanted


def assign_machines(
    current: Sequence[MachineState], fleet: Fleet, wanted: Configuration, block_bytes: BlockBytes
) -> list[AssignedMachine]:
    """Machines to leave first, then every type's machines with their wanted blocks.

    Raises BadInput if `current` and the fleet differ in the number of machines of a type.
    """
    assigned = [AssignedMachine(state, 0, 0) for state in current if state.type is None]
    for number, kind in enumerate(fleet.types):
        same = [state for state in current if state.type == number]
        slots = np.flatnonzero(fleet.type_of == number).tolist()
        if len(same) != len(slots):
            raise BadInput(f"{len(same)} machines of type {kind.name}, the fleet has {len(slots)}")
        places = [(wanted.data_blocks[slot], wanted.model_blocks[slot]) for slot in slots]
        assigned += _assigned(same, places, block_bytes)
    return assigned


def _assigned(
    states: Sequence[MachineState], places: Sequence[tuple[int, int]], block_bytes: BlockBytes
) -> list[AssignedMachine]:
    """Fewest incoming bytes; among equal assignments, fewest changes of roles."""
    from scipy.optimize import linear_sum_assignment

    have_data = np.array([len(state.data_blocks) for state in states])[:, None]
    have_model = np.array([len(state.model_blocks) for state in states])[:, None]
    want_data, want_model = np.array(places).reshape(-1, 2).T
    incoming = np.maximum(want_data - have_data, 0) * block_bytes.data
    incoming = incoming + np.maximum(want_model - have_model, 0) * block_bytes.model
    changes = ((want_data > 0) != (have_data > 0)).astype(float)
    changes += (want_model > 0) != (have_model > 0)
    least_bytes = min(block_bytes.data, block_bytes.model)
    cost = incoming + changes * least_bytes / (4 * len(places) + 1)
    # Every machine has a row, in order.
    _, columns = linear_sum_assignment(cost)
    taken = [places[column] for column in columns.tolist()]
    return [AssignedMachine(state, *place) for state, place in zip(states, taken, strict=True)]
