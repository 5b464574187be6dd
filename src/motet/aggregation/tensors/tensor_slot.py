"""One tensor of a job: its value at a version, and the gradients of the steps that follow."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import torch

from motet.aggregation.tensors.gradient_memory import (
    TORCH_TYPES,
    PushedBatch,
    TorchTensor,
    array_over,
    size_bytes,
    tensor_over,
)
from motet.aggregation.tensors.step_gradients import (
    Release,
    StepEnd,
    StepGradients,
    WorkerGradient,
)
from motet.aggregation.tensors.tensor_optimizer import TensorOptimizer
from motet.aggregation.wire.tensor_image import TensorImage
from motet.aggregation.wire.tensor_spec import OptimizerSpec, TensorSpec
from motet.domain.arrays import Array, Bytes
from motet.runtime.wire.errors import BadMessage

NO_VALUES = -1
STEPS_AHEAD = 1 << 16
"""Workers that use a tensor in few steps wait for each other at the Aggregators of others: then
this one may have to catch up with ends of steps, however many. A step beyond is an error."""


class SlotWork(NamedTuple):
    """What is to be computed for a tensor: a step's mean (`sums`), then its end (`end`)."""

    tensor: int
    step: int
    sums: bool
    end: StepEnd | None
    ranks: tuple[int, ...]
    size_bytes: int = 0

    @property
    def key(self) -> Hashable:
        """What its cost is remembered by."""
        return self.tensor

    @property
    def is_applied(self) -> bool:
        """Whether the optimizer runs."""
        return self.end is not None and self.end.is_applied

    def is_like(self, other: object) -> bool:
        """Whether both can be computed together."""
        return (
            isinstance(other, SlotWork)
            and self.step == other.step
            and self.sums == other.sums
            and self.ranks == other.ranks
            and (self.end is None) == (other.end is None)
            and self.is_applied == other.is_applied
        )


