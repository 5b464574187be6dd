"""Events of workers in any order, with repetitions: the same versions, each applied once."""

from __future__ import annotations

from collections import Counter
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from motet.aggregation.tensors.effects import Effects
from motet.aggregation.tensors.job_tensors import JobTensors
from motet.aggregation.tensors.slot_computation import Computation, apply, sum_up
from motet.aggregation.tensors.step_gradients import WorkerGradient
from motet.aggregation.tensors.tensor_slot import STEPS_AHEAD, TensorSlot
from motet.aggregation.wire.tensor_spec import OptimizerSpec, TensorSpec
from motet.aggregation.wire.worker_requests import FinishStep
from motet.runtime.wire.errors import BadMessage

SPEC = TensorSpec("t", (2,))
SGD = OptimizerSpec("sgd", ({"lr": 1.0, "momentum": 0.5},))


class Computed:
    """A job of two tensors, whose work is computed at once. `released`: by push."""

    def __init__(self, workers: int) -> None:
        self.tensors = JobTensors()
        self.tensors.register({0: SPEC, 1: SPEC}, SGD, workers)
        self.released: Counter[object] = Counter()
        self.steps: list[tuple[int, int]] = []
        for number in (0, 1):
            self.carry_out(self.tensors.put_value(number, np.zeros(2, np.float32).data))

    def carry_out(self, effects: Effects) -> None:
        for call in effects.calls:
            call()
        if effects.works:
            slots = self.tensors.slots
            found = [Computation(slots[work.tensor], work) for work in effects.works]
            sum_up(found)
            apply(found)
            self.steps += [(work.tensor, work.step) for work in effects.works]
            self.carry_out(self.tensors.completed(effects.works))

    def push(self, rank: int, step: int, number: int, ordinal: int, name: object) -> None:
        gradient = torch.full((2,), gradient_of(rank, step, number, ordinal))

        def release() -> None:
            self.released[name] += 1

        contribution = WorkerGradient(ordinal, gradient, release)
        self.carry_out(self.tensors.push(rank, step, [number], [contribution]))

    def finish(self, rank: int, step: int, counts: tuple[int, int]) -> None:
        self.carry_out(self.tensors.finish(FinishStep(rank, step, (0, 1), counts)))

    def values(self) -> list[list[float]]:
        return [slot.value_array().tolist() for slot in self.tensors.slots.values()]


def gradient_of(rank: int, step: int, number: int, ordinal: int) -> float:
    return float(10 * rank + step + 0.5 * number + 0.25 * ordinal)


Counts = dict[tuple[int, int, int], int]


def expected(workers: int, steps: int, counts: Counts) -> list[list[float]]:
    values = [torch.nn.Parameter(torch.zeros(2)) for _ in (0, 1)]
    optimizer = torch.optim.SGD(values, lr=1.0, momentum=0.5)
    for step in range(1, steps + 1):
        for number, value in enumerate(values):
            pushed = {r: counts[r, step, number] for r in range(workers)}
            found = [gradient_of(r, step, number, c) for r, c in pushed.items() if c]
            total = sum(map(torch.tensor, found), torch.tensor(0.0))
            value.grad = (total / workers).expand(2).clone() if found else None
        optimizer.step()
    return [value.tolist() for value in values]


