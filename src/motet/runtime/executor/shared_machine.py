"""What the worker of an executor gets that shares its machine with executors of other jobs."""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from motet.runtime.arbiter.arbiter_gate import ArbiterGate
from motet.runtime.arbiter.arbiter_process import SUBTASK_LIMIT_S, ensure_arbiter
from motet.runtime.worker.resources import DEFAULT_RESOURCES, WorkerResources
from motet.transport import LinkUse, SharedLink

_NAME_CHARACTERS = 10


class SharedMachine(NamedTuple):
    """`arbiter`: the address of the machine's. `job`: see ArbiterGate. `cpus`: how many COMPs may
    run at a time, `limit_s`: see SUBTASK_LIMIT_S; both if the executor is the first one that needs
    the arbiter.
    """

    arbiter: Path
    job: str
    cpus: int = 1
    limit_s: float = SUBTASK_LIMIT_S


def job_label(job: str, secret: bytes) -> str:
    """Tells jobs of the same name apart. `secret`: of the job; it cannot be told from the label."""
    return f"{job[:_NAME_CHARACTERS]}-{sha256(secret).hexdigest()[:4]}"


def resources_beside_others(shared: SharedMachine | None) -> WorkerResources:
    """The arbiter is started where it is missing. None: the machine is not shared."""
    if shared is None:
        return DEFAULT_RESOURCES
    ensure = partial(ensure_arbiter, shared.arbiter, shared.cpus, shared.limit_s)
    # The first subtask would wait for the start; it reports the error, too.
    threading.Thread(target=_quietly, args=(ensure,), name="arbiter", daemon=True).start()
    gate = ArbiterGate(shared.arbiter, ensure, shared.job)
    shared.arbiter.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    link = SharedLink(Path(f"{shared.arbiter}.link"))
    return WorkerResources(gate=gate, link_use=LinkUse(link, gate.lane))


def _quietly(ensure: partial[None]) -> None:
    with suppress(OSError):
        ensure()
