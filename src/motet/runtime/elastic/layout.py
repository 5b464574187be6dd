"""The layout of a job: workers, servers, and the owners of model and data blocks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from motet.domain.reconfiguration import Role, RoleCounts, TableName
from motet.runtime.elastic.role_placement import RolePlacement
from motet.runtime.wire.ownership import Ownership


@dataclass(frozen=True, eq=False)
class JobLayout:
    """RolePlacement of executors and owners of blocks.

    An executor has the number of its machine and is a worker, a server or both. Only servers own
    model blocks, only workers own data blocks.
    """

    workers: tuple[int, ...]
    servers: tuple[int, ...]
    model: Ownership
    data: Ownership

    @classmethod
    def even(cls, roles: RolePlacement, model_blocks: int, data_blocks: int) -> Self:
        """The same number of blocks for every holder of a role, give or take one."""
        # A small mini-batch is a stretch of neighbouring data blocks: interleaved, it reaches every
        # worker.
        return cls(
            roles.workers,
            roles.servers,
            Ownership.even(model_blocks, roles.servers),
            Ownership.dealt(data_blocks, roles.workers),
        )

    @property
    def executors(self) -> list[int]:
        """Executors with a role."""
        return sorted({*self.workers, *self.servers})

    @property
    def counts(self) -> RoleCounts:
        """Numbers of workers and servers."""
        return RoleCounts(len(self.workers), len(self.servers))

    def with_role(self, executor: int, role: Role) -> Self:
        """One more worker or server; it has no blocks yet."""
        if role == "worker":
            return replace(self, workers=tuple(sorted({*self.workers, executor})))
        return replace(self, servers=tuple(sorted({*self.servers, executor})))

    def without_role(self, executor: int, role: Role) -> Self:
        """One worker or server less; its blocks go to the other holders with fewest blocks."""
        others = tuple(one for one in self.holders(role) if one != executor)
        if role == "worker":
            return replace(self, workers=others, data=_spread(self.data, executor, others))
        return replace(self, servers=others, model=_spread(self.model, executor, others))

    def replaced(self, executor: int, replacement: int) -> Self:
        """`replacement`, which has no role yet, gets all roles and blocks of `executor`."""

        def numbers(before: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(sorted(replacement if one == executor else one for one in before))

        return replace(
            self,
            workers=numbers(self.workers),
            servers=numbers(self.servers),
            model=self.model.moved(self.model.blocks_of(executor), replacement),
            data=self.data.moved(self.data.blocks_of(executor), replacement),
        )

    def retired(self, server: int) -> Self:
        """A server gives up its role before its blocks have moved away."""
        return replace(self, servers=tuple(one for one in self.servers if one != server))

    def abandoned_by(self, leaving: Sequence[int]) -> Self:
        """These executors give up all roles and keep their blocks; see `repaired`."""

        def others(present: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(one for one in present if one not in leaving)

        return replace(self, workers=others(self.workers), servers=others(self.servers))

    def repaired(self) -> Self:
        """Blocks of owners without the role (a move was cut off) go to the holders of the role."""
        model, data = self.model, self.data
        for former in sorted({*model.owners.tolist()} - {*self.servers}):
            model = _spread(model, former, self.servers)
        for former in sorted({*data.owners.tolist()} - {*self.workers}):
            data = _spread(data, former, self.workers)
        return replace(self, model=model, data=data)

    def moved(self, table: TableName, blocks: Sequence[int], destination: int) -> Self:
        """`destination` owns these blocks."""
        if table == "data":
            return replace(self, data=self.data.moved(blocks, destination))
        return replace(self, model=self.model.moved(blocks, destination))

    def holders(self, role: Role) -> tuple[int, ...]:
        """The workers or the servers."""
        return self.workers if role == "worker" else self.servers

    def owners(self, table: TableName) -> Ownership:
        """The owners of a table's blocks."""
        return self.data if table == "data" else self.model

    def roles_of(self, executor: int) -> tuple[Role, ...]:
        """The roles of an executor."""
        roles: list[Role] = []
        if executor in self.workers:
            roles.append("worker")
        if executor in self.servers:
            roles.append("server")
        return tuple(roles)


def _spread(owned: Ownership, former: int, others: Sequence[int]) -> Ownership:
    """The blocks of a former owner go to the others, each to the one with fewest blocks then."""
    moving = owned.blocks_of(former)
    if not moving:
        return owned
    counts = {one: len(owned.blocks_of(one)) for one in others}
    owners = owned.owners.copy()
    for block in moving:
        least = min(others, key=lambda one: (counts[one], one))
        counts[least] += 1
        owners[block] = least
    return Ownership(owned.version + 1, owners)
