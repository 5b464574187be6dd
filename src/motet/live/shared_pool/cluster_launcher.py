"""Aggregators as processes of the live cluster: its launcher starts them beside the jobs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from motet.aggregation.master.processes.pool_folder import PoolFolder
from motet.domain.errors import Unreachable
from motet.live.beside_jobs.launched_processes import (
    ENDPOINT_FILE,
    LaunchedProcesses,
    ProcessKind,
    ProcessTask,
)
from motet.live.launcher.messages import LauncherRequest, Report
from motet.runtime.blas_threads import ONE_BLAS_THREAD


@dataclass(frozen=True)
class AggregatorProgram:
    """`env`: variables of every Aggregator. `lease_s`: how long they run on without a launcher."""

    env: Mapping[str, str]
    lease_s: float


class ClusterLauncher:
    """Implements AggregatorLauncher. Thread-safe."""

    def __init__(
        self,
        folder: PoolFolder,
        program: AggregatorProgram,
        send: Callable[[Sequence[LauncherRequest]], None],
    ) -> None:
        """With the Aggregators that a server before has started. `send`: see LaunchedProcesses."""
        self._folder, self._program = folder, program
        kind = ProcessKind("aggregator", "Aggregator", folder.aggregators, program.lease_s)
        self._processes = LaunchedProcesses(kind, send)
        self._machines: tuple[str, ...] = ()

    def use_machines(self, names: Sequence[str]) -> None:
        """Machines that take new Aggregators from now on."""
        self._machines = tuple(names)

    def requests(self) -> list[LauncherRequest]:
        """Everything that a new launcher of the cluster has to do."""
        return self._processes.requests()

    def take(self, report: Report) -> bool:
        """Hear a report of the cluster's launcher; returns whether it is about an Aggregator."""
        return self._processes.take(report)

    def machine_of(self, number: int) -> str:
        """The machine of a process; empty: there is none."""
        return self._processes.machine_of(number)

    def numbers_on(self, machines: Collection[str]) -> list[int]:
        """Of the processes on these machines."""
        return self._processes.numbers_on(machines)

    # -- AggregatorLauncher ------------------------------------------------------------------------

    def start(self, number: int) -> str:
        """See AggregatorLauncher. On a machine with the fewest Aggregators."""
        self._processes.start(number, self._task)
        return self._processes.awaited_endpoint(number)

    def stop(self, number: int) -> None:
        """See AggregatorLauncher; it may not have ended yet on return."""
        self._processes.stop(number)

    def kill(self, number: int) -> None:
        """See AggregatorLauncher."""
        self._processes.kill(number)

    def await_end(self, number: int) -> None:
        """See AggregatorLauncher."""
        self._processes.await_end(number)

    def running(self) -> Mapping[int, str]:
        """See AggregatorLauncher."""
        return self._processes.endpoints()

    def _task(self, folder: Path) -> ProcessTask:
        """Raises Unreachable: no machine takes it."""
        argv = (
            *(sys.executable, "-P", "-m", "motet.aggregation.aggregator"),
            *("--secret-file", str(self._folder.pool_secret)),
            *("--endpoint-file", str(folder / ENDPOINT_FILE)),
        )
        return ProcessTask(self._chosen_machine(), argv, {**self._program.env, **ONE_BLAS_THREAD})

    def _chosen_machine(self) -> str:
        machines, used = self._machines, [*self._processes.machines().values()]
        if not machines:
            raise Unreachable("no machine of the cluster takes an Aggregator now")
        return min(machines, key=lambda name: (used.count(name), machines.index(name)))
