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
    """A loop whose work takes time of its own clock. `ran`: the jobs in the order of their work,
    and what was answered in the cycle. `noted`: how many of them the schedule knows."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now_ns = 0
        self.ran: list[int | str] = []
        self.tenants = {n: Tenant(JobAccess(n, f"job {n}", b"", 1)) for n in WORK_MS}
        self.loop = ComputeLoop(self._compute, self.now_ns)
        self.noted = 0
        self._note = self.loop._schedule.ran
        self.loop._schedule.ran = self._ran  # type: ignore[method-assign]

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

    def answer(self, job: int, size_bytes: int) -> bool:
        """Of as many milliseconds as it has bytes; False: not in the cycle."""
        return self.loop.answer_late(
            self.tenants[job], size_bytes, lambda: self._take(f"answer {job}", size_bytes)
        )

    def run(self, job: int, step: int, ms: int) -> None:
        """A work of a job that is alone then."""
        self.at(ms)
        count = self.noted + 1
        self.submit(job, step)
        wait_until(lambda: self.noted == count)

    def _ran(self, job: int, cost_ns: int, now_ns: int) -> None:
        """The loop has read the clock."""
        self._note(job, cost_ns, now_ns)
        self.noted += 1

    def _compute(self, tenant: Tenant, works: Sequence[SlotWork]) -> None:
        self._take(tenant.access.job, WORK_MS[tenant.access.job])

    def _take(self, what: int | str, ms: int) -> None:
        with self._lock:
            self._now_ns += ms * MS
        self.ran.append(what)


@pytest.fixture
def timed() -> Iterator[TimedLoop]:
    timed = TimedLoop()
    yield timed
    timed.loop.close()


def late_beside_expected(timed: TimedLoop) -> list[int | str]:
    """Job 2 comes 40 ms late, 10 ms before job 1; the order in which both run."""
    for step, ms in ((1, 0), (2, 100)):
        timed.run(1, step, ms)
        timed.run(2, step, ms + 50)
    timed.run(1, 3, 200)
    timed.at(290)
    timed.submit(2, 3)
    timed.at(300)
    timed.submit(1, 4)
    wait_until(lambda: timed.noted >= 6)
    timed.at(400)
    timed.loop.set_cycle(0, ())
    wait_until(lambda: timed.noted == 7)
    return timed.ran[5:]


def test_late_work_waits_for_a_neighbour_that_is_due(timed: TimedLoop) -> None:
    timed.enforce_cycle()
    assert late_beside_expected(timed) == [1, 2]


def test_without_a_cycle_work_runs_in_the_order_of_arrival(timed: TimedLoop) -> None:
    assert late_beside_expected(timed) == [2, 1]


def test_a_late_answer_waits_for_a_neighbour_that_is_due(timed: TimedLoop) -> None:
    timed.enforce_cycle()
    timed.run(2, 1, 0)
    timed.run(1, 1, 60)
    timed.run(2, 2, 125)
    timed.tenants[2].meter.answer_costs.took(20, 20 * MS)
    assert timed.ran[-1] == 2
    timed.at(158)
    assert timed.answer(2, 20)
    timed.submit(1, 2)
    wait_until(lambda: timed.noted == 5)
    assert timed.ran[3:] == [1, "answer 2"]


def test_an_answer_of_a_step_on_time_is_none_of_the_cycle(timed: TimedLoop) -> None:
    assert not timed.answer(2, 20)
    timed.enforce_cycle()
    timed.run(2, 1, 0)
    timed.run(2, 2, 100)
    assert not timed.answer(2, 20)
    assert timed.ran == [2, 2]
