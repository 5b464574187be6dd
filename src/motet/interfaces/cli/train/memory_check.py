"""Checks that a model fits into memory, before executors are started."""

from __future__ import annotations

from motet.apps.inputs.memory import free_memory_bytes
from motet.domain.errors import BadInput
from motet.report.rendering.quantities import bytes_text
from motet.runtime.core.application import ModelTable

# Servers hold the values, the summed updates of a mini-batch, and blocks that are being moved.
COPIES_PER_SERVER = 3


def require_model_memory(table: ModelTable, workers: int, is_one_host: bool, servers: int) -> None:
    """Raises BadInput if the model does not fit into the free memory of this machine.

    On one host the shares of all servers and the pulled copies of all workers are in the same
    memory. Machines of a joined cluster are assumed to have as much memory as this one, which must
    hold the share of a server, or the copy of the driver.
    """
    if is_one_host:
        needed = (COPIES_PER_SERVER + workers) * table.nbytes
    else:
        needed = max(COPIES_PER_SERVER * table.nbytes // servers, table.nbytes)
    free = free_memory_bytes()
    if needed > free:
        raise BadInput(
            f"the model of {table.key_count:,} x {table.value_bytes:,} bytes = "
            f"{bytes_text(table.nbytes)} needs about {bytes_text(needed)} of memory with "
            f"{workers} workers and {servers} servers, {bytes_text(free)} is free; make the model "
            "smaller (--set), use fewer workers, or join a larger cluster (--address)"
        )
