"""Parameters that a program loads while the optimizer runs on the Aggregators."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import nn

from aggregation_training import AggregatorPool
from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.torch import attach

WIDTHS = {"alone": 300, "in buckets": 4}
"""Parameters of so many inputs and outputs have messages of their own, or travel in a bucket."""


def shrunk(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: value / 2 for name, value in model.state_dict().items()}


def trained(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Three steps of two batches each; the parameters are loaded before the second step."""
    width = model[0].in_features  # type: ignore[index]
    for step in range(3):
        if step == 1:
            model.load_state_dict(shrunk(model))
        for batch in range(2):
            model(torch.full((2, width), 1.0 + batch)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_loaded_parameters_of_several_layers_count(width: int) -> None:
    """`backward` needs the parameters of earlier layers after the gradients of later ones."""
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Linear(width, width) for _ in range(4)])
    alone = copy.deepcopy(model)
    make: Callable[..., torch.optim.Optimizer] = torch.optim.SGD
    first, second = (make(each.parameters(), lr=0.1, momentum=0.9) for each in (model, alone))
    with AggregatorPool(1) as pool:
        agent = NumpyAgent(pool.table, 0, 1)
        with attach(model, first, service=agent, mode="aggregators"):
            trained(model, first)
    trained(alone, second)
    assert all(map(torch.equal, model.parameters(), alone.parameters()))
