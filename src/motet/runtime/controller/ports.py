"""What a job needs of a cluster: machines, and executors started on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from motet.domain.errors import JobFailed
from motet.runtime.core.application import Application
from motet.runtime.core.machine import Machine
from motet.runtime.wire.assignment import Assignment, RunOutcome
from motet.transport import Endpoint


class ExecutorLost(Exception):
    """A call to an executor failed because its process or machine is gone."""


class ClusterLost(JobFailed):
    """The cluster itself has ended: none of its machines can be used any more."""


class LaunchGivenUp(Exception):
    """The executors that were being started are not needed any more."""


class MachineGone(ExecutorLost):
    """No executor can be started on a machine that has gone or will be taken away."""


class ExecutorHandle(Protocol):
    """An executor process seen from the controller. Every call may raise ExecutorLost."""

    number: int

    def endpoint(self) -> Endpoint:
        """Where it listens."""
        ...

    def configure(self, assignment: Assignment) -> None:
        """`Executor.configure`, done when this returns."""
        ...

    def run(self, on_end: Callable[[int, RunOutcome | None], None]) -> None:
        """Start `Executor.run`; `on_end(number, outcome)` is called at its end, on any thread.

        An outcome of None means that the process died.
        """
        ...

    def abort(self) -> None:
        """`Executor.abort`."""
        ...

    def kill(self) -> None:
        """End the process now; never raises."""
        ...

    def cpu_s(self) -> float | None:
        """CPU time that the process has used; None: not known here. Never raises."""
        ...


def never() -> bool:
    """The `is_given_up` of a launch that is never given up."""
    return False


@dataclass(frozen=True)
class LaunchRequest:
    """Executors of one job to be started, one on each of `machines`.

    `secret`: the job's on the data plane; `app`: whose kernels they compile; `is_given_up` becomes
    true when they are not needed any more.
    """

    job: str
    machines: tuple[int, ...]
    secret: bytes
    app: Application
    is_given_up: Callable[[], bool] = never


class ExecutorCluster(Protocol):
    """Machines that executors can be started on."""

    @property
    def machine_count(self) -> int:
        """How many machines a job may use at a time."""
        ...

    def machines(self) -> Sequence[Machine]:
        """All machines that a job may use or could once, by number, as they are now. Cheap.

        Raises ClusterLost.
        """
        ...

    @property
    def host(self) -> str:
        """The address of this process that executors can reach."""
        ...

    def launch(self, request: LaunchRequest) -> Mapping[int, ExecutorHandle]:
        """Start one executor on each machine; returns when all of them listen and are warm.

        Raises JobFailed when the cluster cannot host them, MachineGone, ExecutorLost, or
        LaunchGivenUp soon after `request.is_given_up` has become true.
        """
        ...
