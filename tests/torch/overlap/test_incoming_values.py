from __future__ import annotations

import torch
from torch import nn

from aggregation_training import AggregatorPool
from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.torch import attach
from received_requests import received_requests, tensors_of


def test_values_are_requested_in_the_order_of_their_use() -> None:
    """The large weight in the middle too, between the small ones before and after it."""
    last, middle, first = nn.Linear(512, 4), nn.Linear(512, 512), nn.Linear(4, 512)
    model = nn.ModuleList([last, middle, first])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with AggregatorPool(1) as pool, received_requests() as received:
        agent = NumpyAgent(pool.table, 0, 1)
        with attach(model, optimizer, service=agent, mode="aggregators", overlap=True):
            for _ in range(3):
                last(middle(first(torch.ones(1, 4)))).sum().backward()
                optimizer.step()
                optimizer.zero_grad()
    assert tensors_of(received, "PULL")[-3:] == [(4, 5), (2,), (3, 0, 1)]
