"""Carries out instructions on Aggregators, each on a thread of its own."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable

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
from motet.domain.errors import MotetError

_LOG = logging.getLogger(__name__)


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
        except (MotetError, KeyError) as error:
            _LOG.warning("%s failed: %s", operation, error)
            self._report(OperationFailed(operation.operation, str(error)))
        else:
            self._report(OperationDone(operation.operation))

    def _call(self, operation: PoolOperation, access: JobAccess | None) -> None:
        """Raises MotetError; KeyError: the Aggregator is gone."""
        control = self._controls[operation.aggregator]
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
                peer = self._endpoints[operation.target]
                control.move(operation.job, operation.tensors, peer)
            case ReplicateTo():
                peer = self._endpoints[operation.target]
                control.replicate(operation.job, operation.tensors, peer)
            case PromoteOn():
                control.promote(operation.job, operation.tensors)
            case ForgetOn():
                control.forget_replicas(operation.job, operation.peer)

    def _measure(self, number: int, control: ClosableControl) -> None:
        while not self._closing.wait(self._measured_every_s):
            with contextlib.suppress(MotetError):
                self._report(AggregatorMeasured(number, tuple(control.measurements())))
            if self._controls.get(number) is not control:
                return
