"""Steps of small tensors that each worker sends in one message: one account for all of them.

To note of each tensor who has sent what takes several times as long as to add it up. Tensors that
lie in one memory (`joint_memory`), and whose gradients come in one message that ends the step, have
a joint account. Whatever else happens to one of them separates them first: what has arrived becomes
an account of each, as if it had been noted there. So no other rule knows of joint steps. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from motet.aggregation.tensors.gradient_memory import PushedBatch, TorchTensor, tensor_over
from motet.aggregation.tensors.joint_memory import FEWEST, JointMemory, joint_memory_of
from motet.aggregation.tensors.slot_computation import mean_of_messages
from motet.aggregation.tensors.step_gradients import Release, StepEnd, WorkerGradient
from motet.aggregation.tensors.tensor_optimizer import TensorOptimizer
from motet.aggregation.tensors.tensor_slot import SlotWork, TensorSlot
from motet.aggregation.tensors.waiting_requests import after_all
from motet.domain.arrays import Array

MOST_BYTES = 5 << 18
"""A message of small tensors has no more; their step takes no longer than one of a usual size."""
_LONGEST_PAUSE = 255
_MOST_KNOWN = 256


class JointPush(NamedTuple):
    """A worker's last gradients of a step. `counts`: by tensor, which push of the step it is."""

    counts: Sequence[int]
    payload: memoryview
    end: StepEnd
    release: Release


class JointTensors:
    """Tensors in one memory, at one version. `pushed`: by rank, of the next step. `work`: while
    that is computed."""

    def __init__(
        self,
        slots: Sequence[TensorSlot],
        optimizers: Sequence[TensorOptimizer],
        memory: JointMemory,
    ) -> None:
        self.numbers = tuple(slot.number for slot in slots)
        self.slots = slots
        self.optimizers = optimizers
        self.memory = memory
        self.version = slots[0].version
        self.group = slots[0].spec.group
        self.sizes_bytes = [slot.size_bytes for slot in slots]
        self.size_bytes = sum(self.sizes_bytes)
        self.pushed: dict[int, JointPush] = {}
        self.work: JointWork | None = None

    def takes(self, rank: int, step: int) -> bool:
        """Whether a worker's gradients can be noted here."""
        return step == self.version + 1 and rank not in self.pushed and self.work is None

    def begin(self, ranks: Sequence[int]) -> JointWork:
        """All workers have sent theirs."""
        for slot in self.slots:
            slot.is_busy = True
        pushed = [self.pushed[rank] for rank in ranks]
        step = self.version + 1
        self.work = JointWork(self, step, tuple(ranks), pushed, self.size_bytes)
        return self.work

    def complete(self) -> list[Release]:
        """The step was computed; returns what can be released."""
        self.version += 1
        for slot in self.slots:
            slot.version, slot.is_busy = self.version, False
        releases = [push.release for push in self.pushed.values()]
        self.pushed, self.work = {}, None
        return releases

    def separate(self) -> None:
        """Note for each tensor what has arrived."""
        specs = [slot.spec for slot in self.slots]
        step = self.version + 1
        for rank, push in self.pushed.items():
            batch = PushedBatch(push.payload, self.numbers, specs)
            release = after_all(len(specs), push.release)
            for slot, count, part in zip(self.slots, push.counts, batch.parts, strict=True):
                slot.push(rank, step, WorkerGradient(count, part, release, batch))
                slot.finish(rank, step, count, push.end)


class JointWork(NamedTuple):
    """A step of joint tensors, to be computed: the mean, then the optimizer. `pushed`: in the order
    of `ranks`."""

    tensors: JointTensors
    step: int
    ranks: tuple[int, ...]
    pushed: Sequence[JointPush]
    size_bytes: int

    @property
    def key(self) -> tuple[int, ...]:
        """See SlotWork."""
        return self.tensors.numbers

    def is_like(self, other: object) -> bool:
        """See SlotWork: it is as large as what is computed together."""
        del other
        return False

    def mean(self) -> TorchTensor:
        """Of all tensors, one after the other."""
        dtype = self.tensors.slots[0].spec.dtype
        return mean_of_messages([tensor_over(push.payload, dtype) for push in self.pushed])

    def means(self, mean: TorchTensor) -> Sequence[TorchTensor]:
        """Of each of `parts`."""
        return self.tensors.memory.parts(mean)

    def apply(self, mean: TorchTensor) -> None:
        """Run the optimizer; `mean` may be overwritten."""
        optimizers = self.tensors.optimizers
        self.tensors.memory.step_whole(optimizers, mean, self.pushed[0].end.options)

    def parts(self) -> list[SlotWork]:
        """The same as work on each tensor."""
        end = self.pushed[0].end
        return [
            SlotWork(slot.number, self.step, True, end, self.ranks, slot.size_bytes)
            for slot in self.tensors.slots
        ]


