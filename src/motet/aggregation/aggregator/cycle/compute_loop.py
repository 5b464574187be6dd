"""The thread that aggregates: it takes the work of all jobs in the order of the cycle."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from motet.aggregation.aggregator.cycle.cycle_schedule import CycleSchedule
from motet.aggregation.aggregator.tenant import Tenant
from motet.aggregation.tensors.tensor_slot import SlotWork
from motet.aggregation.wire.aggregator_control import CycleShare


class TenantWork(NamedTuple):
    """Work on a tensor of a job."""

    tenant: Tenant
    work: SlotWork


class ComputeLoop:
    """Runs `compute(tenant, work)`, one at a time. Thread-safe."""

    def __init__(self, compute: Callable[[Tenant, SlotWork], None]) -> None:
        self._compute = compute
        self._schedule = CycleSchedule()
        self._changed = threading.Condition()
        self._queues: dict[int, deque[TenantWork]] = {}
        self._costs_ns: dict[tuple[int, int], int] = {}
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="motet-aggregate", daemon=True)
        self._thread.start()

    def submit(self, tenant: Tenant, works: Sequence[SlotWork]) -> None:
        """Compute soon."""
        job = tenant.access.job
        with self._changed:
            for work in works:
                self._schedule.arrived(job, work.step, time.monotonic_ns())
                self._queues.setdefault(job, deque()).append(TenantWork(tenant, work))
            self._changed.notify()

    def set_cycle(self, cycle_ns: int, shares: Sequence[CycleShare]) -> None:
        """See AggregatorControl."""
        with self._changed:
            self._schedule.set_cycle(cycle_ns, shares, time.monotonic_ns())
            self._changed.notify()

    def close(self) -> None:
        """End after the current work."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            found = self._next()
            if found is None:
                return
            began_ns = time.monotonic_ns()
            self._compute(*found)
            cost_ns = time.monotonic_ns() - began_ns
            job = found.tenant.access.job
            with self._changed:
                self._costs_ns[job, found.work.tensor] = cost_ns
                self._schedule.ran(job, cost_ns)

    def _next(self) -> TenantWork | None:
        """Wait for work that may run; None: closed."""
        with self._changed:
            while not self._is_closed:
                ready = {
                    job: self._costs_ns.get((job, queue[0].work.tensor), 0)
                    for job, queue in self._queues.items()
                }
                choice = self._schedule.choose(ready, time.monotonic_ns())
                for job in self._schedule.take_postponed():
                    self._queues[job][0].tenant.meter.late += 1
                if choice.job is not None:
                    return self._take(choice.job)
                wait_s = None
                if choice.wake_ns is not None:
                    wait_s = max(choice.wake_ns - time.monotonic_ns(), 0) / 1e9
                self._changed.wait(wait_s)
        return None

    def _take(self, job: int) -> TenantWork:
        queue = self._queues[job]
        found = queue.popleft()
        del self._queues[job]
        if queue:  # Behind the other jobs that are ready.
            self._queues[job] = queue
        return found
