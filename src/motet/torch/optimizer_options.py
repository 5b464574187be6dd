"""Optimizers of PyTorch in the terms of the Aggregators: kind, options, state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from motet.aggregation.wire.tensor_spec import OPTIONS, GroupOptions, OptimizerKind, OptionValue
from motet.torch.array_views import array_of, tensor_of

_KINDS: Mapping[type, OptimizerKind] = {
    torch.optim.SGD: "sgd",
    torch.optim.Adam: "adam",
    torch.optim.AdamW: "adamw",
}
_OWN_ROUNDING = ("fused", "capturable", "differentiable")
"""Options with which a step rounds differently, or is part of a graph."""
_STEPS = "step"


def optimizer_kind(optimizer: torch.optim.Optimizer) -> OptimizerKind:
    """What the Aggregators can run in its place; "none": it steps in the workers only.

    Subclasses have steps of their own.
    """
    kind = _KINDS.get(type(optimizer), "none")
    is_other = any(
        options.get(name) for options in optimizer.param_groups for name in _OWN_ROUNDING
    )
    return "none" if is_other else kind


def group_options(optimizers: Sequence[torch.optim.Optimizer]) -> tuple[GroupOptions, ...]:
    """The options of all parameter groups as they are now."""
    return tuple(
        {
            name: _plain(options[name])
            for name in sorted(OPTIONS[optimizer_kind(optimizer)])
            if name in options
        }
        for optimizer in optimizers
        for options in optimizer.param_groups
    )


def arrays_of_state(state: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """The state of one parameter as arrays; what is None is left out."""
    return {
        name: array_of(value.cpu().contiguous()) if torch.is_tensor(value) else np.asarray(value)
        for name, value in state.items()
        if value is not None
    }


def state_of_arrays(
    arrays: Mapping[str, NDArray[Any]], like: torch.Tensor
) -> dict[str, torch.Tensor]:
    """The state of one parameter as torch.optim keeps it: the count of steps on the CPU, the rest
    on the device and in the memory layout of the parameter, `like`."""
    found = {name: tensor_of(array) for name, array in arrays.items()}
    return {
        name: value if name == _STEPS else torch.empty_like(like, dtype=value.dtype).copy_(value)
        for name, value in found.items()
    }


def optimized_parameters(optimizer: torch.optim.Optimizer) -> Iterator[torch.nn.Parameter]:
    """All parameters of its groups."""
    for options in optimizer.param_groups:
        yield from options["params"]


def _plain(value: Any) -> OptionValue:
    """A learning rate may be a tensor."""
    if torch.is_tensor(value):
        return float(value.item())
    if isinstance(value, list | tuple):
        first, second = (float(each) for each in value)
        return first, second
    assert value is None or isinstance(value, float | int | bool)
    return value
