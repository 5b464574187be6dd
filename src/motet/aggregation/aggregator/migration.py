"""Migration: tensors go to another Aggregator between two steps, a few at a time, without a pause.

Old and new Aggregator (the seed, section 4.3.2): MIGRATE_INIT prepares the new one, which keeps
gradients from then on but applies none. Between two steps of a tensor the old one stops serving it:
answers to pulls carry the new location, everything else is sent there. TENSOR_COPY then brings
value and state; the new one goes on with it. The old value can be pulled until all workers have
taken part in a step at the new place.

Departure: tensors travel in groups, each as soon as the one before is complete, so that a worker
that comes early waits for the copy of one group instead of the model's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from motet.aggregation.aggregator.peers import PeerConnections
from motet.aggregation.aggregator.replication import copy_message
from motet.aggregation.aggregator.tenant import Tenant
from motet.aggregation.tensors.job_tensors import Effects
from motet.aggregation.wire.job_requests import groups_as_json
from motet.aggregation.wire.peer_requests import AwaitWorkers, ExpectTensors, KeepBroadcast
from motet.domain.errors import MotetError, NotFound

GROUP_BYTES = 16 << 20
WORKERS_KNOW_S = 10.0
"""An idle job takes part in no step: the migration is complete after a while without it."""

CarryOut = Callable[[Tenant, Effects], None]


class Migration:
    """The sending end."""

    def __init__(
        self,
        peers: PeerConnections,
        own_endpoint: Callable[[], str],
        carry_out: CarryOut,
        workers_know_s: float,
    ) -> None:
        """`workers_know_s`: how long to wait for a step at the new place."""
        self._workers_know_s = workers_know_s
        self._peers = peers
        self._own_endpoint = own_endpoint
        self._carry_out = carry_out

    def move(self, tenant: Tenant, numbers: Sequence[int], peer: str) -> None:
        """Returns once the copies are there and the workers know; tensors that are there already
        are left out. Raises NotFound, Unreachable: the peer has died; what was not copied stays.
        """
        with tenant.moving:
            with tenant.lock:
                numbers = [n for n in numbers if tenant.moved.get(n) != peer]
            self._move_all(tenant, numbers, peer)

    def _move_all(self, tenant: Tenant, numbers: Sequence[int], peer: str) -> None:
        for group in self._groups(tenant, numbers):
            self._move_group(tenant, group, peer)
        if numbers:
            self._await_workers(tenant, numbers, peer)

    def _groups(self, tenant: Tenant, numbers: Sequence[int]) -> Iterator[list[int]]:
        """Whole tensors, at least one, of GROUP_BYTES at most if possible."""
        with tenant.lock:
            missing = [n for n in numbers if n not in tenant.tensors.slots]
            if missing:
                raise NotFound(f"tensor {missing[0]} of job {tenant.access.job} is not here")
            sizes = {n: tenant.tensors.slots[n].size_bytes for n in numbers}
        group: list[int] = []
        for number in numbers:
            if group and sum(sizes[n] for n in group) + sizes[number] > GROUP_BYTES:
                yield group
                group = []
            group.append(number)
        if group:
            yield group

    def _move_group(self, tenant: Tenant, group: Sequence[int], peer: str) -> None:
        self._peers.ask(peer, self._expectation(tenant, group))
        left = {number: threading.Event() for number in group}
        for number, event in left.items():
            with tenant.lock:
                effects = tenant.tensors.hold(
                    number, self._departure(tenant, number, peer, event), between_steps=True
                )
            self._carry_out(tenant, effects)
        for position, number in enumerate(group):
            left[number].wait()
            try:
                self._copy(tenant, number, peer)
            except MotetError:
                self._take_back(tenant, group[position:])
                raise

    def _departure(
        self, tenant: Tenant, number: int, peer: str, left: threading.Event
    ) -> Callable[[], None]:
        def depart() -> None:
            effects = Effects()
            with tenant.lock:
                if number in tenant.tensors.slots:
                    tenant.moved[number] = peer
                    tenant.uncopied.add(number)
                    tenant.departed[number], effects = tenant.tensors.remove(number)
                    waiting = tenant.broadcasts.take_waiting() if number == 0 else []
                    effects.calls += [partial(respond, None) for respond in waiting]
            self._carry_out(tenant, effects)
            left.set()

        return depart

    def _expectation(self, tenant: Tenant, group: Sequence[int]) -> ExpectTensors:
        with tenant.lock:
            tensors = tenant.tensors
            if any(n not in tensors.slots for n in group) or tensors.optimizer is None:
                raise NotFound(f"a tensor of job {tenant.access.job} is not here any more")
            return ExpectTensors(
                tenant.access.job,
                self._own_endpoint(),
                tuple(group),
                tuple(tensors.slots[n].spec for n in group),
                tensors.optimizer.kind,
                groups_as_json(tensors.optimizer),
                () if tensors.workers is None else tensors.workers.changes,
            )

    def _copy(self, tenant: Tenant, number: int, peer: str) -> None:
        with tenant.lock:
            slot = tenant.departed.get(number)
            if slot is None:
                raise NotFound(f"tensor {number} of job {tenant.access.job} is not here any more")
            replica = tenant.replica_at.get(number, "")
            is_kept = replica in ("", peer)  # The replica there becomes the tensor itself.
            if is_kept:
                replica, tenant.replicas[number] = self._own_endpoint(), slot
            message, buffers = copy_message(tenant, slot, is_replica=False, replica=replica)
            (step, index), payload = tenant.broadcasts.last_number, tenant.broadcasts.last_payload
        if number == 0 and (step, index) != (0, 0):
            kept = KeepBroadcast(tenant.access.job, step, index)
            self._peers.ask(peer, kept, [payload] if payload else [])
        try:
            self._peers.ask(peer, message, buffers)
        except MotetError:
            if is_kept:
                with tenant.lock:
                    tenant.replicas.pop(number, None)
            raise
        with tenant.lock:
            tenant.replica_at.pop(number, None)
            tenant.uncopied.discard(number)
            tenant.copied.notify_all()

    def _take_back(self, tenant: Tenant, numbers: Sequence[int]) -> None:
        """The peer has died before the copies were complete."""
        for number in numbers:
            with tenant.lock:
                slot = tenant.departed.pop(number, None)
                if slot is None:
                    continue
                del tenant.moved[number]
                tenant.uncopied.discard(number)
                effects = tenant.tensors.adopt(slot)
            self._carry_out(tenant, effects)

    def _await_workers(self, tenant: Tenant, numbers: Sequence[int], peer: str) -> None:
        with tenant.lock:
            version = min((tenant.departed[n].version for n in numbers), default=0)
        message = AwaitWorkers(tenant.access.job, tuple(numbers), version + 1)
        try:
            self._peers.ask(peer, message, timeout_s=self._workers_know_s)
        except TimeoutError:
            pass
        finally:
            with tenant.lock:
                for number in numbers:
                    tenant.departed.pop(number, None)
