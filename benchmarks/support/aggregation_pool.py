"""Aggregators in processes of their own, worker processes, and clocks for both."""

from __future__ import annotations

import multiprocessing
import os
import resource
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from motet.aggregation.control.aggregator_process import AggregatorProcess
from motet.aggregation.control.remote_aggregator import RemoteAggregator
from motet.aggregation.wire.aggregator_control import JobAccess
from motet.transport import new_secret, write_secret

WORKERS = 2
QUOTA_BYTES = 8 << 30
WARM_UP_STEPS = 3


class Pool:
    """Aggregators in processes, with job 1 open."""

    def __init__(self, count: int, stack: ExitStack) -> None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        pool_secret, self.secret = new_secret(), new_secret()
        write_secret(folder / "secret", pool_secret)
        self.processes = [
            stack.enter_context(AggregatorProcess(folder / "secret")) for _ in range(count)
        ]
        self.endpoints = [process.endpoint for process in self.processes]
        self.controls = [RemoteAggregator(each, pool_secret) for each in self.endpoints]
        for control in self.controls:
            stack.callback(control.close)
            control.open_job(JobAccess(1, "benchmark", self.secret, QUOTA_BYTES))

    @property
    def process_ids(self) -> list[int]:
        """Of all its processes."""
        return [process.process.pid for process in self.processes]

    def cpu_s(self) -> float:
        """Of all its processes."""
        return cpu_s_of(self.process_ids)


@dataclass(frozen=True)
class BesideGloo:
    """Of a step: its time, that of the slower worker, and the CPU time of all processes."""

    own_s: float
    own_cpu_s: float
    gloo_s: float
    gloo_cpu_s: float


def beside_gloo(
    with_gloo: Callable[..., None],
    with_own: Callable[..., None],
    work: object,
    steps: int,
    aggregators: int,
) -> BesideGloo:
    """Both in one run. `work`: what both are given of a step, as their second argument."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    gloo = both_workers(with_gloo, work, steps, port)
    with ExitStack() as stack:
        pool = Pool(aggregators, stack)
        before_s = pool.cpu_s()
        own = both_workers(with_own, work, steps, pool.secret, pool.endpoints)
        pool_cpu_s = (pool.cpu_s() - before_s) / (steps + WARM_UP_STEPS)
    gloo_s, own_s = (max(step_s for step_s, _ in found) for found in (gloo, own))
    gloo_cpu_s, own_cpu_s = (sum(each_s for _, each_s in found) for found in (gloo, own))
    return BesideGloo(own_s, own_cpu_s + pool_cpu_s, gloo_s, gloo_cpu_s)


def both_workers(target: Callable[..., None], *arguments: object) -> list[tuple[float, float]]:
    """What two processes find: each sends the seconds and the CPU seconds of its step."""
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(WORKERS)]
    workers = [
        context.Process(target=target, args=(rank, *arguments, pipes[rank][1]))
        for rank in range(WORKERS)
    ]
    for worker in workers:
        worker.start()
    found = [pipe.recv() for pipe, _ in pipes]
    for worker in workers:
        worker.join()
    return found


def timed(step: Callable[[], None], steps: int, others: Sequence[int] = ()) -> tuple[float, float]:
    """Median seconds of a step, and CPU seconds of a step after the first ones.

    `others`: processes whose CPU seconds count too.
    """
    for _ in range(WARM_UP_STEPS):
        step()
    seconds = []
    began_cpu_s = cpu_s() + cpu_s_of(others)
    for _ in range(steps):
        began_s = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - began_s)
    return statistics.median(seconds), (cpu_s() + cpu_s_of(others) - began_cpu_s) / steps


def cpu_s() -> float:
    """Of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def cpu_s_of(process_ids: Sequence[int]) -> float:
    """Of other processes."""
    ticks = 0
    for process in process_ids:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def ms(seconds: float) -> str:
    """As text."""
    return f"{1000 * seconds:.1f} ms"
