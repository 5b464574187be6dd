"""The thread that aggregates: it takes the work of all jobs in the order of the cycle.

Work on small tensors of one step is done together, up to a size that takes no longer than a tensor
of a usual size: other jobs wait for no more than before. Answers of late steps are work too: their
copies take memory bandwidth and processor time of the neighbours that are expected.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from motet.aggregation.aggregator.cycle.cycle_schedule import CycleSchedule
from motet.aggregation.aggregator.job_meter import shares
from motet.aggregation.aggregator.tenant import Tenant
from motet.aggregation.tensors.effects import AnyWork
from motet.aggregation.tensors.tensor_slot import SlotWork
from motet.aggregation.wire.aggregator_control import CycleShare

_LOG = logging.getLogger(__name__)

SMALL_BYTES = 1 << 18
TOGETHER_BYTES = 1 << 20
Work = TypeVar("Work", bound=AnyWork)


@dataclass(eq=False)
class TenantWork:
    """Work on one tensor of a job, or on several small ones; or, without any, an `answer`."""

    tenant: Tenant
    works: list[AnyWork]
    size_bytes: int
    cost_ns: int
    answer: Callable[[], None] | None = None

    def joins(self, work: AnyWork) -> bool:
        """Whether more work can be done with this."""
        return (
            bool(self.works)
            and work.size_bytes <= SMALL_BYTES
            and self.size_bytes + work.size_bytes <= TOGETHER_BYTES
            and self.works[0].size_bytes <= SMALL_BYTES
            and self.works[0].is_like(work)
        )


class ComputeLoop:
    """Runs `compute(tenant, works)`, one at a time. Thread-safe. `clock`: in nanoseconds."""

    def __init__(
        self,
        compute: Callable[[Tenant, Sequence[AnyWork]], None],
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._compute = compute
        self._clock = clock
        self._schedule = CycleSchedule()
        self._changed = threading.Condition()
        self._queues: dict[int, deque[TenantWork]] = {}
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="motet-aggregate", daemon=True)
        self._thread.start()

    def submit(self, tenant: Tenant, works: Sequence[AnyWork]) -> None:
        """Compute soon. Small ones of one call are computed together, in each step the same ones:
        which of other calls are still in the queue is a matter of time."""
        job = tenant.access.job
        now_ns = self._clock()
        with self._changed:
            queue = self._queues.setdefault(job, deque())
            step, last = 0, None
            for work in works:
                if work.step != step:
                    step = work.step
                    self._schedule.arrived(job, step, now_ns)
                cost_ns = _expected_ns(tenant, work)
                if last is not None and last.joins(work):
                    last.works.append(work)
                    last.size_bytes += work.size_bytes
                    last.cost_ns += cost_ns
                else:
                    last = TenantWork(tenant, [work], work.size_bytes, cost_ns)
                    queue.append(last)
            self._changed.notify()

    def answer_late(self, tenant: Tenant, size_bytes: int, call: Callable[[], None]) -> bool:
        """Answer in the cycle if the job's step is late; returns False, without a call, if not."""
        job = tenant.access.job
        with self._changed:
            if self._schedule.is_on_time(job, self._clock()):
                return False
            cost_ns = tenant.meter.answer_costs.expected_ns(size_bytes)
            queue = self._queues.setdefault(job, deque())
            queue.append(TenantWork(tenant, [], size_bytes, cost_ns, call))
            self._changed.notify()
        return True

    @property
    def is_idle(self) -> bool:
        """Whether no work waits. Some may be computed."""
        return not self._queues

    def set_cycle(self, cycle_ns: int, shares: Sequence[CycleShare]) -> None:
        """See AggregatorControl."""
        with self._changed:
            self._schedule.set_cycle(cycle_ns, shares, self._clock())
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
            job = found.tenant.access.job
            began_ns = self._clock()
            try:
                if found.answer is not None:
                    found.answer()
                else:
                    self._compute(found.tenant, found.works)
            except Exception:  # Of one job: all others still need this thread.
                _LOG.exception("work of job %d failed", job)
            now_ns = self._clock()
            cost_ns = now_ns - began_ns
            with self._changed:
                for work, share_ns in shared_cost(found.works, cost_ns):
                    found.tenant.meter.work_costs.took(work.key, share_ns)
                self._schedule.ran(job, cost_ns, now_ns)

    def _next(self) -> TenantWork | None:
        """Wait for work that may run; None: closed."""
        with self._changed:
            while not self._is_closed:
                ready = {job: queue[0].cost_ns for job, queue in self._queues.items()}
                choice = self._schedule.choose(ready, self._clock())
                for job in self._schedule.take_postponed():
                    self._queues[job][0].tenant.meter.late += 1
                if choice.job is not None:
                    return self._take(choice.job)
                wait_s = None
                if choice.wake_ns is not None:
                    wait_s = max(choice.wake_ns - self._clock(), 0) / 1e9
                self._changed.wait(wait_s)
        return None

    def _take(self, job: int) -> TenantWork:
        queue = self._queues[job]
        found = queue.popleft()
        del self._queues[job]
        if queue:  # Behind the other jobs that are ready.
            self._queues[job] = queue
        return found


def shared_cost(works: Sequence[Work], cost_ns: int) -> Iterator[tuple[Work, int]]:
    """Each one's part of what all took."""
    return zip(works, shares([work.size_bytes for work in works], cost_ns), strict=True)


def _expected_ns(tenant: Tenant, work: AnyWork) -> int:
    """Of work that was never done together: what its parts took."""
    costs = tenant.meter.work_costs
    known_ns = costs.expected_ns(work.key)
    if known_ns or isinstance(work, SlotWork):
        return known_ns
    return sum(map(costs.expected_ns, work.key))