@dataclass(frozen=True)
class _Wait:
    """A request that waits for joint tensors."""

    numbers: Sequence[int]
    version: int
    groups: Sequence[JointTensors]
    respond: Callable[[], None]

    @property
    def is_over(self) -> bool:
        return all(group.version >= self.version for group in self.groups)


class JointSteps:
    """The joint tensors of a job. Where they are separated again and again, the next ones are
    formed after ever longer pauses."""

    def __init__(self, slots: dict[int, TensorSlot]) -> None:
        """`slots`: all tensors of the job, as they change."""
        self._slots = slots
        self._groups: dict[tuple[int, ...], JointTensors] = {}
        self._group_of: dict[int, JointTensors] = {}
        self._known: dict[tuple[int, ...], Sequence[JointTensors] | None] = {}
        self._waits: list[_Wait] = []
        self._pause = self._skips = 0

    def has_any(self, numbers: Iterable[int]) -> bool:
        """Whether one of these tensors is joint."""
        return bool(self._groups) and not self._group_of.keys().isdisjoint(numbers)

    def find(self, numbers: tuple[int, ...], awaited: Container[int]) -> JointTensors | None:
        """These tensors, if they are joint or become so now; those that are `awaited` do not."""
        found = self._groups.get(numbers)
        if found is not None:
            return found
        if self._skips:
            self._skips -= 1
            return None
        found = self._formed(numbers, awaited)
        if found is not None:
            self._groups[numbers] = found
            self._group_of.update(dict.fromkeys(numbers, found))
            self._known.clear()
        return found

    def groups_of(self, numbers: tuple[int, ...]) -> Sequence[JointTensors] | None:
        """Those with these tensors; None: one of them is not joint."""
        if numbers not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = [self._group_of.get(n) for n in numbers]
            groups = list(dict.fromkeys(each for each in found if each is not None))
            self._known[numbers] = None if None in found or not found else groups
        return self._known[numbers]

    def values(self, numbers: tuple[int, ...], version: int) -> list[Array] | None:
        """Of joint tensors with this version, one after the other; None: not all of them are."""
        groups = self.groups_of(numbers)
        if groups is None or any(group.version < version for group in groups):
            return None
        if len(groups) == 1 and groups[0].numbers == numbers:
            return [groups[0].memory.array]
        return [self._slots[n].value_array() for n in numbers]

    def wait(
        self, numbers: tuple[int, ...], version: int, respond: Callable[[], None]
    ) -> list[Callable[[], None]] | None:
        """Respond once all these tensors have the version; returns the answer if they have. None:
        one of them is not joint."""
        groups = self.groups_of(numbers)
        if groups is None:
            return None
        wait = _Wait(numbers, version, groups, respond)
        if wait.is_over:
            return [respond]
        self._waits.append(wait)
        return []

    def is_current(self, work: JointWork) -> bool:
        """Whether its tensors were not separated since it began."""
        return work.tensors.work is work and self._groups.get(work.key) is work.tensors

    def complete(self, work: JointWork) -> list[Callable[[], None]]:
        """What can be released and answered once current work is done."""
        self._pause = 0
        calls = work.tensors.complete()
        calls += [wait.respond for wait in self._waits if wait.is_over]
        self._waits = [wait for wait in self._waits if not wait.is_over]
        return calls

    def separate(self) -> list[tuple[Sequence[int], int, Callable[[], None]]]:
        """Give each tensor an account of its own; returns the requests that wait for some of them,
        and for which version."""
        groups, waits = self._groups, self._waits
        self._groups, self._group_of, self._known, self._waits = {}, {}, {}, []
        for group in groups.values():
            group.separate()
        if any(group.pushed for group in groups.values()):
            self._pause = self._skips = min(2 * self._pause + 1, _LONGEST_PAUSE)
        return [(wait.numbers, wait.version, wait.respond) for wait in waits]

    def _formed(self, numbers: tuple[int, ...], awaited: Container[int]) -> JointTensors | None:
        if len(numbers) < FEWEST or any(n in self._group_of or n in awaited for n in numbers):
            return None
        slots = [self._slots[n] for n in numbers if n in self._slots]
        if len(slots) < len(numbers) or len({(s.version, s.spec.group) for s in slots}) > 1:
            return None
        idle = [slot.optimizer for slot in slots if slot.is_idle]
        optimizers = [each for each in idle if each is not None]
        memory = joint_memory_of(optimizers)
        if memory is None or len(optimizers) < len(numbers):
            return None
        found = JointTensors(slots, optimizers, memory)
        return found if found.size_bytes <= MOST_BYTES else None
