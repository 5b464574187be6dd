"""An Aggregator: serves the Agents of many jobs, other Aggregators and pMaster."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from motet.aggregation.aggregator.agent_requests import AGENT_HANDLERS
from motet.aggregation.aggregator.answer_thread import AnswerThread
from motet.aggregation.aggregator.broadcasts import Missing
from motet.aggregation.aggregator.cycle.compute_loop import ComputeLoop, shared_cost
from motet.aggregation.aggregator.migration import WORKERS_KNOW_S, Migration
from motet.aggregation.aggregator.peer_handlers import PEER_HANDLERS
from motet.aggregation.aggregator.peers import PeerConnections
from motet.aggregation.aggregator.pool_requests import POOL_HANDLERS, PoolHandler
from motet.aggregation.aggregator.replication import Replication
from motet.aggregation.aggregator.tenant import Tenant
from motet.aggregation.aggregator.tenants import Tenants
from motet.aggregation.tensors.effects import AnyWork, Effects
from motet.aggregation.tensors.joint_steps import JointWork
from motet.aggregation.tensors.slot_computation import Computation, apply, sum_up
from motet.aggregation.tensors.tensor_slot import ScratchMemory, SlotWork
from motet.aggregation.wire.aggregator_control import CycleShare, JobAccess, JobMeasurement
from motet.aggregation.wire.message_kinds import LAST_OF_AGENTS
from motet.aggregation.wire.peer_requests import PeerMessage
from motet.domain.errors import JobFailed, MotetError, NotFound
from motet.runtime.wire.codec import encode
from motet.runtime.wire.errors import BadMessage
from motet.transport import Endpoint, Request, Server, use_short_switch_interval

_LOG = logging.getLogger(__name__)
_ANSWERED_HERE_BYTES = 1 << 16
_ANSWERED_IF_IDLE_BYTES = 1 << 20
"""Another thread takes longer to begin than the copy, which is no longer than that of a tensor."""


class Aggregator:
    """Implements `AggregatorControl`."""

    def __init__(
        self,
        pool_secret: bytes,
        host: str = "127.0.0.1",
        port: int = 0,
        workers_know_s: float = WORKERS_KNOW_S,
    ) -> None:
        """`pool_secret`: of pMaster and all Aggregators. `workers_know_s`: see Migration. Raises
        BadInput: the address is not available."""
        use_short_switch_interval()
        torch.set_num_threads(1)
        self._tenants = Tenants(pool_secret)
        self._scratch = ScratchMemory()
        self._peers = PeerConnections(pool_secret)
        self._answers = AnswerThread()
        self._replication = Replication(self._peers, self.carry_out, self._answers)
        self._migration = Migration(
            self._peers, self._replication, self.own_endpoint, self.carry_out, workers_know_s
        )
        self._loop = ComputeLoop(self._compute)
        self._server = Server(
            self._handle,
            self._tenants.secret_of,
            host,
            port,
            payload_limit=self._tenants.payload_limit,
        )

    @property
    def endpoint(self) -> Endpoint:
        """Where it listens."""
        return self._server.endpoint

    def close(self) -> None:
        """End; requests without a reply break."""
        self._server.close()
        self._loop.close()
        self._answers.close()
        self._peers.close()

    # -- control ---------------------------------------------------------------------------------

    def open_job(self, access: JobAccess) -> None:
        """See AggregatorControl."""
        self._tenants.open(access)

    def close_job(self, job: int) -> None:
        """See AggregatorControl."""
        tenant = self._tenants.close(job)
        if tenant is not None:
            self._end(tenant, JobFailed(f"job {job} was closed on this Aggregator"))

    def set_workers(self, job: int, ranks: Sequence[int], from_step: int) -> None:
        """See AggregatorControl."""
        tenant = self._tenants.tenant(job)
        with tenant.lock:
            tenant.tensors.require_in_time(ranks, from_step)
            effects = tenant.tensors.set_workers(ranks, from_step)
            calls = tenant.broadcasts.progress(tenant.ranks_after)
        self.carry_out(tenant, effects)
        if calls:
            self.when_kept(tenant, lambda: self.carry_out(tenant, Effects(calls=calls)))

    def set_cycle(self, cycle_ns: int, shares: Sequence[CycleShare]) -> None:
        """See AggregatorControl."""
        self._loop.set_cycle(cycle_ns, shares)

    def replicate(self, job: int, tensors: Sequence[int], peer: str) -> None:
        """See AggregatorControl."""
        self._replication.begin(self._tenants.tenant(job), tensors, peer)

    def forget_replicas(self, job: int, peer: str) -> None:
        """See AggregatorControl."""
        self._replication.forget(self._tenants.tenant(job), peer)

    def promote(self, job: int, tensors: Sequence[int]) -> None:
        """See AggregatorControl."""
        tenant = self._tenants.tenant(job)
        for number in tensors:
            with tenant.lock:
                slot = tenant.take_replica(number)
                known = tenant.tensors.slots.get(number)
                if slot is None and known is not None and not known.is_arriving:
                    continue
                if slot is None:
                    raise NotFound(f"tensor {number} of job {job} has no replica here")
                tenant.moved.pop(number, None)
                # A known one was to come from the Aggregator that has died.
                effects = tenant.tensors.adopt(slot)
                tenant.recount()
            self.carry_out(tenant, effects)

    def move(self, job: int, tensors: Sequence[int], peer: str) -> None:
        """See AggregatorControl."""
        self._migration.move(self._tenants.tenant(job), tensors, peer)

    def measurements(self) -> Sequence[JobMeasurement]:
        """See AggregatorControl."""
        return [tenant.measurement() for tenant in self._tenants.all()]

    # -- services of the handlers ----------------------------------------------------------------

    def carry_out(self, tenant: Tenant, effects: Effects) -> None:
        """See Services."""
        if effects.works:
            self._loop.submit(tenant, effects.works)
        failure = _call_all(effects.calls)
        if failure is not None:  # A request that waits for it would wait for ever.
            job = tenant.access.job
            self._end(tenant, JobFailed(f"job {job}: an answer failed: {_described(failure)}"))

    def answer(self, tenant: Tenant, size_bytes: int, call: Callable[[], None]) -> None:
        """See Services."""
        if size_bytes < _ANSWERED_HERE_BYTES:
            call()
            return

        def timed() -> None:
            began_ns = time.monotonic_ns()
            call()
            tenant.meter.answer_costs.took(size_bytes, time.monotonic_ns() - began_ns)

        if self._loop.answer_late(tenant, size_bytes, timed):
            return
        if size_bytes <= _ANSWERED_IF_IDLE_BYTES and self._loop.is_idle:
            timed()
        else:
            self._answers.run(timed)

    def loaded(self, tenant: Tenant, numbers: Sequence[int], call: Callable[[], None]) -> None:
        """See Services."""
        self._replication.refresh(tenant, numbers, call)

    def when_kept(self, tenant: Tenant, call: Callable[[], None]) -> None:
        """See Services."""
        self._replication.keep_broadcast(tenant, call)

    def tenant(self, job: int) -> Tenant:
        """See PeerServices."""
        return self._tenants.tenant(job)

    def own_endpoint(self) -> str:
        """See PeerServices."""
        return self._server.endpoint.encode()

    def watch(self, peer: str, message: PeerMessage) -> None:
        """See PeerServices."""
        self._peers.watch(peer, message)

    # -- work ------------------------------------------------------------------------------------

    def _compute(self, tenant: Tenant, works: Sequence[AnyWork]) -> None:
        """On the thread for it; a failure is that of the job alone."""
        for work in works:
            if isinstance(work, JointWork):
                self._aggregate_jointly(tenant, work)
        each = [work for work in works if isinstance(work, SlotWork)]
        if each:
            self._aggregate(tenant, each)

    def _aggregate_jointly(self, tenant: Tenant, work: JointWork) -> None:
        with tenant.lock:
            is_joint, has_replicas = tenant.tensors.is_joint(work), bool(tenant.replica_at)
        if not is_joint or tenant.failure is not None:
            self._aggregate(tenant, work.parts())
            return
        began_ns = time.thread_time_ns()
        try:
            mean, once_replicated = work.mean(), None
            if has_replicas:
                means = work.means(mean)
                once_replicated = self._replication.step(tenant, work.parts(), means)
            work.apply(mean)
        except Exception as error:
            self._end(tenant, _failure(tenant, work.parts(), error))
            return
        complete = partial(self._complete_jointly, tenant, work, time.thread_time_ns() - began_ns)
        if once_replicated is None:
            complete()
        else:
            once_replicated(complete)

    def _complete_jointly(self, tenant: Tenant, work: JointWork, cpu_ns: int) -> None:
        try:
            with tenant.lock:
                sizes_bytes = work.tensors.sizes_bytes
                tenant.meter.computed_together(work.key, sizes_bytes, cpu_ns)
                effects = tenant.tensors.completed_together(work)
        except Exception as error:
            self._end(tenant, _failure(tenant, work.parts(), error))
        else:
            self.carry_out(tenant, effects)

    def _aggregate(self, tenant: Tenant, works: Sequence[SlotWork]) -> None:
        with tenant.lock:
            slots = tenant.tensors.separated([work.tensor for work in works])
            found = [Computation(slots[w.tensor], w) for w in works if w.tensor in slots]
        if not found or tenant.failure is not None:
            return
        began_ns = time.thread_time_ns()
        try:
            means = sum_up(found, self._scratch)
            once_replicated = self._replication.step(tenant, [each.work for each in found], means)
            apply(found)
        except Exception as error:
            self._end(tenant, _failure(tenant, works, error))
            return
        complete = partial(self._complete, tenant, found, time.thread_time_ns() - began_ns)
        if once_replicated is None:
            complete()
        else:
            once_replicated(complete)

    def _complete(self, tenant: Tenant, found: Sequence[Computation], cpu_ns: int) -> None:
        works = [each.work for each in found]
        try:
            with tenant.lock:
                slots = tenant.tensors.separated([work.tensor for work in works])
                for work, share_ns in shared_cost(works, cpu_ns):
                    tenant.meter.computed(work.tensor, share_ns, is_end=work.end is not None)
                here = [work for slot, work in found if slots.get(work.tensor) is slot]
                effects = tenant.tensors.completed(here)
        except Exception as error:
            self._end(tenant, _failure(tenant, works, error))
        else:
            self.carry_out(tenant, effects)

    def _end(self, tenant: Tenant, failure: MotetError) -> None:
        """Answer everything that waits, and free the memory."""
        calls: list[Callable[[], None]] = []
        with tenant.lock:
            tenant.failure = tenant.failure or failure
            for number in list(tenant.tensors.slots):
                calls += tenant.tensors.remove(number)[1].calls
            waiting = tenant.broadcasts.take_waiting()
            calls += tenant.take_unreplicated()
        _call_all([*calls, *(partial(respond, Missing.ELSEWHERE) for respond in waiting)])

    def _handle(self, request: Request) -> None:
        if request.kind <= LAST_OF_AGENTS:
            tenant = self._tenants.of_agent(request.client_id)
            handler = AGENT_HANDLERS.get(request.kind)
            if handler is None:
                raise BadMessage(f"request kind {request.kind} is unknown to this Aggregator")
            tenant.require_alive()
            handler(self, tenant, request)
            return
        self._tenants.require_pool(request.client_id)
        if request.kind in PEER_HANDLERS:
            PEER_HANDLERS[request.kind].handle(self, request)
            return
        pool_handler = POOL_HANDLERS.get(request.kind)
        if pool_handler is None:
            raise BadMessage(f"request kind {request.kind} is unknown to this Aggregator")
        self._control(pool_handler, request)

    def _control(self, handler: PoolHandler[Any], request: Request) -> None:
        message = handler.decode(request)

        def carry_out() -> None:
            try:
                answer = handler.carry_out(self, message)
            except Exception as error:
                request.fail(error)
                return
            if answer is None:
                request.reply()
            else:
                request.reply(0, encode(answer)[0])

        if handler.is_long:
            threading.Thread(target=carry_out, name="motet-control", daemon=True).start()
        else:
            carry_out()


def _failure(tenant: Tenant, works: Sequence[SlotWork], error: Exception) -> JobFailed:
    tensors = ", ".join(str(work.tensor) for work in works)
    return JobFailed(
        f"job {tenant.access.job}, tensor {tensors}, step {works[0].step}: aggregation failed: "
        f"{_described(error)}"
    )


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _call_all(calls: Sequence[Callable[[], None]]) -> Exception | None:
    """Make all calls; returns why the first of them failed."""
    failure = None
    for call in calls:
        try:
            call()
        except Exception as error:  # Of one client: the others are still to be answered.
            _LOG.exception("an answer failed")
            failure = failure or error
    return failure
