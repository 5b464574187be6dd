"""torch.optim on tensors: the same operations in the same order, so the same bits.

The functions of torch.optim are called instead of its classes: those load PyTorch's compiler on
first use, which takes seconds. With `foreach` one call steps many tensors; on the CPU it runs the
same kernels, tensor by tensor. Only with bfloat16 it rounds differently.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch.optim.adam import adam
from torch.optim.adamw import adamw
from torch.optim.sgd import sgd

from motet.aggregation.tensors.gradient_memory import TorchTensor, array_over, tensor_from
from motet.aggregation.wire.tensor_spec import (
    OPTIONS,
    GroupOptions,
    OptimizerKind,
    OptimizerSpec,
    TensorSpec,
)
from motet.domain.arrays import Array
from motet.domain.errors import BadInput, UnknownName

DEFAULTS: Mapping[OptimizerKind, Mapping[str, Any]] = {
    "sgd": {
        "lr": 1e-3,
        "momentum": 0.0,
        "dampening": 0.0,
        "weight_decay": 0.0,
        "nesterov": False,
        "maximize": False,
    },
    "adam": {
        "lr": 1e-3,
        "betas": (0.9, 0.999),
        "eps": 1e-8,
        "weight_decay": 0.0,
        "amsgrad": False,
        "maximize": False,
        "decoupled_weight_decay": False,
    },
    "adamw": {
        "lr": 1e-3,
        "betas": (0.9, 0.999),
        "eps": 1e-8,
        "weight_decay": 1e-2,
        "amsgrad": False,
        "maximize": False,
    },
}
"""torch.optim's."""
EXACT_TOGETHER = (torch.float32, torch.float64)
COUNTER = "step"
"""The only part of a state that is a number."""
_FUNCTIONS: Mapping[str, Any] = {"adam": adam, "adamw": adamw}


class TensorOptimizer:
    """The optimizer of one tensor; `run_together` runs it. All memory is flat.

    `array`: the value. `company`, `joint`: see `joint_memory`.
    """

    def __init__(
        self, kind: OptimizerKind, value: TorchTensor, options: GroupOptions, spec: TensorSpec
    ) -> None:
        """`options`: until a step brings others."""
        self.kind = kind
        self.options: Mapping[str, Any] = dict(DEFAULTS[kind]) | relevant(kind, options)
        self.tensors: dict[str, TorchTensor] = {}
        self.company: tuple[int, ...] = ()
        self.joint: object | None = None
        self._spec = spec
        self.lie_in(value)

    def lie_in(self, memory: TorchTensor) -> None:
        """The value is there from now on."""
        self.value, self.array = memory, array_over(memory)

    def leave_joint(self) -> None:
        """Go on in memory of its own: the joint count of steps will lack the next one."""
        if self.joint is not None:
            self.joint = None
            self.lie_in(self.value.clone())
            self.tensors = {name: each.clone() for name, each in self.tensors.items()}

    def state(self) -> dict[str, Array]:
        """By torch.optim's names, as views; empty before the first step."""
        shape = self._spec.shape
        return {
            name: array_over(value).reshape(() if name == COUNTER else shape)
            for name, value in list(self.tensors.items())
        }

    def load(self, state: Mapping[str, Array]) -> None:
        """Replace the state by a copy of this one."""
        self.leave_joint()
        self.tensors = {
            name: tensor_from(array if name == COUNTER else array.reshape(-1), self._spec.dtype)
            for name, array in state.items()
        }


class OptimizerStep(NamedTuple):
    """The step of one tensor. `options`: None: those of the step before."""

    optimizer: TensorOptimizer
    gradient: TorchTensor
    options: GroupOptions | None


def run_together(steps: Sequence[OptimizerStep], options: Mapping[str, Any]) -> None:
    """Apply mean gradients to tensors with equal options; the gradients may be overwritten."""
    kind = steps[0].optimizer.kind
    (_sgd_step if kind == "sgd" else _adam_step)(kind, steps, options)


