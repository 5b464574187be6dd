"""torch.optim on one tensor: the same operations in the same order, so the same bits.

The functions of torch.optim are called instead of its classes: those load PyTorch's compiler on
first use, which takes seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.optim.adam import adam
from torch.optim.adamw import adamw
from torch.optim.sgd import sgd

from motet.aggregation.tensors.gradient_memory import TorchTensor, array_over, tensor_from
from motet.aggregation.wire.tensor_spec import OPTIONS, GroupOptions, OptimizerKind
from motet.domain.arrays import Array
from motet.domain.errors import BadInput

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
_FUNCTIONS: Mapping[str, Any] = {"adam": adam, "adamw": adamw}


class TensorOptimizer:
    """The optimizer of one tensor."""

    def __init__(
        self, kind: OptimizerKind, value: TorchTensor, options: GroupOptions, dtype: str
    ) -> None:
        """`options`: until a step brings others."""
        self._kind = kind
        self._value = value
        self._dtype = dtype
        self._options = dict(DEFAULTS[kind]) | _relevant(kind, options)
        self._state: dict[str, TorchTensor] = {}

    def step(self, gradient: TorchTensor, options: GroupOptions | None) -> None:
        """Apply the mean gradient of a step."""
        if options is not None:
            self._options |= _relevant(self._kind, options)
        if self._kind == "sgd":
            self._sgd_step(gradient)
        else:
            self._adam_step(gradient)

    def state(self) -> dict[str, Array]:
        """By torch.optim's names, as views; empty before the first step."""
        return {name: array_over(value) for name, value in self._state.items()}

    def load(self, state: Mapping[str, Array]) -> None:
        """Replace the state by a copy of this one."""
        self._state = {name: tensor_from(array, self._dtype) for name, array in state.items()}

    def _sgd_step(self, gradient: TorchTensor) -> None:
        buffers = [self._state.get("momentum_buffer")]
        sgd([self._value], [gradient], buffers, foreach=False, fused=False, **self._options)
        if self._options["momentum"]:
            self._state["momentum_buffer"] = buffers[0]

    def _adam_step(self, gradient: TorchTensor) -> None:
        options = dict(self._options)
        state = self._state
        if not state:
            state["step"] = torch.tensor(0.0, dtype=torch.float32)
            state["exp_avg"] = torch.zeros_like(self._value)
            state["exp_avg_sq"] = torch.zeros_like(self._value)
        if options["amsgrad"] and "max_exp_avg_sq" not in state:
            state["max_exp_avg_sq"] = torch.zeros_like(self._value)
        beta1, beta2 = options.pop("betas")
        if not options.get("decoupled_weight_decay"):
            options.pop("decoupled_weight_decay", None)
        _FUNCTIONS[self._kind](
            [self._value],
            [gradient],
            [state["exp_avg"]],
            [state["exp_avg_sq"]],
            [state["max_exp_avg_sq"]] if options["amsgrad"] else [],
            [state["step"]],
            foreach=False,
            fused=False,
            beta1=beta1,
            beta2=beta2,
            **options,
        )


def check_options(kind: OptimizerKind, options: GroupOptions) -> None:
    """Raises BadInput for values that torch.optim refuses."""
    found = dict(DEFAULTS.get(kind, {})) | _relevant(kind, options)
    for name, value in found.items():
        if name == "betas":
            if not all(0 <= beta < 1 for beta in value):
                raise BadInput(f"{kind}: betas are {value}; each must be at least 0 and below 1")
        elif not isinstance(value, (bool, int, float)) or (name != "dampening" and value < 0):
            raise BadInput(f"{kind}: {name} is {value}; it must be a number of at least 0")
    if found.get("nesterov") and (not found["momentum"] or found["dampening"]):
        raise BadInput("sgd: nesterov needs a momentum and no dampening")


def _relevant(kind: OptimizerKind, options: GroupOptions) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name in OPTIONS[kind]}
