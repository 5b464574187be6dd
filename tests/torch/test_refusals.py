from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import nn

from motet.domain.errors import BadInput
from motet.torch import attach
from motet.torch.refusals import refuse_overlap, refuse_what_cannot_work

SGD, ADAM = torch.optim.SGD, torch.optim.Adam


def _sgd(model: nn.Module) -> torch.optim.Optimizer:
    return SGD([*model.parameters(), nn.Parameter(torch.zeros(1))], lr=0.1)


def _attached(
    model: nn.Module, make: Callable[[nn.Module], Any] = _sgd, mode: str = "auto"
) -> None:
    optimizers = make(model)
    given: Sequence[Any] = optimizers if isinstance(optimizers, list) else [optimizers]
    refuse_what_cannot_work(model, given, mode)


def _with_buffer(device: str) -> nn.Module:
    model = nn.Linear(2, 2)
    model.register_buffer("scale", torch.ones(1, device=device))
    return model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (nn.DataParallel(nn.Linear(2, 2)), r"wrapped in DataParallel.*model\.module"),
        (nn.Sequential(nn.Embedding(4, 2, sparse=True)), "module '0' .*sparse=False"),
        (nn.LazyLinear(2), "'weight' has no shape yet; call the model once"),
        (nn.Linear(2, 2, dtype=torch.float16), "'weight' is float16; .*torch.autocast"),
        (nn.Linear(2, 2, dtype=torch.complex64), "'weight' is complex64; .*know float32"),
        (nn.Linear(2, 2, device="meta"), r"'weight' is on meta; .*CUDA.*\.cpu\(\)"),
        (_with_buffer("meta"), r"buffer 'scale' is on meta; .*CUDA.*\.cpu\(\)"),
    ],
)
def test_models_that_cannot_train_are_refused_with_a_remedy(model: nn.Module, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        refuse_what_cannot_work(model, [_sgd(nn.Linear(1, 1))], "auto")


@pytest.mark.parametrize(
    ("make", "mode", "message"),
    [
        (lambda m: torch.optim.LBFGS(m.parameters()), "auto", "LBFGS .*another optimizer"),
        (lambda m: torch.optim.SparseAdam(m.parameters()), "auto", "SparseAdam .*use Adam"),
        (lambda m: [], "auto", r"no optimizer: attach\(model, optimizer\)"),
        (_sgd, "fast", "mode='fast'; it is one of 'auto', 'averaged', 'aggregators'"),
        (lambda m: [_sgd(m), _sgd(m)], "aggregators", "takes one optimizer.*'averaged'"),
        (
            lambda m: torch.optim.RMSprop(m.parameters()),
            "aggregators",
            "cannot run RMSprop .*'averaged'",
        ),
        (
            lambda m: ADAM(m.parameters(), fused=True),
            "aggregators",
            "cannot run Adam with these options .*without fused",
        ),
        (
            lambda m: SGD([nn.Parameter(torch.zeros(1, dtype=torch.float16))], lr=1.0),
            "averaged",
            "number 0 of the optimizer' is float16",
        ),
    ],
)
def test_optimizers_that_cannot_step_are_refused_with_a_remedy(
    make: Callable[[nn.Module], Any], mode: str, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        _attached(nn.Linear(2, 2), make, mode)


@pytest.mark.parametrize("mode", ["auto", "averaged"])
@pytest.mark.parametrize(
    "make",
    [
        _sgd,
        lambda m: [_sgd(m), _sgd(m)],
        lambda m: torch.optim.RMSprop(m.parameters()),
        lambda m: ADAM(m.parameters(), fused=True),
    ],
)
def test_other_optimizers_step_in_the_workers(make: Callable[[nn.Module], Any], mode: str) -> None:
    _attached(nn.Linear(2, 2, dtype=torch.bfloat16), make, mode)


class OptimizedModule(nn.Module):
    """The name of what torch.compile returns; the class itself takes seconds to load."""


@pytest.mark.parametrize(
    ("model", "mode", "message"),
    [
        (nn.Linear(1, 1), "averaged", "computes them itself, so leave it out"),
        (OptimizedModule(), "auto", "a compiled model .*attach the model that is not compiled"),
    ],
)
def test_overlap_is_refused_where_it_cannot_work(model: nn.Module, mode: str, message: str) -> None:
    with pytest.raises(BadInput, match=f"overlap=True: .*{message}"):
        refuse_overlap(model, mode)


def test_an_unknown_compression_is_an_error() -> None:
    model = nn.Linear(1, 1)
    with pytest.raises(BadInput, match="compression='int8'; it is 'bfloat16' or None"):
        attach(model, _sgd(model), compression="int8")  # type: ignore[arg-type]
