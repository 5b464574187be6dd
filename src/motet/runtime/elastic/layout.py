"""Who does what in a job: workers, servers, and the owners of model and data blocks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from motet.domain.reconfiguration import Role, RoleCounts, TableName
from motet.runtime.elastic.roles import Roles
from motet.runtime.wire.ownership import Ownership


@dataclass(frozen=True, eq=False)
class Layout:
    """Executors have the numbers of their machines; one may be a worker, a server or both.

    Only servers own model blocks, only workers own data blocks.
    """

    workers: tuple[int, ...]
    servers: tuple[int, ...]
    model: Ownership
    data: Ownership

    @classmethod
    def even(cls, roles: Roles, model_blocks: int, data_blocks: int) -> Self:
        """The same number of blocks for everybody, give or take one."""
        # A small mini-batch is a stretch of neighbouring data blocks: dealt, it uses every worker.
        return cls(
            roles.workers,
            roles.servers,
            Ownership.even(model_blocks, roles.servers),
            Ownership.dealt(data_blocks, roles.workers),
        )

    @property
    def executors(self) -> list[int]:
        """Those with a role."""
        return sorted({*self.workers, *self.servers})

    @property
    def counts(self) -> RoleCounts:
        """How many do what."""
        return RoleCounts(len(self.workers), len(self.servers))

    def with_role(self, executor: int, role: Role) -> Self:
        """One more worker or server; it has no blocks yet."""
        if role == "worker":
            return replace(self, workers=tuple(sorted({*self.workers, executor})))
        return replace(self, servers=tuple(sorted({*self.servers, executor})))

    def without_role(self, executor: int, role: Role) -> Self:
        """One worker or server less; what it owned is spread over the others, see `spread`."""
        others = tuple(one for one in self.holders(role) if one != executor)
        if role == "worker":
            return replace(self, workers=others, data=_spread(self.data, executor, others))
        return replace(self, servers=others, model=_spread(self.model, executor, others))

    def handed_over(self, executor: int, successor: int) -> Self:
        """`successor`, who has no role yet, is what `executor` was and owns what it owned."""

        def numbers(before: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(sorted(successor if one == executor else one for one in before))

        return replace(
            self,
            workers=numbers(self.workers),
            servers=numbers(self.servers),
            model=self.model.moved(self.model.blocks_of(executor), successor),
            data=self.data.moved(self.data.blocks_of(executor), successor),
        )

    def retired(self, server: int) -> Self:
        """No server any more, though it still has blocks, which it is about to move away."""
        return replace(self, servers=tuple(one for one in self.servers if one != server))

    def abandoned_by(self, leavers: Sequence[int]) -> Self:
        """They have no role any more; see `repaired` for what they owned."""

        def others(present: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(one for one in present if one not in leavers)

        return replace(self, workers=others(self.workers), servers=others(self.servers))

    def repaired(self) -> Self:
        """Blocks whose owners are gone (a move was cut off) belong to the others."""
        model, data = self.model, self.data
        for stranger in sorted({*model.owners.tolist()} - {*self.servers}):
            model = _spread(model, stranger, self.servers)
        for stranger in sorted({*data.owners.tolist()} - {*self.workers}):
            data = _spread(data, stranger, self.workers)
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
        """Who owns the blocks of a table."""
        return self.data if table == "data" else self.model

    def roles_of(self, executor: int) -> tuple[Role, ...]:
        """What an executor is."""
        roles: list[Role] = []
        if executor in self.workers:
            roles.append("worker")
        if executor in self.servers:
            roles.append("server")
        return tuple(roles)


def _spread(owned: Ownership, leaver: int, others: Sequence[int]) -> Ownership:
    """A leaver's blocks to the others, each to who has fewest then."""
    leaving = owned.blocks_of(leaver)
    if not leaving:
        return owned
    counts = {one: len(owned.blocks_of(one)) for one in others}
    owners = owned.owners.copy()
    for block in leaving:
        least = min(others, key=lambda one: (counts[one], one))
        counts[least] += 1
        owners[block] = least
    return Ownership(owned.version + 1, owners)
