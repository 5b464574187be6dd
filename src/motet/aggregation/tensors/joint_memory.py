"""Small tensors that are stepped together lie one after the other in one memory.

torch.optim works element by element: a step of the whole has the bits of the steps of all tensors,
and takes a fraction of their time if they are small. That a processor rounds an element the same
wherever it lies in memory is tried out once. A tensor that is stepped without the others gets
memory of its own: else it would keep that of tensors that have left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import torch

from motet.aggregation.tensors.gradient_memory import TorchTensor, TorchType
from motet.aggregation.tensors.tensor_optimizer import (
    COUNTER,
    DEFAULTS,
    EXACT_TOGETHER,
    OptimizerStep,
    TensorOptimizer,
    by_options,
    relevant,
    run_together,
)
from motet.aggregation.wire.tensor_spec import GroupOptions, OptimizerKind, TensorSpec

FEWEST = 4
"""Tensors that a joint memory is worth its copies for."""
_PROBED_SIZES = (*range(1, 40), 64, 100, 257)
_PROBED_OPTIONS = {"lr": 0.0123, "momentum": 0.9, "dampening": 0.03, "weight_decay": 0.013}
_OF_NO_TENSOR = TensorSpec("", ())


def step_together(steps: Sequence[OptimizerStep]) -> None:
    """Apply mean gradients to tensors of one job; the gradients may be overwritten."""
    for options, members in by_options(steps):
        joint = _joint_memory(members)
        if joint is None:
            for each in members:
                each.optimizer.leave_joint()
            run_together(members, options)
        else:
            joint.step(members, options)


class JointMemory:
    """Values and states of tensors. `company`: identifies them, in their order. `array`: all
    values, one after the other.
    """

    def __init__(self, optimizers: Sequence[TensorOptimizer]) -> None:
        """Of one kind and type, with equal options and equally many steps."""
        first = optimizers[0]
        self.company = _company(optimizers)
        self._sizes = [each.value.numel() for each in optimizers]
        value = torch.cat([each.value for each in optimizers])
        self._whole = TensorOptimizer(first.kind, value, first.options, _OF_NO_TENSOR)
        self.array = self._whole.array
        for name in first.tensors:
            parts = [each.tensors[name] for each in optimizers]
            self._whole.tensors[name] = parts[0].clone() if name == COUNTER else torch.cat(parts)
        for each, part in zip(optimizers, self.parts(value), strict=True):
            each.lie_in(part)
            each.joint = self
        self._share(optimizers)

    def parts(self, whole: TorchTensor) -> Sequence[TorchTensor]:
        """Of each tensor, where `whole` has an element for each element of all."""
        parts: Sequence[TorchTensor] = whole.split(self._sizes)
        return parts

    def step(self, steps: Sequence[OptimizerStep], options: Mapping[str, Any]) -> None:
        """All of its tensors, in their order."""
        gradient = torch.cat([step.gradient for step in steps])
        self._step([step.optimizer for step in steps], gradient, options)

    def step_whole(
        self,
        optimizers: Sequence[TensorOptimizer],
        gradient: TorchTensor,
        options: GroupOptions | None,
    ) -> None:
        """The same with one gradient, which may be overwritten. `options`: None: as before."""
        before = optimizers[0].options
        found = {**before, **relevant(self._whole.kind, options or {})}
        if found != before:
            for each in optimizers:
                each.options = found
        self._step(optimizers, gradient, found)

    def _step(
        self,
        optimizers: Sequence[TensorOptimizer],
        gradient: TorchTensor,
        options: Mapping[str, Any],
    ) -> None:
        known = len(self._whole.tensors)
        run_together([OptimizerStep(self._whole, gradient, None)], options)
        if len(self._whole.tensors) > known:
            self._share(optimizers)
        elif COUNTER in self._whole.tensors:
            torch._foreach_add_([each.tensors[COUNTER] for each in optimizers], 1)

    def _share(self, optimizers: Sequence[TensorOptimizer]) -> None:
        """Each tensor has its part of every state, and a count of steps of its own."""
        for name, whole in self._whole.tensors.items():
            is_count = name == COUNTER
            parts = [whole] * len(optimizers) if is_count else self.parts(whole)
            for each, part in zip(optimizers, parts, strict=True):
                each.tensors[name] = part.clone() if is_count else part


def joint_memory_of(optimizers: Sequence[TensorOptimizer]) -> JointMemory | None:
    """That in which just these tensors lie, in this order, if their options are the same."""
    joint = optimizers[0].joint if optimizers else None
    if not isinstance(joint, JointMemory) or joint.company != _company(optimizers):
        return None
    options = optimizers[0].options
    return joint if all(e.joint is joint and e.options is options for e in optimizers) else None


def _company(optimizers: Sequence[TensorOptimizer]) -> tuple[int, ...]:
    return tuple(map(id, optimizers))


def _joint_memory(steps: Sequence[OptimizerStep]) -> JointMemory | None:
    """Of tensors that are stepped together for the second time at least, if they are many."""
    if len(steps) < FEWEST:
        return None
    optimizers = [step.optimizer for step in steps]
    first, company = optimizers[0], _company(optimizers)
    joint = joint_memory_of(optimizers)
    if joint is not None:
        return joint
    if first.company != company:
        first.company = company
        return None
    if _can_be_joint(optimizers) and is_exact(first.kind, first.value.dtype):
        return JointMemory(optimizers)
    first.company = ()
    return None


def _can_be_joint(optimizers: Sequence[TensorOptimizer]) -> bool:
    first = optimizers[0]
    kinds = {(each.value.dtype, each.tensors.keys() == first.tensors.keys()) for each in optimizers}
    if kinds != {(first.value.dtype, True)} or first.value.dtype not in EXACT_TOGETHER:
        return False
    return len({float(each.tensors.get(COUNTER, 0)) for each in optimizers}) == 1


@cache
def is_exact(kind: OptimizerKind, dtype: TorchType) -> bool:
    """Whether two joint steps have the bits of as many steps of each tensor."""
    random = torch.Generator().manual_seed(0)
    every = [torch.randn(size, dtype=dtype, generator=random) for size in _PROBED_SIZES]
    options = dict(DEFAULTS[kind]) | relevant(kind, _PROBED_OPTIONS)
    found = []
    for is_joint in (False, True):
        optimizers = [TensorOptimizer(kind, each.clone(), {}, _OF_NO_TENSOR) for each in every]
        joint = JointMemory(optimizers) if is_joint else None
        for _ in range(2):
            steps = [
                OptimizerStep(each, gradient.flip(0), None)
                for each, gradient in zip(optimizers, every, strict=True)
            ]
            if joint is None:
                run_together(steps, options)
            else:
                joint.step(steps, options)
        found.append(torch.cat([each.value for each in optimizers]))
    return bool(torch.equal(*found))
