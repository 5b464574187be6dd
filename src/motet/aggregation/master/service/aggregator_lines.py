"""Carries out instructions on Aggregators, each on a thread of its own."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Mapping
from typing import TypeVar

from motet.aggregation.master.service.ports import ClosableControl, Connect
from motet.aggregation.master.state.events import (
    AggregatorMeasured,
    OperationDone,
    OperationFailed,
    PoolEvent,
)
from motet.aggregation.master.state.instructions import (
    CloseOn,
    ForgetOn,
    MoveTo,
    OpenOn,
    PoolOperation,
    PromoteOn,
    ReplicateTo,
    SetCycleOn,
    SetWorkersOn,
)
from motet.aggregation.wire.aggregator_control import JobAccess
from motet.domain.errors import MotetError, NotFound

T = TypeVar("T")
_LOG = logging.getLogger(__name__)
USUAL_REPETITIONS = 60
"""So often an operation may find that something is not there yet: for about a minute."""


class _HasEnded(Exception):
    """An Aggregator of the operation is gone."""


class AggregatorLines:
    """One connection per Aggregator. `report` gets the events, from any thread."""

    def __init__(
        self, connect: Connect, report: Callable[[PoolEvent], None], measured_every_s: float
    ) -> None:
        self._connect, self._report = connect, report
        self._measured_every_s = measured_every_s
        self._lock = threading.Lock()
        self._controls: dict[int, ClosableControl] = {}
        self._endpoints: dict[int, str] = {}
        self._failures: dict[str, tuple[str, int]] = {}
        self._closing = threading.Event()

    def add(self, number: int, endpoint: str) -> None:
        """Connect, and measure from now on. Raises Unreachable, AuthenticationFailed."""
        control = self._connect(endpoint)
        with self._lock:
            self._controls[number], self._endpoints[number] = control, endpoint
        threading.Thread(target=self._measure, args=(number, control), daemon=True).start()

    def remove(self, number: int) -> None:
        """Disconnect; what is under way there fails."""
        with self._lock:
            control = self._controls.pop(number, None)
            self._endpoints.pop(number, None)
        if control is not None:
            control.close()

    def carry_out(self, operation: PoolOperation, access: JobAccess | None) -> None:
        """Begin an operation; `access`: of the job to open."""
        threading.Thread(target=self._run, args=(operation, access), daemon=True).start()

    def close(self) -> None:
        """Disconnect from all."""
        self._closing.set()
        for number in list(self._controls):
            self.remove(number)

    def _run(self, operation: PoolOperation, access: JobAccess | None) -> None:
        try:
            self._call(operation, access)
        except _HasEnded as error:
            self._report(OperationFailed(operation.operation, str(error)))
        except Exception as error:  # A defect, too: the pool waits for the end of each operation.
            reason = str(error) if isinstance(error, MotetError) else repr(error)
            self._warn(operation, error, reason)
            self._report(OperationFailed(operation.operation, reason))
        else:
            self._failures.pop(described(operation), None)
            self._report(OperationDone(operation.operation))

    def _warn(self, operation: PoolOperation, error: Exception, reason: str) -> None:
        """Once for all repetitions; not of Aggregators that have ended, whose ends are known."""
        names = {operation.aggregator, getattr(operation, "target", operation.aggregator)}
        what = described(operation)
        if not names <= self._controls.keys():
            return
        known, count = self._failures.get(what, ("", 0))
        count = count + 1 if known == reason else 1
        self._failures[what] = reason, count
        # A job's tensors are there once its workers have started.
        if count == (USUAL_REPETITIONS if isinstance(error, NotFound) else 1):
            trace = None if isinstance(error, MotetError) else error
            _LOG.warning("%s failed: %s", what, reason, exc_info=trace)

    def _call(self, operation: PoolOperation, access: JobAccess | None) -> None:
        """Raises MotetError, _HasEnded."""
        control = self._present(self._controls, operation.aggregator)
        match operation:
            case OpenOn():
                assert access is not None, "a job is opened before it has ended"
                control.open_job(access)
            case CloseOn():
                control.close_job(operation.job)
            case SetWorkersOn():
                control.set_workers(operation.job, operation.ranks, operation.from_step)
            case SetCycleOn():
                control.set_cycle(operation.cycle_ns, operation.shares)
            case MoveTo():
                peer = self._present(self._endpoints, operation.target)
                control.move(operation.job, operation.tensors, peer)
            case ReplicateTo():
                peer = self._present(self._endpoints, operation.target)
                control.replicate(operation.job, operation.tensors, peer)
            case PromoteOn():
                control.promote(operation.job, operation.tensors)
            case ForgetOn():
                control.forget_replicas(operation.job, operation.peer)

    def _present(self, known: Mapping[int, T], number: int) -> T:
        with self._lock:
            if number not in known:
                raise _HasEnded(f"Aggregator {number} has ended")
            return known[number]

    def _measure(self, number: int, control: ClosableControl) -> None:
        while not self._closing.wait(self._measured_every_s):
            with contextlib.suppress(MotetError):
                self._report(AggregatorMeasured(number, tuple(control.measurements())))
            if self._controls.get(number) is not control:
                return


def described(operation: PoolOperation) -> str:
    """For the log, in a line: a model may have hundreds of tensors."""
    at = f"Aggregator {operation.aggregator}"
    match operation:
        case OpenOn(job=job):
            return f"{at}: opening job {job}"
        case CloseOn(job=job):
            return f"{at}: closing job {job}"
        case SetWorkersOn(job=job, from_step=step):
            return f"{at}: telling the workers of job {job} from step {step} on"
        case SetCycleOn():
            return f"{at}: telling its cycle"
        case MoveTo(job=job, tensors=tensors, target=target):
            return f"{at}: moving {len(tensors)} tensors of job {job} to Aggregator {target}"
        case ReplicateTo(job=job, tensors=tensors, target=target):
            return f"{at}: copying {len(tensors)} tensors of job {job} to Aggregator {target}"
        case PromoteOn(job=job, tensors=tensors):
            return f"{at}: serving {len(tensors)} tensors of job {job} from replicas"
        case ForgetOn(job=job):
            return f"{at}: going on with job {job} without replicas that lack a step"
