"""Trainings on the hosts of a testbed, several at a time, and what they measured."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from motet.apps.estimator import Estimator
from motet.datasets.opening import open_dataset
from motet.domain.errors import Interrupted
from motet.estimate.colocation.group_time import SubtaskTimes
from motet.runtime.controller.job import Job
from motet.runtime.core.options import SpillOptions, TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport, TrainResult
from motet.runtime.core.rows import Rows
from support.host_cluster import HostMachines

NEVER = 1_000_000
"""Epochs until a checkpoint, which takes no turns and is no part of an iteration."""
UNMEASURED_EPOCHS = 1
"""Of every job: connections are made and caches filled."""


@dataclass(frozen=True)
class JobKind:
    """A training. `make(rows)`: its application for so many instances."""

    name: str
    data: str
    make: Callable[[int], Estimator]
    epochs: int


@cache
def _dataset(data: str) -> Any:
    return open_dataset(data)


@cache
def _prepared(data: str, make: Callable[[int], Estimator], seed: int) -> tuple[Estimator, Rows]:
    app = make(1)
    app = make(len(app.prepare(_dataset(data), seed)))
    return app, app.prepare(_dataset(data), seed)


def prepare(kind: JobKind, seed: int) -> None:
    """The input of a job, so that `begin` need not; it is kept."""
    _prepared(kind.data, kind.make, seed)


@dataclass
class RunningJob:
    """A training in a thread of its own."""

    kind: JobKind
    job: Job
    observer: EpochLog
    thread: threading.Thread
    begun_s: float = field(default_factory=time.monotonic)
    ended_s: float = 0.0
    """When its hosts were free: the fitted model, which no schedule needs, is made later."""
    is_trained: bool = False
    result: TrainResult | None = None
    failures: list[BaseException] = field(default_factory=list)

    @property
    def start_up_s(self) -> float | None:
        """From its beginning until its executors have their data, which takes no turns with other
        jobs. None: it has not come so far."""
        later = [each for each in self.observer.starts if each > self.begun_s]
        return later[0] - self.begun_s if later else None

    @property
    def wind_down_s(self) -> float:
        """From its last epoch to its end."""
        return self.ended_s - self.observer.epochs[-1][0] if self.observer.epochs else 0.0

    def end(self) -> None:
        """Wait until it has ended, or stopped after `suspend`. Raises what it raised."""
        self.thread.join()
        for failure in self.failures:
            raise failure


class EpochLog(TrainObserver):
    """The epochs of a job, each with the time of its end, and when its executors had their data.

    An epoch that was stopped and continued elsewhere tells nothing of the start between.
    """

    def __init__(self) -> None:
        self.epochs: list[tuple[float, EpochReport]] = []
        self.starts: list[float] = []
        self.when_freed: Callable[[], None] = lambda: None

    def started(self, instance_count: int, model_bytes: int) -> None:
        del instance_count, model_bytes
        self.starts.append(time.monotonic())

    def epoch_done(self, report: EpochReport) -> None:
        self.epochs.append((time.monotonic(), report))

    def freed(self) -> None:
        self.when_freed()

    def between(self, begin_s: float, end_s: float, cpus: float = 1.0) -> Measured | None:
        """Means per mini-batch of the epochs that lie in a window, each with its part of the
        evaluations; None: there is none. `cpus`: of a host."""
        whole = [
            (at_s, one)
            for at_s, one in self.epochs
            if begin_s <= at_s - one.cycle_s and at_s <= end_s
        ]
        found = [one for _, one in whole]
        batches = sum(len(one.batch_s) for one in found)
        if not batches:
            return None
        comp_s = sum(one.comp_s + one.evaluation_comp_s for one in found)
        comm_s = sum(one.comm_s + one.evaluation_comm_s for one in found)
        outside_s = max(sum(one.cpu_s for one in found) / cpus - comp_s, 0.0)
        later = batches - len(found[0].batch_s)
        cycle_s = sum(one.cycle_s for one in found) / batches
        period_s = (whole[-1][0] - whole[0][0]) / later if later else cycle_s
        in_turns_s = (comp_s + comm_s + sum(one.gate_s for one in found)) / batches
        times = SubtaskTimes(
            comp_s / batches,
            comm_s / batches,
            outside_s / batches,
            max(period_s - in_turns_s, 0.0),
        )
        return Measured(
            times,
            SubtaskTimes(
                sum(one.evaluation_comp_s for one in found) / len(found),
                sum(one.evaluation_comm_s for one in found) / len(found),
            ),
            cycle_s,
            period_s,
            batches,
            batches // len(found),
        )


@dataclass(frozen=True)
class Measured:
    """Of a mini-batch, means over `batches`: its steps with its part of the evaluations, all of it
    until the slowest worker has ended, and the time until the next one ends, which the controller
    is a part of. `evaluation`: of an epoch, which has so many mini-batches (`per_epoch`)."""

    times: SubtaskTimes
    evaluation: SubtaskTimes
    iteration_s: float
    period_s: float
    batches: int
    per_epoch: int


@dataclass(frozen=True)
class KeptState:
    """Of a job that may be suspended and started again: `folder` of its checkpoints (None: it has
    none), and all of its epochs. `spill`: input that it keeps on disk."""

    folder: Path | None = None
    observer: EpochLog = field(default_factory=EpochLog)
    spill: SpillOptions | None = None


@dataclass(frozen=True)
class Together:
    """Jobs that trained on the same hosts, None: no whole epoch; fractions of CPU and link in
    use."""

    jobs: list[Measured | None]
    cpu: float
    network: float


def begin(
    hosts: HostMachines,
    kind: JobKind,
    numbers: Sequence[int],
    *,
    interleaves: bool,
    seed: int = 0,
    kept: KeptState | None = None,
    ended: Callable[[], None] = lambda: None,
) -> RunningJob:
    """Start a training with a worker and a server on each of these hosts. `ended`: called in its
    thread when its hosts are free, since it was trained, was stopped or has failed."""
    app, rows = _prepared(kind.data, kind.make, seed)
    count = len(numbers)
    kept = KeptState() if kept is None else kept
    options = TrainOptions(
        count,
        count,
        count,
        kind.epochs,
        seed=seed,
        tol=0.0,
        checkpoint_every=NEVER,
        checkpoint_dir=kept.folder,
        resume=kept.folder is not None and bool(kept.observer.epochs),
        spill=kept.spill,
    )
    observer = kept.observer
    cluster = hosts.cluster(numbers, interleaves=interleaves)
    job = Job(deepcopy(app), rows, options, cluster, observer)
    running: RunningJob

    def freed(*, is_trained: bool) -> None:
        if not running.is_trained:
            running.is_trained, running.ended_s = is_trained, time.monotonic()
            ended()

    def run() -> None:
        try:
            running.result = job.run()
        except Interrupted:
            pass
        except BaseException as error:
            running.failures.append(error)
        freed(is_trained=False)

    observer.when_freed = lambda: freed(is_trained=True)
    running = RunningJob(kind, job, observer, threading.Thread(target=run))
    running.thread.start()
    return running


def measured_together(
    hosts: HostMachines,
    kinds: Sequence[JobKind],
    numbers: Sequence[int],
    seconds: float,
    usage: Callable[[], Usage],
    cpus: float,
    hurry: Callable[[], AbstractContextManager[None]],
) -> Together:
    """Train these jobs on the same hosts for so long. See `measured_on`."""
    places = [(kind, numbers) for kind in kinds]
    return measured_on(hosts, places, seconds, usage, cpus, hurry)


def measured_on(
    hosts: HostMachines,
    places: Sequence[tuple[JobKind, Sequence[int]]],
    seconds: float,
    usage: Callable[[], Usage],
    cpus: float,
    hurry: Callable[[], AbstractContextManager[None]],
) -> Together:
    """Train jobs, each on its hosts, for so long from when all of them train. `usage`: begins to
    count; `cpus`: of each host; `hurry`: the context in which they start."""
    with hurry():
        jobs = [
            begin(hosts, kind, numbers, interleaves=True, seed=seed)
            for seed, (kind, numbers) in enumerate(places)
        ]
        _await(jobs, [UNMEASURED_EPOCHS] * len(jobs))
    _await_another_epoch(jobs)
    begin_s, counted = time.monotonic(), usage()
    time.sleep(seconds)
    end_s = time.monotonic()
    cpu, network = counted.fractions(end_s - begin_s)
    for job in jobs:
        job.job.cancel()
    for job in jobs:
        job.end()
    found = [job.observer.between(begin_s, end_s, cpus) for job in jobs]
    return Together(found, cpu, network)


def _await_another_epoch(jobs: Sequence[RunningJob]) -> None:
    """The one under way began before the limits of the hosts were set."""
    _await(jobs, [len(job.observer.epochs) for job in jobs])


def _await(jobs: Sequence[RunningJob], epochs: Sequence[int]) -> None:
    """Until each job has trained more epochs than so many, or one has failed."""
    while any(
        len(job.observer.epochs) <= count for job, count in zip(jobs, epochs, strict=True)
    ) and not any(job.failures for job in jobs):
        time.sleep(0.05)


class Usage(Protocol):
    """See HostUsage."""

    def fractions(self, seconds: float) -> tuple[float, float]:
        """Of CPU and link, since it was made."""
        ...
