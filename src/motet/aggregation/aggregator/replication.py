"""Replicas: an Aggregator passes what it does to a tensor on to another one, before it answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence

from motet.aggregation.aggregator.peers import PeerConnections
from motet.aggregation.aggregator.tenant import Tenant
from motet.aggregation.tensors.gradient_memory import TorchTensor, array_over
from motet.aggregation.tensors.job_tensors import Effects
from motet.aggregation.tensors.tensor_slot import SlotWork, TensorSlot
from motet.aggregation.wire.job_requests import groups_as_json
from motet.aggregation.wire.peer_requests import ApplyStep, CopyTensor, DropReplica, KeepBroadcast
from motet.aggregation.wire.tensor_image import encode_images
from motet.domain.arrays import Array
from motet.domain.errors import MotetError, NotFound


def copy_message(
    tenant: Tenant, slot: TensorSlot, *, is_replica: bool, replica: str = ""
) -> tuple[CopyTensor, list[Array]]:
    """A whole tensor, with views of its arrays; call it with the job's lock."""
    optimizer, workers = tenant.tensors.optimizer, tenant.tensors.workers
    assert optimizer is not None
    image, buffers = encode_images([slot.image()])
    message = CopyTensor(
        tenant.access.job,
        slot.number,
        slot.spec,
        optimizer.kind,
        groups_as_json(optimizer),
        () if workers is None else workers.changes,
        image.decode(),
        is_replica,
        replica,
    )
    return message, buffers


class Replication:
    """The sending end."""

    def __init__(self, peers: PeerConnections) -> None:
        self._peers = peers

    def begin(
        self,
        tenant: Tenant,
        numbers: Sequence[int],
        peer: str,
        carry_out: Callable[[Tenant, Effects], None],
    ) -> None:
        """Copy tensors to a peer, one after the other; returns once it has all. Raises NotFound,
        Unreachable."""
        for number in numbers:
            idle = threading.Event()
            with tenant.lock:
                if number not in tenant.tensors.slots:
                    raise NotFound(f"tensor {number} of job {tenant.access.job} is not here")
                effects = tenant.tensors.hold(number, idle.set, between_steps=False)
            carry_out(tenant, effects)
            idle.wait()
            self._copy(tenant, number, peer, carry_out)

    def refresh(self, tenant: Tenant, numbers: Sequence[int]) -> None:
        """Send the replicas of tensors their contents again."""
        for number in numbers:
            with tenant.lock:
                peer = tenant.replica_at.get(number)
                slot = tenant.tensors.slots.get(number)
                if peer is None or slot is None:
                    continue
                message, buffers = copy_message(tenant, slot, is_replica=True)
            try:
                self._peers.ask(peer, message, buffers)
            except MotetError:
                self._lose(tenant, number, peer)

    def step(
        self, tenant: Tenant, work: SlotWork, mean: TorchTensor | None
    ) -> Callable[[Callable[[], None]], None] | None:
        """Pass a step on. Returns how to continue once the replica has it; None: no replica.

        What it returns is called after this Aggregator's own update; both run at the same time.
        """
        with tenant.lock:
            peer = tenant.replica_at.get(work.tensor)
        if peer is None:
            return None
        end = work.end
        options = "" if end is None or end.options is None else json.dumps(dict(end.options))
        message = ApplyStep(
            tenant.access.job,
            work.tensor,
            work.step,
            work.sums,
            mean is not None,
            end is not None,
            end is not None and end.is_applied,
            options,
        )
        meeting = _Meeting()

        def answered(error: MotetError | None) -> None:
            if error is not None:
                self._lose(tenant, work.tensor, peer)
            meeting.arrive()

        self._peers.send(peer, message, [] if mean is None else [array_over(mean)], answered)
        return meeting.then

    def keep_broadcast(self, tenant: Tenant, call: Callable[[], None]) -> None:
        """Call once the replica of the first tensor has the latest joint copy."""
        with tenant.lock:
            peer = tenant.replica_at.get(0)
            (step, index), payload = tenant.broadcasts.last_number, tenant.broadcasts.last_payload
        if peer is None:
            call()
            return
        message = KeepBroadcast(tenant.access.job, step, index)
        self._peers.send(peer, message, [payload] if payload else [], lambda error: call())

    def _copy(
        self,
        tenant: Tenant,
        number: int,
        peer: str,
        carry_out: Callable[[Tenant, Effects], None],
    ) -> None:
        with tenant.lock:
            slot = tenant.tensors.slots.get(number)
            if slot is None:
                raise NotFound(f"tensor {number} of job {tenant.access.job} was moved meanwhile")
            message, buffers = copy_message(tenant, slot, is_replica=True)
        try:
            self._peers.ask(peer, message, buffers)
            with tenant.lock:
                former = tenant.replica_at.get(number, peer)
                tenant.replica_at[number] = peer
            if former != peer:
                dropped = DropReplica(tenant.access.job, number)
                self._peers.send(former, dropped, [], lambda error: None)
        finally:
            with tenant.lock:
                effects = tenant.tensors.resume(number)
            carry_out(tenant, effects)

    @staticmethod
    def _lose(tenant: Tenant, number: int, peer: str) -> None:
        """Go on without a replica; pMaster makes another one."""
        with tenant.lock:
            if tenant.replica_at.get(number) == peer:
                del tenant.replica_at[number]


class _Meeting:
    """Calls on after both the replica and this Aggregator are done."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._has_arrived = False
        self._call: Callable[[], None] | None = None

    def arrive(self) -> None:
        with self._lock:
            self._has_arrived = True
            call = self._call
        if call is not None:
            call()

    def then(self, call: Callable[[], None]) -> None:
        with self._lock:
            self._call = call
            has_arrived = self._has_arrived
        if has_arrived:
            call()
