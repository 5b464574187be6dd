"""Gradients noted for all tensors at once: the versions, answers and releases of each by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from motet.aggregation.tensors.effects import AnyWork, Effects
from motet.aggregation.tensors.gradient_memory import PushedBatch
from motet.aggregation.tensors.job_tensors import JobTensors
from motet.aggregation.tensors.joint_steps import JointWork
from motet.aggregation.tensors.slot_computation import Computation, apply, sum_up
from motet.aggregation.tensors.step_gradients import WorkerGradient
from motet.aggregation.tensors.tensor_slot import SlotWork
from motet.aggregation.tensors.waiting_requests import after_all
from motet.aggregation.wire.tensor_spec import OptimizerSpec, TensorSpec
from motet.aggregation.wire.worker_requests import PushGradients
from motet.runtime.wire.errors import BadMessage

SIZES = (3, 1, 4, 2, 5)
EVERY = tuple(range(len(SIZES)))
KINDS = {
    "sgd": OptimizerSpec("sgd", ({"lr": 0.1, "momentum": 0.9},)),
    "adamw": OptimizerSpec("adamw", ({"lr": 0.1},)),
}
Disturbance: TypeAlias = Callable[["Job", int], None]
FIRST_JOINT = 3
"""The first step in which all lie in one memory: they were stepped together twice before."""


class Job:
    """`works`: not computed yet. `released`, `answered`: by name. `expected`: to be answered."""

    def __init__(self, kind: str, workers: int) -> None:
        self.tensors = JobTensors()
        specs = {n: TensorSpec(str(n), (size,)) for n, size in enumerate(SIZES)}
        self.tensors.register(specs, KINDS[kind], workers)
        self.works: list[AnyWork] = []
        self.released: Counter[object] = Counter()
        self.answered: Counter[object] = Counter()
        self.expected = set[object]()
        self.joint_steps = 0
        for number, size in enumerate(SIZES):
            self.carry_out(self.tensors.put_value(number, np.ones(size, np.float32).data))

    def carry_out(self, effects: Effects) -> None:
        for call in effects.calls:
            call()
        self.works += effects.works

    def push(self, request: PushGradients, payload: memoryview, name: object) -> None:
        release = partial(self.released.update, [name])
        found = self.tensors.joint(request, len(payload))
        if found is not None:
            self.carry_out(self.tensors.push_together(found, request, payload, release))
            return
        self.tensors.require_groups(request.groups)
        known = self.tensors.separated(request.tensors)
        specs = [known[n].spec for n in request.tensors]
        batch = PushedBatch(payload, request.tensors, specs)
        each_release = after_all(len(specs), release)
        gradients = [
            WorkerGradient(count, part, each_release, batch)
            for count, part in zip(request.counts, batch.parts, strict=True)
        ]
        where = request.rank, request.step, request.tensors
        effects = self.tensors.push(*where, gradients, ends_step=True)
        effects.add(self.tensors.finish(request.end))
        self.carry_out(effects)

    def compute(self, disturb: Callable[[], None] = lambda: None) -> None:
        """All works; `disturb` is called while one is computed."""
        works, self.works = self.works, []
        joint = [each for each in works if isinstance(each, JointWork)]
        single = [each for each in works if isinstance(each, SlotWork)]
        for work in joint:
            if not self.tensors.is_joint(work):
                single += work.parts()
                continue
            self.joint_steps += 1
            mean = work.mean()
            disturb()
            work.apply(mean)
            self.carry_out(self.tensors.completed_together(work))
        for some in self._apart(single):
            slots = self.tensors.separated([work.tensor for work in some])
            found = [Computation(slots[w.tensor], w) for w in some if w.tensor in slots]
            sum_up(found)
            apply(found)
            self.carry_out(self.tensors.completed([each.work for each in found]))

    def _apart(self, works: Sequence[SlotWork]) -> list[list[SlotWork]]:
        """As they come in messages: those of small tensors in one."""
        found = [
            [w for w in works if (w.tensor in EVERY) == is_small] for is_small in (True, False)
        ]
        return [each for each in found if each]

    def state(self) -> list[dict[str, list[float]]]:
        slots = self.tensors.slots.values()
        return [
            {"value": s.value_array().tolist()} | {n: a.tolist() for n, a in s.state().items()}
            for s in slots
        ]


def pushed(rank: int, step: int, ordinal: int = 1) -> tuple[PushGradients, memoryview]:
    random = np.random.default_rng((rank, step, ordinal))
    options = ({"lr": 0.1 / step},) if rank == 0 else None
    request = PushGradients(
        rank, step, EVERY, (ordinal,) * len(EVERY), ends_step=True, groups=options
    )
    return request, memoryview(bytearray(random.standard_normal(sum(SIZES)).astype("f4")))


def send(job: Job, rank: int, step: int, name: object = None) -> None:
    request, payload = pushed(rank, step)
    job.push(request, payload, name or (rank, step))


def wait(job: Job, step: int, name: object, numbers: tuple[int, ...] = EVERY) -> None:
    def respond() -> None:
        assert all(job.tensors.separated(())[n].version >= step for n in numbers)
        job.answered[name] += 1

    job.carry_out(job.tensors.await_versions(numbers, step, respond))


def trained(kind: str, steps: int, alone_from: int | None = None) -> list[list[float]]:
    """By PyTorch. `alone_from`: the first step of rank 0 alone."""
    values = [torch.nn.Parameter(torch.ones(size)) for size in SIZES]
    known = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}
    optimizer = known[kind](values, **KINDS[kind].groups[0])
    for step in range(1, steps + 1):
        optimizer.param_groups[0]["lr"] = 0.1 / step
        ranks = (0, 1) if alone_from is None or step < alone_from else (0,)
        found = [np.frombuffer(pushed(rank, step)[1], "f4") for rank in ranks]
        mean = torch.from_numpy(sum(found[1:], found[0])) / len(found)
        for value, part in zip(values, mean.split(SIZES), strict=True):
            value.grad = part.clone()
        optimizer.step()
    return [value.tolist() for value in values]


@pytest.mark.parametrize("kind", KINDS)
def test_steps_of_whole_messages_are_joint_and_have_the_results_of_each_tensor(kind: str) -> None:
    job = Job(kind, 2)
    for step in range(1, 7):
        for rank in (0, 1):
            send(job, rank, step)
            wait(job, step, (rank, step))
        job.compute()
        assert job.answered[0, step] == job.answered[1, step] == 1
    assert job.joint_steps == 6 - FIRST_JOINT + 1
    assert job.released == {(rank, step): 1 for rank in (0, 1) for step in range(1, 7)}
    assert [state["value"] for state in job.state()] == trained(kind, 6)


def test_another_tensor_of_the_job_leaves_them_joint() -> None:
    job = Job("sgd", 2)
    alone = len(SIZES)
    job.tensors.register({alone: TensorSpec("alone", (1,))}, KINDS["sgd"], 2)
    job.carry_out(job.tensors.put_value(alone, np.ones(1, np.float32).data))
    for step in range(1, 7):
        for rank in (0, 1):
            send(job, rank, step)
            request = replace(pushed(rank, step)[0], tensors=(alone,), counts=(1,))
            job.push(request, memoryview(bytearray(4)), None)
            wait(job, step, (rank, step), (alone,))
            wait(job, step, (rank, step))
        job.compute()
        assert job.answered[0, step] == job.answered[1, step] == 2
    assert job.joint_steps == 6 - FIRST_JOINT + 1
    assert [state["value"] for state in job.state()][:alone] == trained("sgd", 6)


def look(job: Job, step: int) -> None:
    """As what knows nothing of joint tensors."""
    assert all(slot.version < step for slot in job.tensors.slots.values() if slot.is_busy)


def wait_for_some(job: Job, step: int) -> None:
    wait(job, step, ("some", step), (3, 1))


def held(job: Job, step: int) -> None:
    """Once nothing is computed, and resumed at once."""
    hold(job, ("held", step), 0)


def held_after(job: Job, step: int) -> None:
    """The same when the step has ended."""
    hold(job, ("held after", step), step)


def hold(job: Job, name: object, version: int) -> None:
    number = 1 if version else 2

    def resume() -> None:
        assert job.tensors.slots[number].version >= version
        job.answered[name] = 1
        job.carry_out(job.tensors.resume([number]))

    job.expected.add(name)
    job.carry_out(job.tensors.hold(number, resume, between_steps=False, version=version))


def awaited_quiet(job: Job, step: int) -> None:
    job.carry_out(job.tensors.when_quiet(partial(job.answered.update, [("quiet", step)])))


def same_workers(job: Job, step: int) -> None:
    job.carry_out(job.tensors.set_workers((0, 1), step))


def of_other_groups(job: Job, step: int) -> None:
    """Refused, without effects."""
    request, payload = pushed(0, step)
    wrong = replace(request, groups=({}, {}))
    with pytest.raises(BadMessage):
        job.push(wrong, payload, "wrong")


def came_back(job: Job, step: int) -> None:
    """What came for it before counts."""
    slot = job.tensors.slots[4]
    if not slot.is_busy:
        job.carry_out(job.tensors.adopt(slot))


BETWEEN = (
    look,
    wait_for_some,
    held,
    held_after,
    awaited_quiet,
    same_workers,
    of_other_groups,
    came_back,
)


@given(st.data())
def test_what_happens_to_one_tensor_leaves_results_answers_and_releases_as_they_are(
    data: st.DataObject,
) -> None:
    kind = data.draw(st.sampled_from(sorted(KINDS)))
    job, steps = Job(kind, 2), 8
    some = st.lists(st.sampled_from(BETWEEN), max_size=2)
    names = set[object]()
    for step in range(1, steps + 1):
        ranks = data.draw(st.permutations(data.draw(st.sampled_from([(0, 1), (0, 1, 0)]))))
        for position, rank in enumerate(ranks):
            for disturbance in data.draw(some):
                disturbance(job, step)
            name = rank, step, position
            names.add(name)
            send(job, rank, step, name)
            wait(job, step, name)
        within = data.draw(some)

        def disturb(step: int = step, within: Sequence[Disturbance] = within) -> None:
            for disturbance in within:
                disturbance(job, step)

        while job.works:
            job.compute(disturb)
        assert [slot.version for slot in job.tensors.slots.values()] == [step] * len(SIZES)
        assert job.answered.keys() >= job.expected
    assert [state["value"] for state in job.state()] == trained(kind, steps)
    assert job.released == dict.fromkeys(names, 1)
    assert {name: job.answered[name] for name in names} == dict.fromkeys(names, 1)


@pytest.mark.parametrize("first", [0, 1])
def test_a_worker_that_leaves_within_a_joint_step_is_waited_for_no_longer(first: int) -> None:
    """Whether it has sent its gradients or not; what they were sent with is released once."""
    job, last = Job("sgd", 2), FIRST_JOINT + 1
    for step in range(1, last):
        for rank in (0, 1):
            send(job, rank, step)
        job.compute()
    assert job.joint_steps == 1
    send(job, first, last)
    wait(job, last, "waiting")
    job.carry_out(job.tensors.set_workers((0,), last))
    if first == 1:
        send(job, 0, last)
    job.compute()
    assert job.answered["waiting"] == 1
    assert job.released == {(rank, step): 1 for rank in (0, 1) for step in range(1, last)} | {
        (rank, last): 1 for rank in {0, first}
    }
    assert [state["value"] for state in job.state()] == trained("sgd", last, alone_from=last)
