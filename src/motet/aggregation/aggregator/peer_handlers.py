"""What an Aggregator does with each request of another one: one handler per kind, in a table."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from motet.aggregation.aggregator.tenant import Tenant
from motet.aggregation.tensors.job_tensors import Effects
from motet.aggregation.tensors.step_gradients import StepEnd
from motet.aggregation.tensors.tensor_slot import TensorSlot
from motet.aggregation.tensors.worker_sets import WorkerSets
from motet.aggregation.wire.peer_requests import (
    ApplyStep,
    AwaitCopy,
    AwaitWorkers,
    CopyTensor,
    DropReplica,
    ExpectTensors,
    KeepBroadcast,
    PeerMessage,
)
from motet.aggregation.wire.tensor_image import decode_images
from motet.aggregation.wire.tensor_spec import OptimizerKind, OptimizerSpec
from motet.aggregation.wire.worker_requests import checked_options, decoded_json
from motet.domain.errors import NotFound, Unreachable
from motet.runtime.wire.codec import decode
from motet.transport import Request

M = TypeVar("M", bound=PeerMessage)


class PeerServices(Protocol):
    """What handlers need of their Aggregator."""

    def tenant(self, job: int) -> Tenant:
        """Raises NotFound."""
        ...

    def carry_out(self, tenant: Tenant, effects: Effects) -> None:
        """See Services."""
        ...

    def own_endpoint(self) -> str:
        """Encoded."""
        ...

    def watch(self, peer: str, message: PeerMessage) -> None:
        """Returns once the peer answers. Raises Unreachable: it has died."""
        ...


@dataclass(frozen=True)
class PeerHandler(Generic[M]):
    """`carry_out(services, tenant, message, request)` answers the request, now or later."""

    message: type[M]
    carry_out: Callable[[PeerServices, Tenant, M, Request], None]

    def handle(self, services: PeerServices, request: Request) -> None:
        """Raises BadMessage, NotFound."""
        message = decode(self.message, request.meta)
        self.carry_out(services, services.tenant(message.job), message, request)


def _expect(services: PeerServices, tenant: Tenant, m: ExpectTensors, request: Request) -> None:
    optimizer = _optimizer(m.optimizer, m.groups)
    new = []
    for number, spec in zip(m.numbers, m.specs, strict=True):
        slot = TensorSlot(number, spec, optimizer)
        slot.is_busy = slot.is_arriving = True
        if optimizer.kind != "none":
            slot.prepare()
        new.append(slot)
    with tenant.lock:
        _learn(tenant, optimizer, m.workers)
        for slot in new:
            tenant.tensors.slots[slot.number] = slot
            tenant.moved.pop(slot.number, None)
        tenant.reserve()
    watch = threading.Thread(target=_watch, args=(services, tenant, m), daemon=True)
    watch.start()
    request.reply()


def _watch(services: PeerServices, tenant: Tenant, m: ExpectTensors) -> None:
    """Give up tensors whose origin dies before the copy: their replicas take over."""
    try:
        services.watch(m.origin, AwaitCopy(m.job, m.numbers))
    except Unreachable:
        for number in m.numbers:
            with tenant.lock:
                slot = tenant.tensors.slots.get(number)
                if slot is None or not slot.is_arriving:
                    continue
                _, effects = tenant.tensors.remove(number)
            services.carry_out(tenant, effects)


def _await_copy(services: PeerServices, tenant: Tenant, m: AwaitCopy, request: Request) -> None:
    def wait() -> None:
        with tenant.lock:
            tenant.copied.wait_for(lambda: not tenant.is_copying(m.numbers))
        request.reply()

    threading.Thread(target=wait, name="motet-await-copy", daemon=True).start()


def _copy(services: PeerServices, tenant: Tenant, m: CopyTensor, request: Request) -> None:
    (image,) = decode_images(m.image.encode(), request.payload)
    optimizer = _optimizer(m.optimizer, m.groups)
    effects = Effects()
    with tenant.lock:
        _learn(tenant, optimizer, m.workers)
        if m.is_replica:
            slot = TensorSlot(m.number, m.spec, optimizer)
            slot.load(image)
            tenant.replicas[m.number] = slot
        else:
            arriving = tenant.tensors.slots.get(m.number)
            if arriving is None or not arriving.is_arriving:
                raise NotFound(f"tensor {m.number} of job {m.job} is not expected here")
            arriving.load(image)
            arriving.is_arriving = False
            tenant.replicas.pop(m.number, None)
            if m.replica and m.replica != services.own_endpoint():
                tenant.replica_at[m.number] = m.replica
            effects = tenant.tensors.adopt(arriving)
    request.reply()
    services.carry_out(tenant, effects)


def _await_workers(
    services: PeerServices, tenant: Tenant, m: AwaitWorkers, request: Request
) -> None:
    with tenant.lock:
        present = [n for n in m.numbers if n in tenant.tensors.slots]
        effects = tenant.tensors.await_versions(present, m.version, request.reply)
    services.carry_out(tenant, effects)


def _apply(services: PeerServices, tenant: Tenant, m: ApplyStep, request: Request) -> None:
    options = checked_options(decoded_json(m.options.encode())) if m.options else None
    end = StepEnd(m.is_applied, options) if m.ends else None
    mean = np.frombuffer(request.payload, np.uint8) if m.has_mean else None
    slot = tenant.replicas.get(m.number)
    if slot is None:
        raise NotFound(f"tensor {m.number} of job {m.job} has no replica here")
    slot.replay(m.step, end, mean, sums=m.sums)
    request.reply()


def _drop_replica(services: PeerServices, tenant: Tenant, m: DropReplica, request: Request) -> None:
    with tenant.lock:
        tenant.replicas.pop(m.number, None)
    request.reply()


def _keep_broadcast(
    services: PeerServices, tenant: Tenant, m: KeepBroadcast, request: Request
) -> None:
    with tenant.lock:
        tenant.broadcasts.keep((m.step, m.index), bytes(request.payload))
    request.reply()


_HANDLERS: tuple[PeerHandler[Any], ...] = (
    PeerHandler(ExpectTensors, _expect),
    PeerHandler(AwaitCopy, _await_copy),
    PeerHandler(CopyTensor, _copy),
    PeerHandler(AwaitWorkers, _await_workers),
    PeerHandler(ApplyStep, _apply),
    PeerHandler(DropReplica, _drop_replica),
    PeerHandler(KeepBroadcast, _keep_broadcast),
)

PEER_HANDLERS: Mapping[int, PeerHandler[Any]] = {
    handler.message.kind: handler for handler in _HANDLERS
}


def _optimizer(kind: OptimizerKind, groups: str) -> OptimizerSpec:
    return OptimizerSpec(kind, tuple(map(checked_options, decoded_json(groups.encode()))))


def _learn(tenant: Tenant, optimizer: OptimizerSpec, workers: Any) -> None:
    """What a job's first tensor here brings along."""
    tensors = tenant.tensors
    tensors.optimizer = tensors.optimizer or optimizer
    if tensors.workers is None and workers:
        tensors.workers = WorkerSets.from_changes(workers)
