"""What is computed for tensors: means of gradients, and the optimizer; many small ones at once.

One call of PyTorch on a list of small tensors costs a fraction of as many calls, and runs the same
kernel on each of them, so the bits are the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from motet.aggregation.tensors.gradient_memory import TorchTensor, TorchType
from motet.aggregation.tensors.joint_memory import step_together
from motet.aggregation.tensors.tensor_optimizer import EXACT_TOGETHER, OptimizerStep
from motet.aggregation.tensors.tensor_slot import ScratchMemory, SlotWork, TensorSlot


class Computation(NamedTuple):
    """Work on one tensor."""

    slot: TensorSlot
    work: SlotWork


def sum_up(
    computations: Sequence[Computation], scratch: ScratchMemory | None = None
) -> list[TorchTensor | None]:
    """Compute the mean of each tensor whose work has to; returns them (None: none, or zeros).

    `scratch`: memory for the mean of a single tensor that is not needed after `apply`.
    """
    summed = [each for each in computations if each.work.sums]
    if len(computations) == 1 or any(s.torch_dtype not in EXACT_TOGETHER for s, _ in summed):
        for slot, work in summed:
            memory = slot.mean_memory(work, scratch if len(computations) == 1 else None)
            slot.mean_is(work, _mean(slot.gradients(work), len(work.ranks), memory))
    elif summed:
        _sum_together(summed)
    return [slot.mean_of(work) if work.sums else None for slot, work in computations]


def apply(computations: Sequence[Computation]) -> None:
    """Run the optimizer for each tensor whose work has to."""
    steps = []
    for slot, work in computations:
        mean = slot.mean_of(work) if work.is_applied else None
        if mean is not None:
            assert slot.optimizer is not None
            assert work.end is not None
            steps.append(OptimizerStep(slot.optimizer, mean, work.end.options))
    step_together(steps)


def mean_of_messages(messages: Sequence[TorchTensor]) -> TorchTensor:
    """The mean of what each worker has sent of the same tensors, in the order of ranks."""
    return _means_of([messages], len(messages), messages[0].dtype)[0]


def _mean(gradients: Sequence[TorchTensor], workers: int, total: TorchTensor) -> TorchTensor | None:
    """Added up in order, then divided: for two workers the bits of an all-reduce."""
    if not gradients:
        return None
    first, *others = gradients
    if others and first.dtype == others[0].dtype == total.dtype:
        torch.add(first, others.pop(0), out=total)
    else:
        total.copy_(first)
    for gradient in others:
        total.add_(gradient)
    return total if workers == 1 else total.div_(workers)


def _sum_together(computations: Sequence[Computation]) -> None:
    """The same for tensors of which equally many workers have sent a gradient."""
    if _sum_batches(computations):
        return
    groups: dict[Any, list[tuple[Computation, list[TorchTensor]]]] = defaultdict(list)
    for each in computations:
        gradients = each.slot.gradients(each.work)
        key = len(gradients), len(each.work.ranks), each.slot.torch_dtype
        groups[key].append((each, gradients))
    for (pushed, workers, dtype), members in groups.items():
        means: Sequence[TorchTensor | None] = [None] * len(members)
        if pushed:
            means = _means_of([gradients for _, gradients in members], workers, dtype)
        for (each, _), mean in zip(members, means, strict=True):
            each.slot.mean_is(each.work, mean)


def _sum_batches(computations: Sequence[Computation]) -> bool:
    """Add up whole messages, if each worker has sent just these tensors in one, in one order."""
    (slot, work), *others = computations
    batches, dtype = slot.batches(work), slot.torch_dtype
    first = batches[0] if batches else None
    if first is None or len(first.numbers) != len(computations):
        return False
    wholes = [
        batch.whole
        for batch in batches
        if batch is not None and batch.numbers == first.numbers and batch.whole is not None
    ]
    if len(wholes) < len(batches) or any(
        other.batches(each) != batches or other.torch_dtype != dtype for other, each in others
    ):
        return False
    (total,) = _means_of([wholes], len(work.ranks), dtype)
    means = dict(zip(first.numbers, total.split(first.sizes), strict=True))
    for each in computations:
        each.slot.mean_is(each.work, means[each.slot.number])
    return True


def _means_of(
    gradients: Sequence[Sequence[TorchTensor]], workers: int, dtype: TorchType
) -> Sequence[TorchTensor]:
    first, *others = (_in(dtype, each) for each in zip(*gradients, strict=True))
    if others:
        totals: Sequence[TorchTensor] = torch._foreach_add(first, others[0])
    else:
        totals = [each.clone() for each in first]
    for each in others[1:]:
        torch._foreach_add_(totals, each)
    if workers > 1:
        torch._foreach_div_(totals, workers)
    return totals


def _in(dtype: TorchType, tensors: Sequence[TorchTensor]) -> Sequence[TorchTensor]:
    """A worker may send halves of numbers."""
    if {each.dtype for each in tensors} == {dtype}:
        return tensors
    return [each.to(dtype) for each in tensors]
