"""Whether a model can fit, asked before any process is started."""

from __future__ import annotations

from motet.apps.inputs.memory import free_memory_bytes
from motet.domain.errors import BadInput
from motet.report.rendering.quantities import bytes_text
from motet.runtime.core.application import ModelTable

# Servers hold the values, the summed deltas of a mini-batch, and blocks on their way in or out.
COPIES_PER_SERVER = 3


def require_memory(table: ModelTable, workers: int, is_one_host: bool, servers: int) -> None:
    """Raise BadInput when the model cannot fit into the memory that is free on this machine.

    On one host all servers' shares and every worker's pulled copy lie in the same memory. Machines
    of a joined cluster are taken to be like this one: a server's share and the driver's copy fit.
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
