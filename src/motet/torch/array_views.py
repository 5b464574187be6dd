"""Memory of tensors as NumPy arrays, without copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from motet.domain.errors import BadInput

DTYPES = {torch.float32: "float32", torch.float64: "float64", torch.bfloat16: "bfloat16"}
"""The types of parameters that Aggregators know."""


def array_of(tensor: torch.Tensor) -> NDArray[Any]:
    """The memory of a tensor on the CPU; bfloat16 as uint16, which NumPy has."""
    plain = tensor.detach()
    is_known = plain.dtype != torch.bfloat16
    try:
        array: NDArray[Any] = (plain if is_known else plain.view(torch.int16)).numpy()
    except TypeError:
        if plain.device.type != "cpu":
            raise moved_to(plain.device, "cpu") from None
        raise
    return array if is_known else array.view(np.uint16)


def moved_to(device: torch.device, before: torch.device | str) -> BadInput:
    """What is raised for a tensor that was on another device at `attach`."""
    return BadInput(
        f"the model is on {device}, and was on {before} when it was attached; move it before "
        "attach, or close the attachment, move it and attach again"
    )


def converted_to(dtype: torch.dtype, before: torch.dtype) -> BadInput:
    """What is raised for a parameter that was of another type at `attach`."""
    return BadInput(
        f"a parameter is of {dtype}, and was of {before} when the model was attached; convert it "
        "before attach, or close the attachment, convert it and attach again"
    )


def tensor_of(array: NDArray[Any]) -> torch.Tensor:
    """A tensor with a copy of an array; uint16 is bfloat16."""
    own = np.array(array)
    if own.dtype == np.uint16:
        return torch.from_numpy(own.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(own)
