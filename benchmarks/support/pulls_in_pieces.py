"""A PULL in pieces of 2 MB, as jobs with `--spill` make it, beside the same PULL as a whole."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from motet.runtime.client.table_client import TableClient
from motet.runtime.core.application import ModelTable
from motet.runtime.core.table_spec import TableSpec
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.peers import ExecutorPeers
from motet.transport import Arena
from support.figures import Figure
from support.table_process import TableProcess

SECRET = bytes(range(32))
MB, ROW_BYTES = 1 << 20, 1 << 10
SIZES_MB = (2, 16, 96)
LINKS = {"TCP": False, "shared memory": True}


def pull_figures(rounds: int) -> list[Figure]:
    """Medians of PULLs of a whole table in memory; both kinds take turns."""
    figures = []
    for number, size_mb in enumerate(SIZES_MB, start=1):
        model = ModelTable(size_mb * MB // ROW_BYTES, (ROW_BYTES // 4,), np.dtype(np.float32))
        server = TableProcess([TableSpec.of(number, model)], SECRET)
        try:
            for link, shared_memory in LINKS.items():
                pulls = [
                    _pull(server, number, shared_memory=shared_memory, pieces=pieces)
                    for pieces in (False, True)
                ]
                whole_s, pieces_s = _medians_s(pulls, rounds)
                figures.append(
                    Figure(
                        f"PULL of {size_mb} MB, {link}: in pieces, whole",
                        f"{pieces_s * 1e3:.2f} ms",
                        f"{whole_s * 1e3:.2f} ms",
                        pieces_s / whole_s,
                    )
                )
        finally:
            server.close()
    return figures


def _pull(
    server: TableProcess, number: int, *, shared_memory: bool, pieces: bool
) -> Callable[[], object]:
    spec = server.specs[number]
    peers = ExecutorPeers({0: server.endpoint}, SECRET, Arena(), shared_memory=shared_memory)
    ownership = Ownership.even(spec.block_count, [0])
    client = TableClient(spec, ownership, peers, 7, pulls_in_chunks=pieces)
    plan, out = client.plan(None), client.buffer(spec.model.key_count)
    return lambda: client.multi_get(plan, out)


def _medians_s(pulls: list[Callable[[], object]], rounds: int) -> list[float]:
    times_s: list[list[float]] = [[] for _ in pulls]
    for pull in pulls:
        pull()  # Makes the connection.
    for _ in range(rounds):
        for pull, seen_s in zip(pulls, times_s, strict=True):
            began_s = time.perf_counter()
            pull()
            seen_s.append(time.perf_counter() - began_s)
    return [statistics.median(each) for each in times_s]
