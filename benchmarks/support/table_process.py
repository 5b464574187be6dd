"""A process that serves tables and runs no job, for measurements."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from multiprocessing.connection import Connection

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.core.application import Step
from motet.runtime.core.consistency import Async, Synchronisation
from motet.runtime.core.table_spec import TableSpec
from motet.runtime.server.served_tables import ServedTables
from motet.runtime.server.shard import Shard
from motet.runtime.wire.ownership import Ownership
from motet.transport import Endpoint, Server, use_short_switch_interval

_FORK = multiprocessing.get_context("fork")


class TableProcess:
    """Serves whole tables, whose update function adds, until it is closed."""

    def __init__(self, specs: Sequence[TableSpec], secret: bytes) -> None:
        self.specs = {spec.number: spec for spec in specs}
        pipe, theirs = _FORK.Pipe()
        self._process = _FORK.Process(target=_serve, args=(specs, secret, theirs), daemon=True)
        self._process.start()
        self.endpoint: Endpoint = pipe.recv()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()


def _serve(specs: Sequence[TableSpec], secret: bytes, pipe: Connection) -> None:
    use_short_switch_interval()
    served = ServedTables("the table process", [_shard_of(spec) for spec in specs])
    pipe.send(Server(served.handle, secret).endpoint)
    multiprocessing.Event().wait()


def _shard_of(spec: TableSpec) -> Shard:
    ownership = Ownership.even(spec.block_count, [0])
    return Shard(spec, _add, Synchronisation(Async(), ()), ownership, executor=0)


def _add(values: Array, delta: Array, step: Step) -> None:
    del step
    np.add(values, delta, out=values)
