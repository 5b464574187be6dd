"""PyTorch tensors over received bytes, and bytes over PyTorch tensors, without copies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch

from motet.aggregation.wire.tensor_spec import TensorSpec
from motet.domain.arrays import Array, Bytes
from motet.domain.errors import BadInput

TorchTensor: TypeAlias = Any
"""A torch.Tensor: types are checked the same where PyTorch is not installed."""

TorchType: TypeAlias = Any
"""A torch.dtype."""

TORCH_TYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}
_NUMPY = {"float32": np.float32, "float64": np.float64, "bfloat16": np.uint16}


def size_bytes(spec: TensorSpec) -> int:
    """Of one copy of a tensor. Raises BadInput for another dtype than the three."""
    if spec.dtype not in _NUMPY:
        raise BadInput(
            f"tensor {spec.name!r} is of {spec.dtype}; Aggregators take {', '.join(_NUMPY)}"
        )
    return math.prod(spec.shape) * np.dtype(_NUMPY[spec.dtype]).itemsize


def tensor_over(data: memoryview | Bytes, dtype: str) -> TorchTensor:
    """A flat tensor that shares its memory with writable bytes, or copies them if they lie
    unaligned."""
    values = np.frombuffer(data, _NUMPY[dtype])
    if not (values.flags.aligned and values.flags.writeable):  # Empty ones are not writable.
        values = values.copy()
    tensor = torch.from_numpy(values)
    return tensor.view(torch.bfloat16) if dtype == "bfloat16" else tensor


class PushedBatch:
    """Gradients that a worker has sent in one message. `numbers`: of their tensors. `parts`: flat.
    `whole`: all of them, one after the other, if they are of one type.
    """

    __slots__ = ("numbers", "parts", "sizes", "whole")

    def __init__(
        self, data: memoryview, numbers: Sequence[int], specs: Sequence[TensorSpec]
    ) -> None:
        """`data`: bytes of their joint size. `specs`: as they travel."""
        self.numbers = tuple(numbers)
        self.sizes = [math.prod(spec.shape) for spec in specs]
        self.whole: TorchTensor | None = None
        dtypes = {spec.dtype for spec in specs}
        if len(dtypes) == 1:
            self.whole = tensor_over(data, *dtypes)
            self.parts: Sequence[TorchTensor] = self.whole.split(self.sizes)
        else:
            self.parts = _parts_over(data, specs)


def _parts_over(data: memoryview, specs: Sequence[TensorSpec]) -> list[TorchTensor]:
    found, offset = [], 0
    for spec in specs:
        end = offset + size_bytes(spec)
        found.append(tensor_over(data[offset:end], spec.dtype))
        offset = end
    return found


def tensor_from(array: Array, spec_dtype: str) -> TorchTensor:
    """A tensor of an array of a message, copied; uint16 stands for bfloat16."""
    copied = torch.from_numpy(np.array(array))
    is_half = array.dtype == np.uint16 and spec_dtype == "bfloat16"
    return copied.view(torch.bfloat16) if is_half else copied


def array_over(tensor: TorchTensor) -> Array:
    """An array that shares a contiguous tensor's memory; bfloat16 as uint16."""
    detached = tensor.detach()
    if detached.dtype == torch.bfloat16:
        detached = detached.view(torch.uint16)
    array: Array = detached.numpy()
    return array
