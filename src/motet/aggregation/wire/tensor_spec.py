"""The tensors of a job and the optimizer that the Aggregators run on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal, TypeAlias

OptimizerKind: TypeAlias = Literal["sgd", "adam", "adamw", "none"]

_ELEMENT_BYTES = {"float32": 4, "float64": 8, "bfloat16": 2}

OptionValue: TypeAlias = float | int | bool | tuple[float, float] | None

GroupOptions: TypeAlias = Mapping[str, OptionValue]
"""Options of a parameter group, named as in torch.optim: `lr`, `momentum`, ..."""


@dataclass(frozen=True)
class TensorSpec:
    """A tensor of a job; its number is its place in the job's list.

    `dtype`: float32, float64 or bfloat16 (which NumPy holds as uint16). `group`: the number of its
    parameter group.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    group: int = 0

    @property
    def is_internal(self) -> bool:
        """Whether Motet has added it to those of the model."""
        return self.name.startswith("motet.")

    @property
    def value_bytes(self) -> int:
        """Size of its values."""
        return prod(self.shape) * _ELEMENT_BYTES.get(self.dtype, 4)

    def on_the_wire(self, *, is_halved: bool) -> TensorSpec:
        """The tensor as it travels: in bfloat16 instead of float32, if it is halved."""
        if not is_halved or self.dtype != "float32":
            return self
        return TensorSpec(self.name, self.shape, "bfloat16", self.group)


@dataclass(frozen=True)
class OptimizerSpec:
    """The optimizer of a job.

    `kind`: "none": the Aggregators sum gradients and hold no parameters (an all-reduce). `groups`:
    the options of each parameter group in the first step; later steps may change them.
    """

    kind: OptimizerKind
    groups: tuple[GroupOptions, ...] = ({},)


OPTIONS: Mapping[OptimizerKind, frozenset[str]] = {
    "none": frozenset(),
    "sgd": frozenset({"lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize"}),
    "adam": frozenset(
        {"lr", "betas", "eps", "weight_decay", "amsgrad", "maximize", "decoupled_weight_decay"}
    ),
    "adamw": frozenset({"lr", "betas", "eps", "weight_decay", "amsgrad", "maximize"}),
}
"""The options of a parameter group that change results, by optimizer; the rest is ignored."""
