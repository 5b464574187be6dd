"""The types of devices whose tensors can travel."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch

from motet.domain.errors import BadInput
from motet.torch.staging.cuda import CudaStaging
from motet.torch.staging.staging import HostStaging, Staging

STAGINGS: dict[str, Callable[[torch.device], Staging]] = {
    "cpu": cache(lambda _: HostStaging()),
    "cuda": cache(CudaStaging),
}
"""By the type of the device."""
REMEDY = "Aggregators train models on the CPU and on CUDA devices, move the model by .cpu()"
"""For tensors on other ones."""


def staging_of(device: torch.device) -> Staging:
    """The copies of a device; each device has one stream for them. Raises BadInput."""
    known = STAGINGS.get(device.type)
    if known is None:
        raise BadInput(f"a tensor is on {device}; {REMEDY}")
    return known(device)
