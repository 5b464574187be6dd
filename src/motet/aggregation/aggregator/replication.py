"""Replicas: an Aggregator passes what it does to a tensor on to another one, before it answers.

An Aggregator whose replica does not answer may not go on alone: pMaster might promote the replica,
which lacks the step. It says so in its measurements, and goes on when pMaster has noted that the
replica does not count. So a replica that is promoted has every step that was ever answered; and one
that was promoted refuses the steps of an Aggregator that was taken for dead.
"""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial

from motet.aggregation.aggregator.answer_thread import AnswerThread
from motet.aggregation.aggregator.peers import PeerConnections
from motet.aggregation.aggregator.tenant import Tenant
from motet.aggregation.aggregator.tensor_copies import COPY_BYTES, copy_message, tensor_groups
from motet.aggregation.tensors.effects import Effects
from motet.aggregation.tensors.gradient_memory import TorchTensor, array_over
from motet.aggregation.tensors.tensor_slot import NO_VALUES, SlotWork, TensorSlot
from motet.aggregation.tensors.waiting_requests import after_all
from motet.aggregation.wire.peer_requests import (
    ApplyStep,
    DropReplica,
    KeepBroadcast,
    PeerMessage,
)
from motet.aggregation.wire.tensor_spec import GroupOptions
from motet.domain.errors import MotetError, NotFound
from motet.transport import Buffer

QUIET_WITHIN_S = 0.1
"""A job that is never quiet is copied after this time all the same."""
REST = 3
"""A copy of a first replica waits at most this many times as long as the copy before took."""

CarryOut = Callable[[Tenant, Effects], None]


