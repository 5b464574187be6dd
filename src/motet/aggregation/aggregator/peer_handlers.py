"""What an Aggregator does with each request of another one: one handler per kind, in a table."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from motet.aggregation.aggregator.tenant import Tenant
from motet.aggregation.tensors.effects import Effects
from motet.aggregation.tensors.slot_computation import Computation, apply
from motet.aggregation.tensors.step_gradients import Release, StepEnd
from motet.aggregation.tensors.tensor_slot import TensorSlot
from motet.aggregation.tensors.worker_sets import WorkerSets
from motet.aggregation.wire.message_kinds import CopyStatus
from motet.aggregation.wire.peer_requests import (
    ApplyStep,
    AwaitCopy,
    AwaitWorkers,
    CopyTensors,
    DropReplica,
    ExpectTensors,
    KeepBroadcast,
    PeerMessage,
)
from motet.aggregation.wire.tensor_image import TensorImage, decode_images
from motet.aggregation.wire.tensor_spec import OptimizerKind, OptimizerSpec
from motet.aggregation.wire.worker_requests import checked_options, decoded_json
from motet.domain.errors import JobFailed, NotFound, Unreachable
from motet.runtime.wire.codec import decode
from motet.runtime.wire.errors import BadMessage
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
        if not slot.is_sums_only and number not in tenant.replicas:
            slot.prepare()
        new.append(slot)
    with tenant.lock:
        _learn(tenant, optimizer, m.workers)
        former = {n: slot for n, slot in tenant.tensors.slots.items() if n in m.numbers}
        releases = list[Release]()
        tenant.tensors.slots.update({slot.number: slot for slot in new})
        try:
            tenant.reserve()
        except JobFailed:
            for slot in new:
                del tenant.tensors.slots[slot.number]
            tenant.tensors.slots.update(former)
            tenant.recount()
            raise
        for slot in new:
            tenant.moved.pop(slot.number, None)
            if slot.number in former:  # The move is tried again.
                releases += slot.inherit(former[slot.number])
    services.carry_out(tenant, Effects(calls=releases))
    watch = threading.Thread(target=_watch, args=(services, tenant, m, new), daemon=True)
    watch.start()
    request.reply()


def _watch(
    services: PeerServices, tenant: Tenant, m: ExpectTensors, slots: Sequence[TensorSlot]
) -> None:
    """Give up tensors whose origin cannot be reached before the copy: it takes them back, or has
    died, and their replicas take over."""
    try:
        services.watch(m.origin, AwaitCopy(m.job, m.numbers))
    except Unreachable:
        for slot in slots:
            with tenant.lock:
                if tenant.tensors.slots.get(slot.number) is not slot or not slot.is_arriving:
                    continue
                effects = tenant.give_up(slot.number)
            services.carry_out(tenant, effects)


def _await_copy(services: PeerServices, tenant: Tenant, m: AwaitCopy, request: Request) -> None:
    def wait() -> None:
        with tenant.lock:
            tenant.copied.wait_for(lambda: not tenant.is_copying(m.numbers))
        request.reply()

    threading.Thread(target=wait, name="motet-await-copy", daemon=True).start()


def _copy(services: PeerServices, tenant: Tenant, m: CopyTensors, request: Request) -> None:
    images = decode_images(m.images.encode(), request.payload)
    optimizer = _optimizer(m.optimizer, m.groups)
    with tenant.lock:
        _learn(tenant, optimizer, m.workers)
    if m.are_replicas:
        for spec, image in zip(m.specs, images, strict=True):
            slot = TensorSlot(image.tensor, spec, optimizer)
            slot.load(image)
            tenant.keep_replica(slot)
        request.reply()
        return
    arriving = [_arriving(tenant, image) for image in images]
    for slot, image in zip(arriving, images, strict=True):
        if not _is_of_replica(slot, image):
            slot.load(image)
    effects, is_awaited = _arrived(services, tenant, arriving, m.replicas)
    request.reply(CopyStatus.AWAITED if is_awaited else CopyStatus.IN_TIME)
    services.carry_out(tenant, effects)


def _arriving(tenant: Tenant, image: TensorImage) -> TensorSlot:
    """The expected tensor, with the contents of its replica if there are no others."""
    with tenant.lock:
        slot = tenant.tensors.slots.get(image.tensor)
        if slot is None or not slot.is_arriving:
            raise NotFound(f"tensor {image.tensor} of job {tenant.access.job} is not expected here")
        if _is_of_replica(slot, image):
            replica = tenant.replicas.get(image.tensor)
            if replica is None or replica.version != image.version:
                raise NotFound(
                    f"tensor {image.tensor} of job {tenant.access.job} has no equal replica here"
                )
            slot.take_over(replica)
    return slot


def _is_of_replica(slot: TensorSlot, image: TensorImage) -> bool:
    """Whether the tensor came without arrays because its replica is here."""
    return image.value is None and image.version >= 0 and not slot.is_sums_only


def _arrived(
    services: PeerServices, tenant: Tenant, arriving: Sequence[TensorSlot], replicas: Sequence[str]
) -> tuple[Effects, bool]:
    """Serve these tensors; returns also whether workers have waited for it."""
    effects, is_awaited = Effects(), False
    with tenant.lock:
        slots = tenant.tensors.slots
        if any(slots.get(slot.number) is not slot for slot in arriving):
            raise NotFound(f"a tensor of job {tenant.access.job} is not expected here any more")
        for slot, replica in zip(arriving, replicas, strict=True):
            slot.is_arriving = False
            tenant.replicas.pop(slot.number, None)
            if replica and replica != services.own_endpoint():
                tenant.replica_at[slot.number] = replica
            effects.add(tenant.tensors.adopt(slot))
            is_awaited |= slot.has_gradients()
        tenant.recount()
    return effects, is_awaited


def _await_workers(
    services: PeerServices, tenant: Tenant, m: AwaitWorkers, request: Request
) -> None:
    with tenant.lock:
        present = [n for n in m.numbers if n in tenant.tensors.slots]
        effects = tenant.tensors.await_versions(present, m.version, request.reply)
    services.carry_out(tenant, effects)


def _apply(services: PeerServices, tenant: Tenant, m: ApplyStep, request: Request) -> None:
    ends = _ends(m)
    replicas = tenant.follow(m.numbers)
    is_complete = False
    try:
        computations = _computations(replicas, m, ends, request.payload)
        apply(computations)
        for slot, work in computations:
            slot.complete(work)
        is_complete = True
    finally:
        tenant.followed(replicas, is_complete=is_complete)
    request.reply()


def _computations(
    replicas: Mapping[int, TensorSlot],
    m: ApplyStep,
    ends: Sequence[StepEnd | None],
    payload: memoryview,
) -> list[Computation]:
    """What is left to do of a step; its means are copied."""
    offset = 0
    computations = []
    for number, has_mean, end in zip(m.numbers, m.has_mean, ends, strict=True):
        slot, mean = replicas[number], None
        if has_mean:
            mean = np.frombuffer(payload[offset : offset + slot.size_bytes], np.uint8)
            offset += slot.size_bytes
        work = slot.replayed(m.step, end, mean, sums=m.sums)
        if work is not None and end is not None:
            computations.append(Computation(slot, work))
    return computations


def _ends(m: ApplyStep) -> list[StepEnd | None]:
    """By tensor."""
    if not m.ends:
        return [None] * len(m.numbers)
    groups = [checked_options(each) for each in decoded_json(m.options.encode())]
    if any(place >= len(groups) for place in m.option_of):
        raise BadMessage(f"options of {len(groups)} parameter groups, not {max(m.option_of) + 1}")
    return [StepEnd(m.is_applied, None if place < 0 else groups[place]) for place in m.option_of]


def _drop_replica(services: PeerServices, tenant: Tenant, m: DropReplica, request: Request) -> None:
    with tenant.lock:
        tenant.replicas.pop(m.number, None)
        tenant.recount()
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
    PeerHandler(CopyTensors, _copy),
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
