"""From the options of the server to the memory that its cluster lends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from motet.interfaces.server.environment import job_environment, training_program
from motet.live.launcher.messages import LauncherRequest
from motet.live.lent_memory.cluster_lenders import ClusterFolder, LenderProgram, LendingOptions
from motet.live.lent_memory.cluster_memory import ClusterMemory, MemoryStatus
from motet.live.master.facts import ClusterDeclared, MemoryBorrowed
from motet.live.master.requests import MemoryAccess, Workplace


def opened_memory(
    wanted: LendingOptions,
    folder: Path,
    cluster: ClusterDeclared,
    lease_s: float,
    send: Callable[[Sequence[LauncherRequest]], None],
    record: Callable[[MemoryBorrowed], Any],
    on_status: Callable[[MemoryStatus], None],
) -> ClusterMemory:
    """What has not started to lend yet. `folder`: state of the server. `send`, `record`,
    `on_status`: see ClusterMemory. Raises BadInput."""
    program = LenderProgram({**job_environment(), **training_program().env}, lease_s)
    # Machines of a Ray cluster are computers of their own.
    shared_by = 1 if cluster.joins else max(len(cluster.names), 1)
    return ClusterMemory(
        ClusterFolder(folder / "memory"),
        replace(wanted, of_machines=shared_by),
        program,
        Workplace(folder, {}),
        send,
        record,
        on_status,
    )


def lending_access(memory: ClusterMemory) -> MemoryAccess:
    """What the environment of jobs follows from."""
    return MemoryAccess(memory.folder.address, memory.secret)