def by_options(
    steps: Sequence[OptimizerStep],
) -> list[tuple[Mapping[str, Any], list[OptimizerStep]]]:
    """Tensors with equal options, which share one object from then on."""
    merged: dict[tuple[int, int], Mapping[str, Any]] = {}
    known: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    groups: dict[int, list[OptimizerStep]] = defaultdict(list)
    for step in steps:
        optimizer, new = step.optimizer, step.options
        key = (id(optimizer.options), id(new))
        found = merged.get(key)
        if found is None:
            found = {**optimizer.options, **relevant(optimizer.kind, new or {})}
            found = known.setdefault(tuple(found.items()), found)
            merged[key] = found
        groups[id(found)].append(step)
        optimizer.options = found
    return [(members[0].optimizer.options, members) for members in groups.values()]


def _sgd_step(kind: str, steps: Sequence[OptimizerStep], options: Mapping[str, Any]) -> None:
    del kind
    states = [step.optimizer.tensors for step in steps]
    buffers = [state.get("momentum_buffer") for state in states]
    sgd(
        [step.optimizer.value for step in steps],
        [step.gradient for step in steps],
        buffers,
        foreach=_is_together(steps),
        fused=False,
        **options,
    )
    if options["momentum"]:
        for state, buffer in zip(states, buffers, strict=True):
            state["momentum_buffer"] = buffer


def _adam_step(kind: str, steps: Sequence[OptimizerStep], options: Mapping[str, Any]) -> None:
    states = [step.optimizer.tensors for step in steps]
    for step, state in zip(steps, states, strict=True):
        if not state:
            state["step"] = torch.tensor(0.0, dtype=torch.float32)
            state["exp_avg"] = torch.zeros_like(step.optimizer.value)
            state["exp_avg_sq"] = torch.zeros_like(step.optimizer.value)
        if options["amsgrad"] and "max_exp_avg_sq" not in state:
            state["max_exp_avg_sq"] = torch.zeros_like(step.optimizer.value)
    others = {name: value for name, value in options.items() if name != "betas"}
    if not others.get("decoupled_weight_decay"):
        others.pop("decoupled_weight_decay", None)
    beta1, beta2 = options["betas"]
    _FUNCTIONS[kind](
        [step.optimizer.value for step in steps],
        [step.gradient for step in steps],
        [state["exp_avg"] for state in states],
        [state["exp_avg_sq"] for state in states],
        [state["max_exp_avg_sq"] for state in states] if options["amsgrad"] else [],
        [state["step"] for state in states],
        foreach=_is_together(steps),
        fused=False,
        beta1=beta1,
        beta2=beta2,
        **others,
    )


def _is_together(steps: Sequence[OptimizerStep]) -> bool:
    return len(steps) > 1 and all(step.optimizer.value.dtype in EXACT_TOGETHER for step in steps)


def check_optimizer(
    specs: Iterable[TensorSpec], optimizer: OptimizerSpec, known: OptimizerSpec | None
) -> None:
    """Raises BadInput, UnknownName: it cannot be that of these tensors, or another worker's, which
    is `known`, is of another kind."""
    for spec in specs:
        if not 0 <= spec.group < len(optimizer.groups):
            raise BadInput(
                f"tensor {spec.name!r} is in parameter group {spec.group} of "
                f"{len(optimizer.groups)}"
            )
    options = OPTIONS[optimizer.kind]
    for name in {name for group in optimizer.groups for name in group} - options:
        raise UnknownName(f"option of {optimizer.kind}", name, options)
    for group in optimizer.groups:
        check_options(optimizer.kind, group)
    if known is not None and known.kind != optimizer.kind:
        raise BadInput(f"this worker uses {optimizer.kind}, another one {known.kind}")


def check_options(kind: OptimizerKind, options: GroupOptions) -> None:
    """Raises BadInput for values that torch.optim refuses."""
    found = dict(DEFAULTS.get(kind, {})) | relevant(kind, options)
    for name, value in found.items():
        if name == "betas":
            if not all(0 <= beta < 1 for beta in value):
                raise BadInput(f"{kind}: betas are {value}; each must be at least 0 and below 1")
        elif not isinstance(value, (bool, int, float)) or (name != "dampening" and value < 0):
            raise BadInput(f"{kind}: {name} is {value}; it must be a number of at least 0")
    if found.get("nesterov") and (not found["momentum"] or found["dampening"]):
        raise BadInput("sgd: nesterov needs a momentum and no dampening")


def relevant(kind: OptimizerKind, options: GroupOptions) -> dict[str, Any]:
    """The options of the group that the optimizer has."""
    return {name: value for name, value in options.items() if name in OPTIONS[kind]}
