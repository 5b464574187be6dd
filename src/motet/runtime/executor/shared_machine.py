"""What the worker of an executor gets that shares its machine with executors of other jobs."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from motet.runtime.arbiter.arbiter_gate import ArbiterGate
from motet.runtime.arbiter.arbiter_process import ensure_arbiter
from motet.runtime.worker.resources import DEFAULT_RESOURCES, WorkerResources
from motet.transport import LinkUse, SharedLink


def resources_beside_others(arbiter: Path | None) -> WorkerResources:
    """`arbiter`: the address of the machine's, which is started where it is missing; None: the
    machine is not shared."""
    if arbiter is None:
        return DEFAULT_RESOURCES
    gate = ArbiterGate(arbiter, partial(ensure_arbiter, arbiter))
    arbiter.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    link = SharedLink(Path(f"{arbiter}.link"))
    return WorkerResources(gate=gate, link_use=LinkUse(link, gate.lane))