class TensorSlot:
    """A tensor. Not thread-safe: only `slot_computation` runs outside of the job's lock."""

    def __init__(self, number: int, spec: TensorSpec, optimizer: OptimizerSpec) -> None:
        """Raises BadInput for a specification that cannot be served."""
        self.number = number
        self.spec = spec
        self.size_bytes = size_bytes(spec)
        self.torch_dtype = TORCH_TYPES[spec.dtype]
        self.version = 0 if optimizer.kind == "none" else NO_VALUES
        self.is_busy = False
        self.is_arriving = False
        self._kind = optimizer.kind
        self._first_options = optimizer.groups[spec.group]
        self._steps: dict[int, StepGradients] = {}
        self.optimizer: TensorOptimizer | None = None
        self._prepared: TorchTensor | None = None
        self._own_mean: TorchTensor | None = None

    # -- contents --------------------------------------------------------------------------------

    def put(self, value: Array | Bytes, version: int) -> None:
        """Set the value, as a copy."""
        if value.nbytes != self.size_bytes:
            raise BadMessage(
                f"{value.nbytes} bytes for tensor {self.spec.name!r} of {self.size_bytes}"
            )
        source = tensor_over(value.reshape(-1).view("u1"), self.spec.dtype)
        if self.optimizer is None:
            memory = torch.empty_like(source) if self._prepared is None else self._prepared
            self.optimizer = TensorOptimizer(self._kind, memory, self._first_options, self.spec)
            self._prepared = None
        self.optimizer.value.copy_(source)
        self.version = version

    def prepare(self) -> None:
        """Touch memory for a value that will be `put`: new pages take longer than the copy."""
        self._prepared = tensor_over(np.full(self.size_bytes, 1, np.uint8), self.spec.dtype)

    @property
    def is_sums_only(self) -> bool:
        """Whether there is no value, only means."""
        return self._kind == "none"

    def value_array(self) -> Array:
        """A flat view of the value (bfloat16 as uint16)."""
        assert self.optimizer is not None
        return self.optimizer.array

    def state(self) -> dict[str, Array]:
        """Views of the optimizer's state, by torch.optim's names."""
        return {} if self.optimizer is None else self.optimizer.state()

    def image(self) -> TensorImage:
        """Everything at this version, as views; `load` is its inverse."""
        value = None if self.optimizer is None else self.value_array().reshape(self.spec.shape)
        return TensorImage(self.number, self.version, value, self.state())

    def load(self, image: TensorImage) -> None:
        """Replace value and state by a copy."""
        if image.value is not None:
            self.put(image.value, image.version)
            assert self.optimizer is not None
            self.optimizer.load(image.state)
        self.version = image.version

    def take_over(self, replica: TensorSlot) -> None:
        """Continue with the contents of a replica."""
        self.optimizer = replica.optimizer
        self.version = replica.version

    @property
    def memory_bytes(self) -> int:
        """Of value and state."""
        is_empty = self.optimizer is None and self._prepared is None
        value_bytes = 0 if is_empty else self.size_bytes
        return value_bytes + sum(array.nbytes for array in self.state().values())

    # -- gradients -------------------------------------------------------------------------------

    def require_open(self, step: int) -> None:
        """Raises BadMessage for a step too far ahead."""
        if step > max(self.version, 0) + STEPS_AHEAD and not self.is_arriving:
            raise BadMessage(
                f"tensor {self.spec.name!r} is at version {self.version}: step {step} is too early"
            )

    def push(self, rank: int, step: int, contribution: WorkerGradient) -> list[Release]:
        """Keep a gradient, exactly once; returns what can be released. Raises BadMessage."""
        found = self._steps.get(step) or self._step(step)
        if found is None:
            return [contribution.release]
        if self.is_busy and step == self.version + 1:
            known = found.contributions.get(rank)
            if known is not None:  # Sent again during the computation: its memory stays in use.
                both = _joined(known.release, contribution.release)
                found.contributions[rank] = known._replace(release=both)
                return []
        release = found.push(rank, contribution)
        return [] if release is None else [release]

    def finalise(self, rank: int, step: int, count: int) -> None:
        """The worker's push of that count is its gradient. Raises BadMessage."""
        found = self._step(step)
        if found is not None:
            found.finalise(rank, count)
            self._end_earlier(rank, step)

    def finish(self, rank: int, step: int, count: int, end: StepEnd) -> None:
        """The worker has ended the step. Raises BadMessage."""
        found = self._steps.get(step) or self._step(step)
        if found is not None:
            found.final.setdefault(rank, count)
            found.ends.setdefault(rank, end)
            if len(self._steps) > 1:
                self._end_earlier(rank, step)

    def may_progress(self, workers: int) -> bool:
        """Whether a computation may be possible: so many workers have ended the next step."""
        found = self._steps.get(self.version + 1)
        return found is not None and len(found.ends) >= workers

    def has_mean(self, step: int) -> bool:
        """Whether the mean of a step is known."""
        found = self._steps.get(step)
        return found is not None and found.is_summed

    def mean(self, step: int, *, is_halved: bool = False) -> Array:
        """A view of the mean, or zeros, if no worker pushed; in bfloat16, if it is halved."""
        mean = self._steps[step].mean
        spec = self.spec.on_the_wire(is_halved=is_halved)
        if mean is None:
            return np.zeros(size_bytes(spec), np.uint8)
        return array_over(mean if spec is self.spec else mean.to(torch.bfloat16))

    @property
    def is_idle(self) -> bool:
        """Whether it is here, and nothing of a later step has arrived."""
        return not (self._steps or self.is_busy or self.is_arriving)

    def has_gradients(self) -> bool:
        """Whether anything of a later step has arrived, or a replica has got the mean of one."""
        return any(
            s.contributions or s.final or s.ends or s.is_summed for s in self._steps.values()
        )

    def summed_work(self) -> SlotWork | None:
        """The sum of the next step as work that was done; None: its mean is not known."""
        step = self.version + 1
        if not self.has_mean(step):
            return None
        return SlotWork(self.number, step, True, None, (), self.size_bytes)

    # -- computing -------------------------------------------------------------------------------

    def next_work(self, ranks: Sequence[int], *, is_mean_wanted: bool) -> SlotWork | None:
        """What can be computed now; marks the tensor as busy until `complete`."""
        step = self.version + 1
        found = self._steps.get(step)
        if self.is_busy or found is None or not ranks or self.version == NO_VALUES:
            return None
        end = found.end(ranks) if found.is_finished(ranks) else None
        if end is None and not is_mean_wanted:
            return None
        is_applied = end is not None and end.is_applied
        sums = (is_mean_wanted or is_applied) and found.can_sum(ranks)
        if is_applied and not (sums or found.is_summed):
            return None
        if end is None and not sums:
            return None
        self.is_busy = True
        return SlotWork(self.number, step, sums, end, tuple(ranks), self.size_bytes)

    def gradients(self, work: SlotWork) -> list[TorchTensor]:
        """What is added up, in the order of ranks."""
        return self._steps[work.step].gradients(work.ranks)

    def batches(self, work: SlotWork) -> list[PushedBatch | None]:
        """The messages that brought them."""
        return self._steps[work.step].batches(work.ranks)

    def mean_memory(self, work: SlotWork, scratch: ScratchMemory | None = None) -> TorchTensor:
        """Where the mean goes. `scratch`: for one that is not needed after the step."""
        if work.end is not None and scratch is not None:
            return scratch.tensor(self.spec, self.size_bytes)
        if self._own_mean is None:
            self._own_mean = tensor_over(np.empty(self.size_bytes, np.uint8), self.spec.dtype)
        return self._own_mean

    def mean_is(self, work: SlotWork, mean: TorchTensor | None) -> None:
        """The mean was computed; None: zeros."""
        self._steps[work.step].mean = mean

    def mean_of(self, work: SlotWork) -> TorchTensor | None:
        """The mean that the step applies."""
        return self._steps[work.step].mean

    def replayed(
        self, step: int, end: StepEnd | None, mean: Array | None, *, sums: bool
    ) -> SlotWork | None:
        """What a replica has to compute to follow its tensor; None: nothing. A step that goes on
        keeps a copy of `mean`; one that ends uses `mean`, and may overwrite it. Repetitions change
        nothing."""
        found = self._step(step)
        if found is None or (end is None and found.is_summed):
            return None
        work = SlotWork(self.number, step, False, end, (), self.size_bytes)
        if sums:
            found.is_summed = True
            if mean is not None:
                found.mean = tensor_over(mean.reshape(-1).view("u1"), self.spec.dtype)
                if end is None:
                    found.mean = self.mean_memory(work).copy_(found.mean)
        return work

    def complete(self, work: SlotWork) -> list[Release]:
        """The results of a computation count; returns what can be released."""
        self.is_busy = False
        found = self._steps[work.step]
        found.is_summed = found.is_summed or work.sums
        releases = found.take_releases() if found.is_summed or work.end is not None else []
        if work.end is not None:
            self.version = work.step
            del self._steps[work.step]
        return releases

    def inherit(self, other: TensorSlot) -> list[Release]:
        """Continue with the gradients of another slot of this tensor, those of steps that have not
        ended; returns what can be released."""
        releases = list[Release]()
        for step, kept in other.take_steps().items():
            if step <= self.version:
                releases += kept.take_releases()
            elif step in self._steps:
                releases += self._steps[step].inherit(kept)
            else:
                self._steps[step] = kept
        return releases

    def take_steps(self) -> dict[int, StepGradients]:
        """Forget what came for each step, and return it."""
        steps, self._steps = self._steps, {}
        return steps

    def drop(self) -> list[Release]:
        """Forget all gradients; returns all releases."""
        return [release for s in self.take_steps().values() for release in s.take_releases()]

    def _step(self, step: int) -> StepGradients | None:
        """None: the step has been done. Raises BadMessage for one too far ahead."""
        if step <= self.version:
            return None
        found = self._steps.get(step)
        if found is None:
            if step > self.version + 1:
                self.require_open(step)
            found = self._steps[step] = StepGradients()
        return found

    def _end_earlier(self, rank: int, step: int) -> None:
        """A worker in the next step has ended this one, if it went on with the means."""
        before = self._steps.get(step - 1)
        if before is not None and before.is_summed:
            before.ends.setdefault(rank, StepEnd(is_applied=False))


class ScratchMemory:
    """Memory that one thread uses again and again: new memory costs a page fault per 4 KB."""

    def __init__(self) -> None:
        self._memory = np.empty(0, np.uint8)

    def tensor(self, spec: TensorSpec, wanted_bytes: int) -> TorchTensor:
        """Valid until the next call."""
        if len(self._memory) < wanted_bytes:
            self._memory = np.empty(wanted_bytes, np.uint8)
        return tensor_over(self._memory[:wanted_bytes], spec.dtype)


def _joined(first: Release, second: Release) -> Release:
    def both() -> None:
        first()
        second()

    return both
