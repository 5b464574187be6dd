"""Roles and blocks of a machine, the input of Cruise."""

from __future__ import annotations

from dataclasses import dataclass

from motet.domain.reconfiguration import Role, TableName


@dataclass(frozen=True)
class MachineState:
    """The roles and blocks of one machine; blocks by their numbers.

    `type`: its type in the fleet; None: the job must leave the machine. `empty_roles`: roles
    without blocks. A machine without a role has no executor.
    """

    machine: int
    type: int | None
    data_blocks: tuple[int, ...] = ()
    model_blocks: tuple[int, ...] = ()
    empty_roles: tuple[Role, ...] = ()

    @property
    def holds_blocks(self) -> bool:
        """Whether any block is on the machine."""
        return bool(self.data_blocks or self.model_blocks)

    @property
    def roles(self) -> frozenset[Role]:
        """All roles of its executor."""
        return roles_with(len(self.data_blocks), len(self.model_blocks)) | {*self.empty_roles}

    def blocks_of(self, table: TableName) -> tuple[int, ...]:
        """The blocks of one table on the machine."""
        return self.data_blocks if table == "data" else self.model_blocks


def roles_with(data_blocks: int, model_blocks: int) -> frozenset[Role]:
    """The roles of a machine with these numbers of blocks."""
    roles = set[Role]()
    if data_blocks:
        roles.add("worker")
    if model_blocks:
        roles.add("server")
    return frozenset(roles)
