"""The thread that aggregates keeps the cycle; the clock is that of the test, whatever the load."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pytest

from motet.aggregation.aggregator.cycle.compute_loop import ComputeLoop
from motet.aggregation.aggregator.tenant import Tenant
from motet.aggregation.tensors.tensor_slot import SlotWork
from motet.aggregation.wire.aggregator_control import CycleShare, JobAccess
from waiting import wait_until

MS = 1_000_000
WORK_MS = {1: 10, 2: 30}


class TimedLoop:
    """A loop whose work takes time of its own clock. `ran`: the jobs in the order of their work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now_ns = 0
        self.ran: list[int] = []
        self.tenants = {n: Tenant(JobAccess(n, f"job {n}", b"", 1)) for n in WORK_MS}
        self.loop = ComputeLoop(self._compute, self.now_ns)

    def now_ns(self) -> int:
        with self._lock:
            return self._now_ns

    def at(self, ms: int) -> None:
        with self._lock:
            self._now_ns = ms * MS

    def enforce_cycle(self) -> None:
        shares = [CycleShare(n, 100 * MS, 1, work * MS) for n, work in WORK_MS.items()]
        self.loop.set_cycle(100 * MS, shares)

    def submit(self, job: int, step: int) -> None:
        work = SlotWork(0, step, True, None, (0,), 1)
        self.loop.submit(self.tenants[job], [work])

    def run(self, job: int, step: int, ms: int) -> None:
        """A work of a job that is alone then."""
        self.at(ms)
        count = len(self.ran) + 1
        self.submit(job, step)
        wait_until(lambda: len(self.ran) == count)

    def _compute(self, tenant: Tenant, works: Sequence[SlotWork]) -> None:
        with self._lock:
            self._now_ns += WORK_MS[tenant.access.job] * MS
        self.ran.append(tenant.access.job)


@pytest.fixture
def timed() -> Iterator[TimedLoop]:
    timed = TimedLoop()
    yield timed
    timed.loop.close()


def late_beside_expected(timed: TimedLoop) -> list[int]:
    """Job 2 comes 40 ms late, 10 ms before job 1; the order in which both run."""
    for step, ms in ((1, 0), (2, 100)):
        timed.run(1, step, ms)
        timed.run(2, step, ms + 50)
    timed.run(1, 3, 200)
    timed.at(290)
    timed.submit(2, 3)
    timed.at(300)
    timed.submit(1, 4)
    wait_until(lambda: len(timed.ran) >= 6)
    timed.at(400)
    timed.loop.set_cycle(0, ())
    wait_until(lambda: len(timed.ran) == 7)
    return timed.ran[5:]


def test_late_work_waits_for_a_neighbour_that_is_due(timed: TimedLoop) -> None:
    timed.enforce_cycle()
    assert late_beside_expected(timed) == [1, 2]


def test_without_a_cycle_work_runs_in_the_order_of_arrival(timed: TimedLoop) -> None:
    assert late_beside_expected(timed) == [2, 1]