class Replication:
    """The sending end."""

    def __init__(self, peers: PeerConnections, carry_out: CarryOut, answers: AnswerThread) -> None:
        self._peers = peers
        self._carry_out = carry_out
        self._answers = answers

    def begin(self, tenant: Tenant, numbers: Sequence[int], peer: str) -> None:
        """Copy tensors to a peer, some after the other, while the workers compute; returns once it
        has all. A job that is never quiet has three quarters of the time for itself, less where
        the link is so slow that a copy takes more than a third of `QUIET_WITHIN_S`.

        Raises NotFound, Unreachable.
        """
        within_s = QUIET_WITHIN_S
        for group in tensor_groups(tenant, numbers, COPY_BYTES):
            self.await_quiet(tenant, within_s)
            within_s = min(REST * self._copy(tenant, group, peer), QUIET_WITHIN_S)

    def await_quiet(self, tenant: Tenant, within_s: float = QUIET_WITHIN_S) -> None:
        """Return when the workers compute: copies take no time of a step then."""
        quiet = threading.Event()
        with tenant.lock:
            effects = tenant.tensors.when_quiet(partial(self._answers.run, quiet.set))
        self._carry_out(tenant, effects)
        quiet.wait(within_s)

    def refresh(self, tenant: Tenant, numbers: Sequence[int], call: Callable[[], None]) -> None:
        """Send the replicas of tensors their contents again; `call` once they have them."""
        arrived = after_all(len(numbers) + 1, call)
        for number in numbers:
            with tenant.lock:
                peer = tenant.replica_at.get(number)
                slot = tenant.tensors.slots.get(number)
                if peer is None or slot is None:
                    arrived()
                    continue
                message, buffers = copy_message(tenant, [slot], [""], are_replicas=True)
            self._send(tenant, [number], peer, message, buffers, arrived)
        arrived()

    def forget(self, tenant: Tenant, peer: str) -> None:
        """See AggregatorControl.forget_replicas."""
        with tenant.lock:
            calls = tenant.forget_peer(peer)
        for call in calls:
            call()

    def step(
        self, tenant: Tenant, works: Sequence[SlotWork], means: Sequence[TorchTensor | None]
    ) -> Callable[[Callable[[], None]], None] | None:
        """Pass a step on. Returns how to continue once the replicas have it; None: no replica.

        What it returns is called after this Aggregator's own update; all run at the same time.
        """
        parts: dict[str, list[tuple[SlotWork, TorchTensor | None]]] = defaultdict(list)
        with tenant.lock:
            for work, mean in zip(works, means, strict=True):
                peer = tenant.replica_at.get(work.tensor)
                if peer is not None:
                    parts[peer].append((work, mean))
        if not parts:
            return None
        meeting = _Meeting(len(parts))
        for peer, part in parts.items():
            self._send_step(tenant, part, peer, meeting.arrive)
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
        self._send(tenant, [0], peer, message, [payload] if payload else [], call)

    def _copy(self, tenant: Tenant, group: Sequence[int], peer: str) -> float:
        """Returns the seconds that it took, without the wait for computations.

        First replicas: steps go on as soon as the copy is on its way, since the peer handles what
        it is sent in order. Others hold them until the new replica counts, because the former one
        counts again if that fails.
        """
        held: dict[int, threading.Event] = {}
        try:
            self._hold(tenant, group, held)
            began_s = time.monotonic()
            former, copied, has_sums = self._send_copy(tenant, group, peer)
            if not former:
                self._resume(tenant, held)
            copied.result()
            has_sums.wait()
            for number, place in former.items():
                if place != peer:
                    dropped = DropReplica(tenant.access.job, number)
                    self._peers.send(place, dropped, [], lambda error: None)
        finally:
            self._resume(tenant, held)
        return time.monotonic() - began_s

    def _send_copy(
        self, tenant: Tenant, group: Sequence[int], peer: str
    ) -> tuple[dict[int, str], Future[None], threading.Event]:
        """Of tensors that are held. Returns where their former replicas are, a future that ends
        when the peer has the new ones, and an event: it has the sums of the step under way too.

        Raises NotFound.
        """
        copied: Future[None] = Future()
        with tenant.lock:
            slots = [tenant.tensors.slots[n] for n in group if n in tenant.tensors.slots]
            if len(slots) < len(group):
                raise NotFound(f"a tensor of job {tenant.access.job} was moved meanwhile")
            nowhere = [""] * len(slots)
            message, buffers = copy_message(tenant, slots, nowhere, are_replicas=True)
            former = {n: tenant.replica_at[n] for n in group if n in tenant.replica_at}
            # What is done to them meanwhile follows the copy.
            tenant.replica_at |= dict.fromkeys(group, peer)

        def answered(error: MotetError | None) -> None:
            if error is None:
                copied.set_result(None)
                return
            with tenant.lock:  # Before the answers to steps that have followed the copy.
                for number in group:
                    tenant.replica_at.pop(number, None)
                tenant.replica_at |= former
            copied.set_exception(error)

        self._peers.send(peer, message, buffers, answered)
        has_sums = threading.Event()
        self._send_sums(tenant, slots, peer, has_sums.set)
        return former, copied, has_sums

    def _send_sums(
        self, tenant: Tenant, slots: Sequence[TensorSlot], peer: str, call: Callable[[], None]
    ) -> None:
        """Workers that have the mean of a step may have begun the next one: they do not send their
        gradients of that step again, should the replica be promoted."""
        parts: dict[int, list[tuple[SlotWork, TorchTensor | None]]] = defaultdict(list)
        with tenant.lock:
            for slot in slots:
                work = slot.summed_work()
                if work is not None:
                    parts[work.step].append((work, slot.mean_of(work)))
        arrived = after_all(len(parts) + 1, call)
        for part in parts.values():
            self._send_step(tenant, part, peer, arrived)
        arrived()

    def _send_step(
        self,
        tenant: Tenant,
        part: Sequence[tuple[SlotWork, TorchTensor | None]],
        peer: str,
        call: Callable[[], None],
    ) -> None:
        """See `_send`; all works are alike."""
        buffers = [array_over(mean) for _, mean in part if mean is not None]
        message = step_message(tenant.access.job, part)
        self._send(tenant, [work.tensor for work, _ in part], peer, message, buffers, call)

    def _resume(self, tenant: Tenant, held: dict[int, threading.Event]) -> None:
        """Let computations go on, once."""
        with tenant.lock:
            effects = tenant.tensors.resume([n for n in held if n in tenant.tensors.slots])
        held.clear()
        self._carry_out(tenant, effects)

    def _hold(self, tenant: Tenant, group: Sequence[int], held: dict[int, threading.Event]) -> None:
        """Return when nothing is computed for these tensors, until they are resumed."""
        for number in group:
            with tenant.lock:
                if number not in tenant.tensors.slots:
                    raise NotFound(f"tensor {number} of job {tenant.access.job} is not here")
                if tenant.tensors.slots[number].version == NO_VALUES:
                    raise NotFound(f"tensor {number} of job {tenant.access.job} has no values yet")
                held[number] = threading.Event()
                effects = tenant.tensors.hold(number, held[number].set, between_steps=False)
            self._carry_out(tenant, effects)
        for idle in held.values():
            idle.wait()

    def _send(
        self,
        tenant: Tenant,
        numbers: Sequence[int],
        peer: str,
        message: PeerMessage,
        buffers: Sequence[Buffer],
        call: Callable[[], None],
    ) -> None:
        """Call once the peer, which has the tensors' replicas, has the message too; or once pMaster
        knows that it lacks it.
        """

        def answered(error: MotetError | None) -> None:
            with tenant.lock:
                is_lost = error is not None and tenant.failure is None
                if is_lost and any(tenant.replica_at.get(n) == peer for n in numbers):
                    tenant.unreplicated.setdefault(peer, []).append(call)
                    return
            call()

        self._peers.send(peer, message, buffers, answered)


def step_message(job: int, part: Sequence[tuple[SlotWork, TorchTensor | None]]) -> ApplyStep:
    """What replicas do in a step; all works are alike."""
    first = part[0][0]
    options: list[GroupOptions] = []
    places: dict[int, int] = {}
    option_of = []
    for work, _ in part:
        found = None if work.end is None else work.end.options
        if found is None:
            option_of.append(-1)
            continue
        place = places.setdefault(id(found), len(options))
        if place == len(options):
            options.append(found)
        option_of.append(place)
    return ApplyStep(
        job,
        tuple(work.tensor for work, _ in part),
        first.step,
        first.sums,
        tuple(mean is not None for _, mean in part),
        first.end is not None,
        first.is_applied,
        json.dumps([dict(each) for each in options], separators=(",", ":")),
        tuple(option_of),
    )


class _Meeting:
    """Calls on after all replicas and this Aggregator are done."""

    def __init__(self, replicas: int) -> None:
        self._lock = threading.Lock()
        self._missing = replicas
        self._call: Callable[[], None] | None = None

    def arrive(self) -> None:
        with self._lock:
            self._missing -= 1
            call = None if self._missing else self._call
        if call is not None:
            call()

    def then(self, call: Callable[[], None]) -> None:
        with self._lock:
            self._call = call
            is_last = not self._missing
        if is_last:
            call()
