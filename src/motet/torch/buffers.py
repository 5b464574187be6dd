"""Buffers of a model, as the running means of BatchNorm: rank 0's count, as with DDP."""

from __future__ import annotations

import torch

from motet.aggregation.agent.gradient_service import GradientService
from motet.torch.array_views import array_of
from motet.torch.staging.devices import staging_of


def broadcast_buffers(service: GradientService, model: torch.nn.Module) -> None:
    """Overwrite the buffers of every worker with those of rank 0. In all workers."""
    _broadcast(service, [buffer for buffer in model.buffers() if buffer.numel()])


def broadcast_parameters(service: GradientService, model: torch.nn.Module) -> None:
    """The same of parameters, where the Aggregators hold none, and of frozen ones."""
    _broadcast(service, [parameter.detach() for parameter in model.parameters()])


@torch.no_grad()
def _broadcast(service: GradientService, tensors: list[torch.Tensor]) -> None:
    if not tensors:
        return
    stagings = [staging_of(tensor.device) for tensor in tensors]
    copies, ends = [], []
    for tensor, staging in zip(tensors, stagings, strict=True):
        if staging.is_direct:
            copies.append(tensor.contiguous())
        else:
            copies.append(staging.empty(tensor.shape, tensor.dtype))
            ends.append(staging.fetch(tensor, copies[-1]))
    for end in ends:
        end.synchronize()
    service.broadcast([array_of(copy) for copy in copies])
    for tensor, copy, staging in zip(tensors, copies, stagings, strict=True):
        if copy is not tensor:
            staging.store(copy, tensor)
