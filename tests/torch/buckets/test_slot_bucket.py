"""Models of small layers, whose parameters travel in buckets."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

from aggregation_training import AggregatorPool
from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.aggregation.agent.tensor_bucket import BucketMemory
from motet.domain.errors import BadInput, MotetError
from motet.torch import attach
from motet.torch.slots import Slot

MODES = ["averaged", "aggregators"]
LAYERS = 6


class CountingAgent(NumpyAgent):
    """Notes the tensors of each call."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.buckets: list[tuple[int, ...]] = []
        self.single: list[int] = []

    def push(self, tensor: int, gradient: Any) -> None:
        self.single.append(tensor)
        super().push(tensor, gradient)

    def push_bucket(self, memory: BucketMemory, tensors: tuple[int, ...]) -> None:
        self.buckets.append(tensors)
        self.latest = memory.bucket
        super().push_bucket(memory, tensors)


class Layers(nn.Module):
    """`used`: by the next forward passes."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(LAYERS))
        self.used = range(LAYERS)

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        for number in self.used:
            numbers = self.layers[number](numbers)
        return numbers


class Own(nn.Parameter):
    """Its first use cannot be seen."""


class LayersWithOwn(Layers):
    def __init__(self) -> None:
        super().__init__()
        layer = self.layers[2]
        layer.weight = Own(layer.weight.detach())


class Training:
    """A model on Aggregators, and a copy that trains without them."""

    def __init__(
        self, agent: NumpyAgent, mode: Any, kind: type[Layers] = Layers, **options: Any
    ) -> None:
        self.model, self.agent = kind(), agent
        self.alone = copy.deepcopy(self.model)
        self.optimizers = [
            torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
            for model in (self.model, self.alone)
        ]
        self.attachment = attach(
            self.model, self.optimizers[0], service=agent, mode=mode, **options
        )

    def backward(self, value: float = 1.0) -> None:
        for model in (self.model, self.alone):
            model(torch.full((2, 4), value)).square().sum().backward()

    def step(self) -> None:
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad()

    @property
    def is_same(self) -> bool:
        """To the bit."""
        return all(map(torch.equal, self.model.parameters(), self.alone.parameters()))


@pytest.fixture
def agent() -> Iterator[CountingAgent]:
    with AggregatorPool(2) as pool:
        agent = CountingAgent(pool.table, 0, 1)
        yield agent
        agent.close()


@pytest.mark.parametrize("mode", MODES)
def test_all_gradients_of_a_step_are_one_call(agent: CountingAgent, mode: str) -> None:
    training = Training(agent, mode)
    for _ in range(4):
        training.backward()
        training.step()
    assert agent.buckets == [tuple(range(2 * LAYERS))] * 4
    flags = 2 * LAYERS  # Of the mode "averaged".
    assert set(agent.single) <= {flags}
    assert training.is_same


@pytest.mark.parametrize("mode", MODES)
def test_unused_parameters_keep_their_values(agent: CountingAgent, mode: str) -> None:
    training = Training(agent, mode)
    for used in (range(LAYERS), [0, 2], [1], range(LAYERS)):
        training.model.used = training.alone.used = used  # type: ignore[assignment]
        training.backward()
        training.step()
        assert training.is_same
    assert agent.buckets[1:3] == [(0, 1, 4, 5), (2, 3)]


@pytest.mark.parametrize("keeps_gradients", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_a_backward_that_failed_leaves_nothing_behind(
    agent: CountingAgent, mode: str, keeps_gradients: bool
) -> None:
    """What it has added to gradients stays, as without Aggregators."""
    training = Training(agent, mode)
    training.backward()
    training.step()

    def fail(_: torch.Tensor) -> None:
        raise ArithmeticError("in backward")

    for model in (training.model, training.alone):
        removal = model.layers[2].weight.register_hook(fail)
        with pytest.raises(ArithmeticError):
            model(torch.ones(2, 4)).sum().backward()
        removal.remove()
        if not keeps_gradients:
            model.zero_grad()
    some = [0, 1] if mode == "averaged" else range(LAYERS)  # Else gradients have been changed.
    for used in (some, range(LAYERS)):
        training.model.used = training.alone.used = used  # type: ignore[assignment]
        training.backward()
        training.step()
        assert training.is_same


@pytest.mark.parametrize("mode", MODES)
def test_gradients_that_add_up_are_sent_once(agent: CountingAgent, mode: str) -> None:
    training = Training(agent, mode)
    for _ in range(3):
        with training.attachment.no_sync():
            training.backward(0.5)
        training.backward(2.0)
        training.step()
    assert len(agent.buckets) == 3
    assert training.is_same


def test_the_first_use_of_a_parameter_brings_the_values_of_all(agent: CountingAgent) -> None:
    """None of them waits any more, also in the steps after."""
    training = Training(agent, "aggregators", overlap=True)
    for _ in range(3):
        training.backward()
        training.step()
        kinds = {type(each) for each in training.model.parameters()}
        assert kinds != {nn.Parameter}
        training.model.layers[3].weight.sum()
        assert {type(each) for each in training.model.parameters()} == {nn.Parameter}
    assert training.is_same


def test_a_subclass_of_parameter_brings_the_values_of_all_at_once(agent: CountingAgent) -> None:
    training = Training(agent, "aggregators", LayersWithOwn, overlap=True)
    for _ in range(3):
        training.backward()
        training.step()
        assert {type(each) for each in training.model.parameters()} == {nn.Parameter, Own}
    assert training.is_same


@pytest.mark.parametrize("mode", MODES)
def test_gradients_lie_as_they_are_sent_after_some_have_moved(mode: str) -> None:
    """From the next step on in which the worker knows it."""
    with AggregatorPool(2) as pool:
        agent = CountingAgent(pool.table, 0, 1)
        training = Training(agent, mode)
        before = agent.bucket(tuple(range(2 * LAYERS)))
        for step in range(4):
            training.backward()
            training.step()
            if step == 0:
                assert agent.latest is before
                pool.aggregators[0].move(1, pool.table.on(0)[:1], pool.peer(1))
        assert agent.latest is not before
        assert agent.latest is agent.bucket(tuple(range(2 * LAYERS)))
        assert training.is_same
        agent.close()


def test_a_changed_gradient_is_an_error(agent: CountingAgent) -> None:
    training = Training(agent, "aggregators")
    training.backward()
    training.model.layers[1].bias.grad.mul_(0.5)  # type: ignore[union-attr]
    with pytest.raises(MotetError, match=r"'layers.1.bias' was changed between backward"):
        training.optimizers[0].step()


@pytest.mark.parametrize("converted", [slice(3, 4), slice(None)], ids=["one", "all"])
def test_parameters_that_are_converted_are_an_error(agent: CountingAgent, converted: slice) -> None:
    """Else they would get values that are rounded to the type of before."""
    training = Training(agent, "aggregators")
    training.backward()
    training.step()
    for parameter in [*training.model.parameters()][converted]:
        parameter.data = parameter.data.double()
    with pytest.raises(BadInput, match=r"is of torch.float64, and was of torch.float32"):
        training.optimizers[0].step()


def test_a_gradient_on_another_device_is_an_error(
    agent: CountingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if it is not the first of its bucket."""
    training = Training(agent, "averaged")
    dense = Slot.dense_gradient

    def moved(slot: Slot) -> torch.Tensor:
        return dense(slot).to("meta" if slot.name == "layers.1.bias" else "cpu")

    monkeypatch.setattr(Slot, "dense_gradient", moved)
    with pytest.raises(BadInput, match="the model is on meta, and was on cpu"):
        training.backward()


def test_a_sparse_gradient_is_an_error(agent: CountingAgent) -> None:
    """When the step ends: the others of its bucket have none."""
    training = Training(agent, "aggregators")
    weight = training.model.layers[1].weight
    nn.functional.embedding(torch.tensor([1]), weight, sparse=True).sum().backward()
    with pytest.raises(BadInput, match=r"'layers.1.weight' has a sparse gradient"):
        training.optimizers[0].step()
