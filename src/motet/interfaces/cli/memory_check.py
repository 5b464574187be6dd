"""Whether a model can fit, asked before any process is started."""

from __future__ import annotations

from pathlib import Path

from motet.domain.errors import BadInput
from motet.report.quantities import bytes_text
from motet.runtime.application import ModelTable

# Servers hold the values, the summed deltas of a mini-batch, and blocks on their way in or out.
COPIES_PER_SERVER = 3
CGROUP_LIMIT, CGROUP_USED = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")


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


def free_memory_bytes() -> int:
    """Memory that new processes can have: the machine's, or what this container may still use."""
    import psutil

    available = int(psutil.virtual_memory().available)
    limit = _read_count(CGROUP_LIMIT)
    if limit is None:
        return available
    return min(available, max(0, limit - (_read_count(CGROUP_USED) or 0)))


def _read_count(path: Path) -> int | None:
    """The number in a cgroup file; None for "max" or when there is no such file."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