@given(st.data())
def test_the_order_of_arrival_and_repetitions_are_irrelevant(data: st.DataObject) -> None:
    workers = data.draw(st.integers(1, 3))
    steps = 3
    job = Computed(workers)
    counts = {
        (rank, step, number): data.draw(st.integers(0, 2))
        for rank in range(workers)
        for step in range(1, steps + 1)
        for number in (0, 1)
    }
    late: list[tuple[object, ...]] = []
    for step in range(1, steps + 1):
        events: list[tuple[object, ...]] = []
        for rank in range(workers):
            pushed = (counts[rank, step, 0], counts[rank, step, 1])
            events.append(("finish", rank, step, pushed))
            events += [
                ("push", rank, step, number, ordinal)
                for number in (0, 1)
                for ordinal in range(1, pushed[number] + 1)
            ]
        repeated = data.draw(st.lists(st.sampled_from(events), max_size=4))
        order = data.draw(st.permutations([*events, *repeated, *late]))
        late = repeated[:2]
        for position, event in enumerate(order):
            if event[0] == "finish":
                job.finish(*event[1:])  # type: ignore[arg-type]
            else:
                job.push(*event[1:], name=(step, position))  # type: ignore[arg-type, misc]
        assert [slot.version for slot in job.tensors.slots.values()] == [step, step]
    assert job.values() == expected(workers, steps, counts)
    assert sorted(job.steps) == [(number, step) for number in (0, 1) for step in (1, 2, 3)]
    assert set(job.released.values()) <= {1}


@given(st.integers(1, 3), st.lists(st.booleans(), min_size=6, max_size=6))
def test_a_replica_repeats_what_its_tensor_did(at: int, is_repeated: list[bool]) -> None:
    """Copied after step `at`; some messages come twice."""
    job = Computed(2)
    replica = TensorSlot(0, SPEC, SGD)
    for step in range(1, 6):
        for rank in (0, 1):
            job.push(rank, step, 0, 1, None)
        effects = Effects()
        for rank in (0, 1):
            effects = job.tensors.finish(FinishStep(rank, step, (0, 1), (1, 0)))
        for work in effects.works:
            found = [Computation(job.tensors.slots[work.tensor], work)]
            (mean,) = sum_up(found)
            apply(found)
            if work.tensor == 0 and step > at:
                for _ in range(1 + is_repeated[step]):
                    array = None if mean is None else mean.numpy()
                    again = replica.replayed(step, work.end, array, sums=work.sums)
                    if again is not None:
                        apply([Computation(replica, again)])
                        replica.complete(again)
            job.tensors.completed([work])
        if step == at:
            replica.load(job.tensors.slots[0].image())
    slot = job.tensors.slots[0]
    assert replica.version == slot.version == 5
    assert np.array_equal(replica.value_array(), slot.value_array())
    assert np.array_equal(replica.state()["momentum_buffer"], slot.state()["momentum_buffer"])


def test_a_step_ends_without_a_worker_that_left() -> None:
    job = Computed(2)
    job.push(0, 1, 0, 1, "kept")
    job.finish(0, 1, (1, 0))
    assert job.values()[0] == [0, 0]
    job.carry_out(job.tensors.set_workers([0], 1))
    assert job.values()[0] == [-gradient_of(0, 1, 0, 1)] * 2


def test_a_mean_is_final() -> None:
    job = Computed(2)
    means = []
    for rank in (0, 1):
        job.push(rank, 1, 0, 1, rank)
        job.tensors.finalise(rank, 1, [0], [1])
        wait = job.tensors.await_means([0], 1, lambda: means.append(job.tensors.slots[0].mean(1)))
        job.carry_out(wait)
    assert [each.tolist() for each in means if each is not None] == [[6.25, 6.25]] * 2
    job.push(0, 1, 0, 2, "too late")
    assert job.released["too late"] == 1
    with pytest.raises(BadMessage, match="too early"):
        job.push(0, 4 + STEPS_AHEAD, 0, 1, "early")


def test_a_tensor_that_is_to_leave_stays_until_its_step_ends() -> None:
    """The answers to the pulls after this step say where it is."""
    job = Computed(2)
    events: list[str] = []
    job.carry_out(job.tensors.hold(0, lambda: events.append("left"), between_steps=True, version=1))
    job.carry_out(job.tensors.await_versions([0], 1, lambda: events.append("pulled")))
    for rank in (0, 1):
        assert events == []
        job.push(rank, 1, 0, 1, rank)
        job.finish(rank, 1, (1, 0))
    assert events == ["left", "pulled"]


