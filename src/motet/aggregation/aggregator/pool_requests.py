"""What an Aggregator does with each request of pMaster: one handler per kind, found in a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from motet.aggregation.wire.aggregator_control import AggregatorControl, JobAccess
from motet.aggregation.wire.control_requests import (
    CloseJob,
    ControlMessage,
    ForgetReplicas,
    Measure,
    Measured,
    MoveTensors,
    OpenJob,
    PromoteTensors,
    ReplicateTensors,
    SetCycle,
    SetJobWorkers,
)
from motet.runtime.wire.codec import decode
from motet.transport import Request

M = TypeVar("M", bound=ControlMessage)


@dataclass(frozen=True)
class PoolHandler(Generic[M]):
    """`carry_out` returns the reply's message, if there is one. `is_long`: on its own thread."""

    message: type[M]
    carry_out: Callable[[AggregatorControl, M], Any]
    is_long: bool = False

    def decode(self, request: Request) -> M:
        """Raises BadMessage."""
        return decode(self.message, request.meta, request.payload)


def _open_job(control: AggregatorControl, m: OpenJob) -> None:
    control.open_job(JobAccess(m.job, m.name, bytes.fromhex(m.secret), m.memory_bytes))


_HANDLERS: tuple[PoolHandler[Any], ...] = (
    PoolHandler(OpenJob, _open_job),
    PoolHandler(CloseJob, lambda control, m: control.close_job(m.job)),
    PoolHandler(SetJobWorkers, lambda control, m: control.set_workers(m.job, m.ranks, m.from_step)),
    PoolHandler(SetCycle, lambda control, m: control.set_cycle(m.cycle_ns, m.shares)),
    PoolHandler(
        ReplicateTensors,
        lambda control, m: control.replicate(m.job, m.tensors, m.peer),
        is_long=True,
    ),
    PoolHandler(ForgetReplicas, lambda control, m: control.forget_replicas(m.job, m.peer)),
    PoolHandler(PromoteTensors, lambda control, m: control.promote(m.job, m.tensors)),
    PoolHandler(
        MoveTensors, lambda control, m: control.move(m.job, m.tensors, m.peer), is_long=True
    ),
    PoolHandler(Measure, lambda control, m: Measured(tuple(control.measurements()))),
)

POOL_HANDLERS: Mapping[int, PoolHandler[Any]] = {
    handler.message.kind: handler for handler in _HANDLERS
}
