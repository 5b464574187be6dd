"""What an executor gives its worker beside the assignment: parts that can be exchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from motet.runtime.core.process_memory import own_resident_bytes
from motet.runtime.worker.block_store import MakeStore, MemoryBlockStore
from motet.runtime.worker.subtask_gate import OPEN_GATE, SubtaskGate
from motet.transport import LinkUse


@dataclass(frozen=True)
class WorkerResources:
    """The same for all generations of an executor.

    `make_store`: makes the store of each share of the data; `gate`: admits the subtasks;
    `link_use`: how what a subtask sends uses the machine's link; None: no other job is there.
    `memory_bytes`: the memory that the job has on this machine now.
    """

    make_store: MakeStore = MemoryBlockStore
    gate: SubtaskGate = OPEN_GATE
    link_use: LinkUse | None = None
    memory_bytes: Callable[[], int] = own_resident_bytes


DEFAULT_RESOURCES = WorkerResources()