def test_a_promoted_replica_with_the_mean_of_a_step_stays_until_the_step_ends() -> None:
    """A worker that waits for the mean would not get it elsewhere: others have it already."""
    job = Computed(2)
    replica = TensorSlot(0, SPEC, SGD)
    replica.put(np.zeros(2, np.float32), 0)
    replica.replayed(1, None, np.ones(2, np.float32), sums=True)
    job.carry_out(job.tensors.adopt(replica))
    events: list[str] = []
    job.carry_out(job.tensors.hold(0, lambda: events.append("left"), between_steps=True))
    job.carry_out(job.tensors.await_means([0], 1, lambda: events.append("mean")))
    assert events == ["mean"]
    for rank in (0, 1):
        job.finish(rank, 1, (1, 0))
    assert events == ["mean", "left"]


def test_a_pull_waits_until_a_tensor_that_arrives_is_served() -> None:
    """Other events of the job happen while its copy is read, or before optimizer state is."""
    job = Computed(1)
    slot = arriving_in(job)
    events: list[str] = []
    job.carry_out(job.tensors.await_versions([0], 1, lambda: events.append("pulled")))
    slot.put(np.zeros(2, np.float32), 1)
    job.carry_out(job.tensors.set_workers([0, 1], 5))
    assert events == []
    slot.is_arriving = False
    job.carry_out(job.tensors.adopt(slot))
    assert events == ["pulled"]


def arriving_in(job: Computed) -> TensorSlot:
    """Tensor 0, of which only gradients have come."""
    slot = TensorSlot(0, SPEC, SGD)
    slot.is_busy = slot.is_arriving = True
    job.tensors.slots[0] = slot
    return slot


def test_gradients_of_ended_steps_do_not_stay_with_a_tensor_that_arrives() -> None:
    """An Agent sends those of the last step again, since it does not know that the step ended."""
    job = Computed(workers=1)
    arriving = arriving_in(job)
    job.push(0, 3, 0, 1, "ended")
    job.push(0, 4, 0, 1, "next")
    arriving.put(np.zeros(2, np.float32), 3)
    arriving.is_arriving = False
    job.carry_out(job.tensors.adopt(arriving))
    assert job.released == {"ended": 1}
    job.finish(0, 4, (1, 0))
    assert job.released == {"ended": 1, "next": 1}
    assert not arriving.has_gradients()


def test_a_promoted_replica_has_the_gradients_of_the_tensor_that_did_not_arrive() -> None:
    job = Computed(workers=2)
    arriving_in(job)
    job.push(0, 1, 0, 1, "known mean")
    job.push(0, 2, 0, 1, "next")
    job.finish(0, 1, (1, 0))
    replica = TensorSlot(0, SPEC, SGD)
    replica.put(np.zeros(2, np.float32), 0)
    replica.replayed(1, None, np.full(2, 0.5, np.float32), sums=True)
    job.carry_out(job.tensors.adopt(replica))
    assert job.released == {"known mean": 1}
    job.finish(1, 1, (0, 0))
    assert replica.value_array().tolist() == [-0.5, -0.5]
    assert replica.has_gradients()


def test_a_tensor_of_an_idle_job_can_leave_at_once() -> None:
    job = Computed(1)
    events: list[int] = []
    for number in (0, 1):
        leave = partial(events.append, number)
        job.carry_out(job.tensors.hold(number, leave, between_steps=True, version=1))
    job.push(0, 1, 1, 1, None)
    job.carry_out(job.tensors.hasten([0, 1]))
    assert events == [0]
    job.finish(0, 1, (0, 1))
    assert events == [0, 1]


def test_a_job_is_quiet_while_its_workers_compute() -> None:
    job = Computed(2)
    events: list[str] = []
    job.carry_out(job.tensors.when_quiet(lambda: events.append("at once")))
    assert events == ["at once"]
    job.push(0, 1, 0, 1, None)
    job.carry_out(job.tensors.when_quiet(lambda: events.append("after the step")))
    job.push(1, 1, 0, 1, None)
    job.finish(0, 1, (1, 0))
    assert len(events) == 1
    job.finish(1, 1, (1, 0))
    assert events == ["at once", "after the step"]
