"""Trainings on the hosts of a testbed, several at a time, and what they measured."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Protocol

from motet.apps.estimator import Estimator
from motet.datasets.opening import open_dataset
from motet.domain.errors import Interrupted
from motet.estimate.colocation.group_time import SubtaskTimes
from motet.runtime.controller.job import Job
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport
from support.host_cluster import HostMachines

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


@dataclass
class RunningJob:
    """A training in a thread of its own."""

    kind: JobKind
    job: Job
    observer: EpochLog
    thread: threading.Thread
    begun_s: float = field(default_factory=time.monotonic)
    ended_s: float = 0.0
    failures: list[BaseException] = field(default_factory=list)

    @property
    def start_up_s(self) -> float:
        """From its beginning to the end of its first epoch: executors are started and data sent,
        which takes no turns with other jobs."""
        return self.observer.epochs[0][0] - self.begun_s

    def end(self) -> None:
        """Wait for its end. Raises what it raised."""
        self.thread.join()
        for failure in self.failures:
            raise failure


class EpochLog(TrainObserver):
    """The epochs of a job, each with the time of its end."""

    def __init__(self) -> None:
        self.epochs: list[tuple[float, EpochReport]] = []

    def epoch_done(self, report: EpochReport) -> None:
        self.epochs.append((time.monotonic(), report))

    def ended_between(self, begin_s: float, end_s: float) -> int:
        """Mini-batches of the epochs that ended in a window."""
        return sum(len(one.batch_s) for at_s, one in self.epochs if begin_s <= at_s <= end_s)

    def between(self, begin_s: float, end_s: float) -> Measured | None:
        """Means per mini-batch of the epochs that lie in a window, each with its part of the
        evaluations; None: there is none."""
        found = [one for at_s, one in self.epochs if begin_s <= at_s - one.wall_s and at_s <= end_s]
        batches = sum(len(one.batch_s) for one in found)
        if not batches:
            return None
        comp_s = sum(one.comp_s + one.evaluation_comp_s for one in found)
        comm_s = sum(one.comm_s + one.evaluation_comm_s for one in found)
        wall_s = sum(sum(one.batch_s) + one.evaluation_s for one in found)
        return Measured(SubtaskTimes(comp_s / batches, comm_s / batches), wall_s / batches, batches)


@dataclass(frozen=True)
class Measured:
    """Of a mini-batch: its steps and its whole time; a mean over `batches`. `outside_s`: CPU time
    of its hosts outside of COMP, at the speed of a host; 0 beside other jobs."""

    times: SubtaskTimes
    iteration_s: float
    batches: int
    outside_s: float = 0.0


def begin(
    hosts: HostMachines, kind: JobKind, numbers: Sequence[int], *, interleaves: bool, seed: int = 0
) -> RunningJob:
    """Start a training with a worker and a server on each of these hosts."""
    dataset = _dataset(kind.data)
    app = kind.make(1)
    rows = app.prepare(dataset, seed)
    app = kind.make(len(rows))
    rows = app.prepare(dataset, seed)
    count = len(numbers)
    options = TrainOptions(count, count, count, kind.epochs, seed=seed, tol=0.0)
    observer = EpochLog()
    cluster = hosts.cluster(numbers, interleaves=interleaves)
    job = Job(app, rows, options, cluster, observer)
    running: RunningJob

    def run() -> None:
        try:
            job.run()
        except Interrupted:
            pass
        except BaseException as error:
            running.failures.append(error)
        running.ended_s = time.monotonic()

    running = RunningJob(kind, job, observer, threading.Thread(target=run))
    running.thread.start()
    return running


def measured_together(
    hosts: HostMachines,
    kinds: Sequence[JobKind],
    numbers: Sequence[int],
    seconds: float,
    *,
    interleaves: bool = True,
    usage: Callable[[], CpuUse] | None = None,
) -> list[Measured | None]:
    """Train these jobs on the same hosts for so long, from when all of them train. `usage`: begins
    to count the CPU time of all hosts, for a job that is alone on all of them."""
    jobs = [
        begin(hosts, kind, numbers, interleaves=interleaves, seed=seed)
        for seed, kind in enumerate(kinds)
    ]
    while any(len(job.observer.epochs) <= UNMEASURED_EPOCHS for job in jobs):
        if any(job.failures for job in jobs):
            break
        time.sleep(0.05)
    begin_s, counted = time.monotonic(), None if usage is None else usage()
    time.sleep(seconds)
    end_s = time.monotonic()
    cpu_s = 0.0 if counted is None else counted.cpu_s()
    for job in jobs:
        job.job.cancel()
    for job in jobs:
        job.end()
    found = [job.observer.between(begin_s, end_s) for job in jobs]
    return [
        None if one is None else _with_cpu(one, cpu_s, job.observer.ended_between(begin_s, end_s))
        for one, job in zip(found, jobs, strict=True)
    ]


class CpuUse(Protocol):
    """Counts the CPU time of hosts; see HostUsage."""

    def cpu_s(self) -> float:
        """At the speed of a host, the mean over hosts, since it was made."""
        ...


def _with_cpu(measured: Measured, cpu_s: float, batches: int) -> Measured:
    outside_s = cpu_s / batches - measured.times.comp_s if cpu_s and batches else 0.0
    return replace(measured, outside_s=max(outside_s, 0.0))
