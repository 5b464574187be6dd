"""Migration: tensors go to another Aggregator between two steps, a few in each, without a pause.

Old and new Aggregator (the seed, section 4.3.2): MIGRATE_INIT prepares the new one, which keeps
gradients from then on but applies none. When a step of the tensors ends, the old one stops serving
them: answers to pulls carry the new location, so that the next gradients go there. TENSOR_COPY
brings value and state while the workers compute; the new one goes on with them. The old value can
be pulled until all workers have taken part in a step at the new place.

Departure: tensors travel in groups, one in each step, so that none takes much longer: beside the
copy, the new Aggregator has to map the memory of the workers. If gradients came before their copy,
the next group is smaller. A tensor stays for another step if a worker that is ahead has sent its
gradient of the next step already; the others of its group do not wait for it. Where the new
Aggregator has the replica of a tensor, the replica becomes the tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from motet.aggregation.aggregator.broadcasts import Missing
from motet.aggregation.aggregator.peers import PeerConnections
from motet.aggregation.aggregator.replication import CarryOut, Replication
from motet.aggregation.aggregator.tenant import Tenant
from motet.aggregation.aggregator.tensor_copies import COPY_BYTES, copy_message, tensor_groups
from motet.aggregation.tensors.effects import Effects
from motet.aggregation.wire.job_requests import groups_as_json
from motet.aggregation.wire.message_kinds import CopyStatus
from motet.aggregation.wire.peer_requests import AwaitWorkers, ExpectTensors, KeepBroadcast
from motet.domain.errors import MotetError, NotFound

GROUP_BYTES = 8 << 20
"""Values and states that depart in a step, which takes some ms longer."""
BYTES_PER_S = 25 << 20
"""A long step takes more: models leave at this rate at least."""
SMALLEST_SHARE = 0.25
"""Of these sizes, after copies for which workers had to wait."""
WORKERS_KNOW_S = 10.0
"""An idle job takes part in no step: the migration is complete after a while without it."""
_IDLE_ITERATIONS = 4
"""A job whose step takes so many times longer than usual is idle: its tensors depart at once."""


class Migration:
    """The sending end."""

    def __init__(
        self,
        peers: PeerConnections,
        replication: Replication,
        own_endpoint: Callable[[], str],
        carry_out: CarryOut,
        workers_know_s: float,
    ) -> None:
        """`workers_know_s`: how long to wait for a step at the new place."""
        self._workers_know_s = workers_know_s
        self._peers = peers
        self._replication = replication
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
        left, share = list(numbers), 1.0
        try:
            while left:
                iteration_s = tenant.meter.iteration_ns / 1e9
                group_bytes = share * max(GROUP_BYTES, BYTES_PER_S * iteration_s)
                group = next(tensor_groups(tenant, left, group_bytes))
                left = left[len(group) :]
                stayed, is_awaited = self._move_group(tenant, group, peer)
                left = [*stayed, *left]
                share = max(share / 2, SMALLEST_SHARE) if is_awaited else min(2 * share, 1.0)
            if numbers:
                self._await_workers(tenant, numbers, peer)
        finally:
            with tenant.lock:
                for number in tenant.departed.keys() - tenant.uncopied:
                    del tenant.departed[number]

    def _move_group(
        self, tenant: Tenant, group: Sequence[int], peer: str
    ) -> tuple[list[int], bool]:
        """Returns what has stayed for another step, and whether workers had to wait for copies."""
        self._peers.ask(peer, self._expectation(tenant, group))
        with tenant.lock:
            slots = tenant.tensors.slots
            step = max((slots[n].version for n in group if n in slots), default=0) + 1
        for number in group:
            self._hold(tenant, number, peer, step)
        stayed = self._await_departure(tenant, group)
        if not stayed:
            self._replication.await_quiet(tenant)
        departed = [number for number in group if number not in stayed]
        return stayed, self._copy_all(tenant, departed, peer)

    def _await_departure(self, tenant: Tenant, group: Sequence[int]) -> list[int]:
        """At the end of the step, or soon if there is none.

        Returns what stays because gradients of the next step have come, those of a worker that is
        ahead. That step may never end before those that have departed are copied: where workers
        wait for means, as in the mode "averaged", they wait for theirs at the peer.
        """
        patience_s = self._workers_know_s
        if tenant.meter.iteration_ns:
            patience_s = min(patience_s, _IDLE_ITERATIONS * tenant.meter.iteration_ns / 1e9)

        def is_over() -> bool:
            here = tenant.present(group)
            return not here or (
                len(here) < len(group) and all(map(tenant.tensors.is_delayed, here))
            )

        effects = Effects()
        with tenant.lock:
            if not tenant.copied.wait_for(is_over, patience_s):
                effects = tenant.tensors.hasten(group)
        self._carry_out(tenant, effects)
        with tenant.lock:
            tenant.copied.wait_for(is_over)
            stayed = tenant.present(group)
            effects = tenant.tensors.resume(stayed)
        self._carry_out(tenant, effects)
        return stayed

    def _copy_all(self, tenant: Tenant, group: Sequence[int], peer: str) -> bool:
        is_awaited = False
        rest = list(group)
        for part in self._parts(tenant, group):
            try:
                is_awaited |= self._copy(tenant, part, peer)
            except MotetError:
                self._take_back(tenant, rest)
                raise
            rest = rest[len(part) :]
        return is_awaited

    @staticmethod
    def _parts(tenant: Tenant, group: Sequence[int]) -> list[list[int]]:
        """What one message copies."""
        parts: list[list[int]] = []
        size_bytes = 0
        for number in group:
            slot = tenant.departed.get(number)
            added = 0 if slot is None else slot.memory_bytes
            if not parts or size_bytes + added > COPY_BYTES:
                parts.append([])
                size_bytes = 0
            parts[-1].append(number)
            size_bytes += added
        return parts

    def _hold(self, tenant: Tenant, number: int, peer: str, version: int = 0) -> None:
        """Let a tensor depart between two steps."""
        depart = partial(self._depart, tenant, number, peer)
        with tenant.lock:
            if number not in tenant.tensors.slots:
                return
            effects = tenant.tensors.hold(
                number,
                depart,
                between_steps=True,
                version=version,
                delayed=tenant.tell_departures,
            )
        self._carry_out(tenant, effects)

    def _depart(self, tenant: Tenant, number: int, peer: str) -> None:
        effects = Effects()
        with tenant.lock:
            slot = tenant.tensors.slots.get(number)
            # Gradients may have come since the lock was released after the step.
            is_late = slot is not None and slot.has_gradients()
            if is_late:
                effects = tenant.tensors.resume([number])
            elif slot is not None:
                tenant.moved[number] = peer
                tenant.uncopied.add(number)
                tenant.departed[number], effects = tenant.tensors.remove(number)
                tenant.recount()
                waiting = tenant.broadcasts.take_waiting() if number == 0 else []
                effects.calls += [partial(respond, Missing.ELSEWHERE) for respond in waiting]
        self._carry_out(tenant, effects)
        if is_late:
            self._hold(tenant, number, peer)
        tenant.tell_departures()

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

    def _copy(self, tenant: Tenant, part: Sequence[int], peer: str) -> bool:
        """Returns whether workers waited for it. The last copies become replicas here, unless
        there is one elsewhere; a replica at the peer becomes the tensor itself."""
        with tenant.lock:
            if any(n not in tenant.departed for n in part):
                raise NotFound(f"a tensor of job {tenant.access.job} is not here any more")
            slots = {n: tenant.departed[n] for n in part}
            is_equal = peer not in tenant.unreplicated
            at_peer = {n for n in part if is_equal and tenant.replica_at.get(n) == peer}
            places = {n: place for n, place in tenant.replica_at.items() if place != peer}
            kept = {n: slot for n, slot in slots.items() if n not in places}
            tenant.replicas |= kept
            tenant.recount()
            replicas = [places.get(n, self._own_endpoint()) for n in part]
            message, buffers = copy_message(
                tenant, list(slots.values()), replicas, are_replicas=False, without_arrays=at_peer
            )
        self._keep_broadcast(tenant, part, peer)
        try:
            status = self._peers.ask(peer, message, buffers).status
        except MotetError as error:
            with tenant.lock:
                for number in kept:
                    tenant.replicas.pop(number, None)
                tenant.recount()
                if not (at_peer and isinstance(error, NotFound)):
                    raise
                for number in at_peer:  # The peer has lost it: copy the tensor instead.
                    tenant.replica_at.pop(number, None)
            return self._copy(tenant, part, peer)
        with tenant.lock:
            for number in part:
                tenant.replica_at.pop(number, None)
            tenant.uncopied.difference_update(part)
            tenant.copied.notify_all()
        return status == CopyStatus.AWAITED

    def _keep_broadcast(self, tenant: Tenant, part: Sequence[int], peer: str) -> None:
        """Joint copies are made at the Aggregator of the first tensor."""
        with tenant.lock:
            (step, index), payload = tenant.broadcasts.last_number, tenant.broadcasts.last_payload
        if 0 in part and (step, index) != (0, 0):
            kept = KeepBroadcast(tenant.access.job, step, index)
            self._peers.ask(peer, kept, [payload] if payload else [])

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
                tenant.recount()
            self._carry_out(tenant, effects)

    def _await_workers(self, tenant: Tenant, numbers: Sequence[int], peer: str) -> None:
        with tenant.lock:
            versions = [tenant.departed[n].version for n in numbers if n in tenant.departed]
        message = AwaitWorkers(tenant.access.job, tuple(numbers), max(versions, default=0) + 1)
        with suppress(TimeoutError):
            self._peers.ask(peer, message, timeout_s=self._workers_know_s)
