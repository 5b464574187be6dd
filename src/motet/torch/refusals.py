"""What cannot train on Aggregators, found before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn.parallel import DataParallel, DistributedDataParallel

from motet.domain.errors import BadInput
from motet.torch.array_views import DTYPES
from motet.torch.optimizer_options import optimized_parameters, optimizer_kind
from motet.torch.staging.devices import REMEDY, STAGINGS

MODES = ("auto", "averaged", "aggregators")


def refuse_what_cannot_work(
    model: torch.nn.Module, optimizers: Sequence[torch.optim.Optimizer], mode: str
) -> None:
    """Raise BadInput with the remedy."""
    if mode not in MODES:
        raise BadInput(f"mode={mode!r}; it is one of {', '.join(map(repr, MODES))}")
    _refuse_model(model)
    if not optimizers:
        raise BadInput("no optimizer: attach(model, optimizer) needs one, or a list")
    for optimizer in optimizers:
        _refuse_optimizer(optimizer)
    if mode == "aggregators":
        _refuse_on_aggregators(optimizers)


def refuse_overlap(model: torch.nn.Module, mode: str) -> None:
    """Raise BadInput where the first use of a parameter cannot be seen, or nothing overlaps."""
    if mode == "averaged":
        raise BadInput(
            "overlap=True: values come from Aggregators that run the optimizer; in mode='averaged' "
            "each worker computes them itself, so leave it out"
        )
    if isinstance(model, torch.jit.ScriptModule) or type(model).__name__ == "OptimizedModule":
        raise BadInput(
            "overlap=True: a compiled model uses its parameters unseen; leave it out, or attach "
            "the model that is not compiled"
        )


def _refuse_model(model: torch.nn.Module) -> None:
    if isinstance(model, DataParallel | DistributedDataParallel):
        raise BadInput(
            f"the model is wrapped in {type(model).__name__}, which averages gradients itself; "
            "pass the model without it (model.module)"
        )
    for name, parameter in model.named_parameters():
        _refuse_parameter(name, parameter)
    for name, buffer in model.named_buffers():
        _refuse_device(f"buffer {name!r}", buffer)
    for name, module in model.named_modules():
        if getattr(module, "sparse", False) is True:
            raise BadInput(
                f"module {name!r} ({type(module).__name__}) makes sparse gradients; Aggregators "
                "add dense ones: create it with sparse=False"
            )


def _refuse_parameter(name: str, parameter: torch.nn.Parameter) -> None:
    if isinstance(parameter, torch.nn.parameter.UninitializedParameter):
        raise BadInput(
            f"parameter {name!r} has no shape yet; call the model once on a batch before attach"
        )
    _refuse_device(f"parameter {name!r}", parameter)
    if parameter.dtype not in DTYPES:
        known = ", ".join(DTYPES.values())
        raise BadInput(
            f"parameter {name!r} is {str(parameter.dtype).removeprefix('torch.')}; Aggregators "
            f"know {known}: keep parameters in float32, and compute with torch.autocast"
        )


def _refuse_device(what: str, tensor: torch.Tensor) -> None:
    if tensor.device.type not in STAGINGS:
        raise BadInput(f"{what} is on {tensor.device}; {REMEDY}")


def _refuse_optimizer(optimizer: torch.optim.Optimizer) -> None:
    if isinstance(optimizer, torch.optim.LBFGS):
        raise BadInput(
            "LBFGS compares losses of several evaluations in one step, and each worker has the "
            "loss of its own data; use another optimizer"
        )
    if isinstance(optimizer, torch.optim.SparseAdam):
        raise BadInput("SparseAdam needs sparse gradients; Aggregators add dense ones: use Adam")
    for number, parameter in enumerate(optimized_parameters(optimizer)):
        _refuse_parameter(f"number {number} of the optimizer", parameter)


def _refuse_on_aggregators(optimizers: Sequence[torch.optim.Optimizer]) -> None:
    if len(optimizers) > 1:
        raise BadInput(
            "mode='aggregators' takes one optimizer, because a step of the Aggregators is a step "
            "of all parameters; use mode='averaged' for several"
        )
    if optimizer_kind(optimizers[0]) == "none":
        raise BadInput(
            f"the Aggregators cannot run {type(optimizers[0]).__name__} with these options (they "
            "run SGD, Adam and AdamW without fused, capturable or differentiable); use "
            "mode='averaged'"
        )
