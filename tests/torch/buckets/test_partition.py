"""Which parameters travel together."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from aggregation_training import AggregatorPool
from motet.aggregation.agent.collected_requests import ALONE_FROM_BYTES, PUSH_BATCH_BYTES
from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.torch.buckets.partition import buckets_of
from motet.torch.slots import Slot, slots_of
from motet.torch.staging.host_memory import HostMemory

LARGE = ALONE_FROM_BYTES // 4
HALF_MESSAGE = PUSH_BATCH_BYTES // 8


@pytest.fixture
def agent() -> Iterator[NumpyAgent]:
    with AggregatorPool(1) as pool:
        agent = NumpyAgent(pool.table, 0, 1)
        yield agent
        agent.close()


def slots(*sizes: int, frozen: int | None = None, dtype: str = "float32") -> tuple[Slot, ...]:
    """Of parameters of so many numbers."""
    parameters = [nn.Parameter(torch.zeros(size, dtype=getattr(torch, dtype))) for size in sizes]
    for number, parameter in enumerate(parameters):
        parameter.requires_grad_(number != frozen)
    model = nn.ParameterList(parameters)
    return slots_of(model, [torch.optim.SGD(model.parameters(), lr=0.1)], HostMemory())


def numbers(agent: NumpyAgent, given: tuple[Slot, ...], **options: bool) -> list[tuple[int, ...]]:
    return [bucket.numbers for bucket in buckets_of(agent, given, **options).every]


def test_small_parameters_that_are_trained_are_in_one(agent: NumpyAgent) -> None:
    given = slots(1, 2, LARGE, 3, 4, 0, 5, frozen=4)
    buckets = buckets_of(agent, given)
    parts = buckets.parts(given)
    assert [part.numbers for part in parts] == [(0, 1, 3, 6), (2,), (4,), (5,)]
    assert buckets.members({2, 3, 6}) == [(parts[0], (3, 6))]


def test_what_the_program_uses_in_between_separates_neighbours(agent: NumpyAgent) -> None:
    given = slots(1, 2, 3, 4, LARGE, 5, 6, 7, 8, 9)
    assert numbers(agent, given, of_neighbours=True) == [(0, 1, 2, 3), (5, 6, 7, 8, 9)]


def test_a_few_are_not_worth_it(agent: NumpyAgent) -> None:
    assert numbers(agent, slots(1, 2, 3)) == []


def test_a_bucket_fills_one_message(agent: NumpyAgent) -> None:
    size = LARGE - 1
    in_message = PUSH_BATCH_BYTES // (4 * size)
    found = numbers(agent, slots(*[size] * (2 * in_message)))
    assert found == [tuple(range(in_message)), tuple(range(in_message, 2 * in_message))]


def test_types_and_parameter_groups_are_apart(agent: NumpyAgent) -> None:
    kinds = torch.float32, torch.float64
    model = nn.ParameterList(
        [nn.Parameter(torch.zeros(n, dtype=kinds[n % 2])) for n in range(1, 17)]
    )
    every = [*model.parameters()]
    groups = [{"params": every[:8]}, {"params": every[8:], "lr": 0.5}]
    given = slots_of(model, [torch.optim.SGD(groups, lr=0.1)], HostMemory())
    assert sorted(numbers(agent, given)) == [
        (0, 2, 4, 6),
        (1, 3, 5, 7),
        (8, 10, 12, 14),
        (9, 11, 13, 15),
    ]
