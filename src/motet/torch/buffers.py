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
    """Versions stay: BatchNorm saves buffers for `backward`, which does not use their values, and
    a model may be called twice before it."""
    if not tensors:
        return
    copies = [_host_memory(tensor) for tensor in tensors]
    staged = [pair for pair in zip(tensors, copies, strict=True) if pair[0] is not pair[1]]

    def fill() -> None:
        ends = [staging_of(tensor.device).fetch(tensor, copy) for tensor, copy in staged]
        for end in ends:
            end.synchronize()

    if service.broadcast([array_of(copy) for copy in copies], fill):
        for tensor, copy in staged:
            staging_of(tensor.device).store(copy, tensor.data)


def _host_memory(tensor: torch.Tensor) -> torch.Tensor:
    """Contiguous memory of the host: that of the tensor, or memory for a copy."""
    staging = staging_of(tensor.device)
    if staging.is_direct and tensor.is_contiguous():
        return tensor
    return staging.empty(tensor.shape, tensor.dtype)
