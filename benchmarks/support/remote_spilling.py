"""The same trainings with `--spill` to the disk and to the memory of another process, in turns."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

import motet
from motet.domain.arrays import Array
from motet.interfaces.training_job import TrainingJob
from motet.remote_memory.core.head_room import PoolLimits
from motet.remote_memory.lender.lender import Lender, LenderSettings
from motet.transport import new_secret, use_short_switch_interval, write_secret
from support.figures import Figure
from support.limited_disk import throttled_disk

DISK = Path("/var/tmp")
MB_PER_S, IOPS = 125, 3000
"""What a disk of a cloud's machine has (AWS gp3 without extra provision)."""
SETTLING = 2
_SLAB = 64 << 20
_AS_ON_ANOTHER_MACHINE = -20
"""The lender does not wait for CPU time behind the trainings and what else runs here."""
Options: TypeAlias = dict[str, Any]
BeginJobs = Callable[[motet.Cluster, Options], list[TrainingJob]]


class MemoryGroup(Protocol):
    """Limits the memory of processes that join."""

    def join(self, process: int) -> None: ...


LimitMemory = Callable[[], AbstractContextManager[MemoryGroup]]


@dataclass(frozen=True)
class SpillRun:
    """Means over jobs and epochs after the first SETTLING; bytes of all jobs and all epochs."""

    epoch_s: float
    load_s: float
    remote_bytes: int
    backup_bytes: int
    models: tuple[bytes, ...]

    def __str__(self) -> str:
        return f"{self.epoch_s:.3f} s, {self.load_s:.3f} waiting"


def remote_figures(
    machines: int, begin: BeginJobs, memory: LimitMemory, turns: int, lent_bytes: int
) -> list[Figure]:
    """One figure with a limited disk, one with the disk as it is. `memory`: of the jobs."""
    figures = []
    with tempfile.TemporaryDirectory() as name, lender(Path(name), lent_bytes) as remote:
        for title, is_throttled in ((f"{MB_PER_S} MB/s, {IOPS} IOPS", True), ("no limit", False)):
            print(title)
            pairs = [
                [
                    spill_run(machines, begin, memory, options, is_throttled=is_throttled)
                    for options in ({}, remote)
                ]
                for _ in range(turns)
            ]
            disk, lent = zip(*pairs, strict=True)
            figures.append(_compared(title, disk, lent, is_throttled))
    return figures


def spill_run(
    machines: int,
    begin: BeginJobs,
    memory: LimitMemory,
    options: Options,
    *,
    is_throttled: bool,
) -> SpillRun:
    """All jobs at a time, with limited memory, and a limited disk if asked for."""
    with ExitStack() as stack:
        group = stack.enter_context(memory())
        cluster = stack.enter_context(motet.Cluster(machines, interleave=True))
        group.join(cluster._cluster.template_id)
        if is_throttled:
            disk = stack.enter_context(throttled_disk(DISK, MB_PER_S, IOPS))
            disk.join(cluster._cluster.template_id)
        results = [job.result() for job in begin(cluster, options)]
    epochs = [result.losses[SETTLING:] for result in results]
    documents = [result.document for result in results]
    run = SpillRun(
        float(np.mean([each["wall_s"].mean() for each in epochs])),
        float(np.mean([each["load_s"].mean() for each in epochs])),
        sum(each.remote_read_bytes for each in documents),
        sum(each.backup_read_bytes for each in documents),
        tuple(_bytes_of(result.model.cluster_centers_) for result in results),
    )
    place = "lender" if options else "disk"
    print(
        f"{place}: {run}; read {run.remote_bytes / 1e6:.0f} MB from the lender, "
        f"{run.backup_bytes / 1e6:.0f} MB from its backup",
        flush=True,
    )
    return run


def _compared(
    title: str, disk: Sequence[SpillRun], remote: Sequence[SpillRun], has_target: bool
) -> Figure:
    assert len({run.models for run in (*disk, *remote)}) == 1, "the models differ"
    faster = min(disk, key=lambda run: run.epoch_s), min(remote, key=lambda run: run.epoch_s)
    ratio = faster[0].epoch_s / faster[1].epoch_s
    return Figure(
        f"remote, disk ({title})",
        str(faster[1]),
        str(faster[0]),
        ratio,
        1.0 if has_target else None,
    )


@contextmanager
def lender(folder: Path, lent_bytes: int) -> Iterator[Options]:
    """A process that lends so much; the options of a training that spills to it."""
    secret = new_secret()
    write_secret(folder / "secret", secret)
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    running = context.Process(target=_serve, args=(secret, lent_bytes // _SLAB, theirs))
    running.start()
    try:
        yield {"spill_to": ours.recv(), "spill_secret": folder / "secret"}
    finally:
        ours.send(None)
        running.join()


def _serve(secret: bytes, slabs: int, pipe: Connection) -> None:
    use_short_switch_interval()
    os.nice(_AS_ON_ANOTHER_MACHINE)
    limits = PoolLimits(1 << 40, 0, _SLAB, slabs)
    with Lender(LenderSettings(limits), secret, lambda: 1 << 39) as served:
        pipe.send(f"127.0.0.1:{served.endpoint.port}")
        pipe.recv()


def _bytes_of(array: Array) -> bytes:
    return np.ascontiguousarray(array).tobytes()
