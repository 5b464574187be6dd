"""The tables that one server process owns blocks of, found by the number in a request."""

from __future__ import annotations

from collections.abc import Iterable

from motet.domain.errors import JobFailed
from motet.runtime.server.shard import Shard
from motet.runtime.wire.messages import ReplyStatus
from motet.runtime.wire.table_requests import NO_GENERATION, Target
from motet.transport import Request


class ServedTables:
    """Serves the tables of one generation of a job, or tables that belong to no job."""

    def __init__(
        self, server: str, shards: Iterable[Shard], generation: int = NO_GENERATION
    ) -> None:
        """`server`: its name in error messages; requests of another generation are refused.

        Raises ValueError for two shards with the same table number.
        """
        self._server = server
        self._generation = generation
        self._shards: dict[int, Shard] = {}
        for shard in shards:
            if shard.spec.number in self._shards:
                raise ValueError(f"{server} would serve table {shard.spec.number} twice")
            self._shards[shard.spec.number] = shard

    def __getitem__(self, table: int) -> Shard:
        """This server's part of a table. Raises JobFailed for a table that it does not serve."""
        shard = self._shards.get(table)
        if shard is None:
            raise JobFailed(f"{self._server} has no table {table}")
        return shard

    def handle(self, request: Request) -> None:
        """Answer PULL, PUSH, UPDATE or PUT, now or later; STALE in another generation."""
        target, offset = Target.decode(request.meta)
        if target.generation != self._generation:
            request.reply(ReplyStatus.STALE)
            return
        shard = self._shards.get(target.table) or self[target.table]
        shard.handle(request, target, offset)

    def set_workers(self, workers: tuple[int, ...], clock: int) -> None:
        """Set the workers that keep step on every table; a new one begins with `clock`."""
        for shard in self._shards.values():
            shard.set_workers(workers, clock)
