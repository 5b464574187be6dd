"""Small tensors of a step are computed together; large ones and other steps are not."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from motet.aggregation.aggregator.cycle.compute_loop import (
    SMALL_BYTES,
    TOGETHER_BYTES,
    ComputeLoop,
    shared_cost,
)
from motet.aggregation.aggregator.tenant import Tenant
from motet.aggregation.tensors.effects import AnyWork
from motet.aggregation.tensors.step_gradients import StepEnd
from motet.aggregation.tensors.tensor_slot import SlotWork
from motet.aggregation.wire.aggregator_control import JobAccess


def work(tensor: int, size_bytes: int, step: int = 1, *, is_applied: bool = True) -> SlotWork:
    return SlotWork(tensor, step, is_applied, StepEnd(is_applied), (0, 1), size_bytes)


def tenant(job: int) -> Tenant:
    return Tenant(JobAccess(job, f"job {job}", b"", 1 << 30))


@contextmanager
def loop() -> Iterator[tuple[ComputeLoop, queue.SimpleQueue[tuple[int, list[int]]]]]:
    computed: queue.SimpleQueue[tuple[int, list[int]]] = queue.SimpleQueue()

    def compute(whose: Tenant, works: Sequence[SlotWork]) -> None:
        computed.put((whose.access.job, [each.tensor for each in works]))

    found = ComputeLoop(compute)
    yield found, computed
    found.close()


def test_small_tensors_are_computed_together_up_to_a_size() -> None:
    sizes = [SMALL_BYTES, SMALL_BYTES // 2, SMALL_BYTES + 1, 100, 100]
    with loop() as (computes, computed):
        computes.submit(tenant(1), [work(n, size) for n, size in enumerate(sizes)])
        assert [computed.get()[1] for _ in range(3)] == [[0, 1], [2], [3, 4]]
    per_batch = TOGETHER_BYTES // SMALL_BYTES
    with loop() as (computes, computed):
        computes.submit(tenant(1), [work(n, SMALL_BYTES) for n in range(per_batch + 1)])
        assert [computed.get()[1] for _ in range(2)] == [[*range(per_batch)], [per_batch]]


def test_work_that_fails_leaves_the_thread_to_all_others() -> None:
    computed: queue.SimpleQueue[int] = queue.SimpleQueue()

    def compute(whose: Tenant, works: Sequence[SlotWork]) -> None:
        if whose.access.job == 1:
            raise RuntimeError("as a test wants it")
        computed.put(whose.access.job)

    computes = ComputeLoop(compute)
    computes.submit(tenant(1), [work(0, 10)])
    computes.submit(tenant(2), [work(0, 10)])
    assert computed.get(timeout=60) == 2
    computes.close()


def test_the_last_work_is_computed_by_an_idle_loop() -> None:
    idle: queue.SimpleQueue[bool] = queue.SimpleQueue()
    both_wait = threading.Event()

    def compute(whose: Tenant, works: Sequence[AnyWork]) -> None:
        both_wait.wait()
        idle.put(computes.is_idle)

    computes = ComputeLoop(compute)
    computes.submit(tenant(1), [work(0, 10)])
    computes.submit(tenant(2), [work(0, 10)])
    both_wait.set()
    assert [idle.get(timeout=60) for _ in range(2)] == [False, True]
    computes.close()


def test_small_tensors_that_come_later_are_computed_by_themselves() -> None:
    """Else time would tell which are computed together, and lie in one memory."""
    goes_on = threading.Event()
    computed: queue.SimpleQueue[int] = queue.SimpleQueue()

    def compute(whose: Tenant, works: Sequence[AnyWork]) -> None:
        goes_on.wait()
        computed.put(len(works))

    computes, whose = ComputeLoop(compute), tenant(1)
    for numbers in ([0], [1, 2], [3]):
        computes.submit(whose, [work(n, 10) for n in numbers])
    goes_on.set()
    assert [computed.get(timeout=60) for _ in range(3)] == [1, 2, 1]
    computes.close()


def test_work_of_another_step_or_kind_is_not_joined() -> None:
    works = [work(0, 10), work(1, 10, step=2), work(2, 10, step=2, is_applied=False)]
    with loop() as (computes, computed):
        computes.submit(tenant(1), works)
        assert [computed.get()[1] for _ in works] == [[0], [1], [2]]


def test_the_cost_of_a_computation_is_shared_by_size() -> None:
    works = [work(0, 1 << 20), work(1, 1 << 20), work(2, 0)]
    first, second, empty = (share for _, share in shared_cost(works, 1_000_000))
    assert first == second > 50 * empty > 0
    assert first + second + empty <= 1_000_000
