from __future__ import annotations

import pytest
import torch
from torch import nn

from motet.aggregation.wire.tensor_spec import TensorSpec
from motet.domain.errors import BadInput
from motet.torch.slots import slots_of
from motet.torch.staging.host_memory import HostMemory


def test_a_tied_parameter_has_one_slot_and_what_no_optimizer_has_comes_last() -> None:
    model = nn.ModuleDict({"a": nn.Linear(2, 2, bias=False), "b": nn.Linear(2, 2)})
    model["c"] = nn.Linear(2, 2, bias=False)
    model["c"].weight = model["a"].weight
    optimizer = torch.optim.SGD(
        [{"params": [model["b"].bias]}, {"params": [model["a"].weight]}], lr=0.1
    )
    slots = slots_of(model, [optimizer], HostMemory())
    assert [slot.spec for slot in slots] == [
        TensorSpec("b.bias", (2,), "float32", 0),
        TensorSpec("a.weight", (2, 2), "float32", 1),
        TensorSpec("b.weight", (2, 2), "float32", 0),
    ]
    assert [slot.is_stepped for slot in slots] == [True, True, False]


def test_a_parameter_of_two_optimizers_is_an_error() -> None:
    model = nn.Linear(2, 2)
    two = [torch.optim.SGD(model.parameters(), lr=0.1) for _ in range(2)]
    with pytest.raises(BadInput, match="'weight' is in two parameter groups"):
        slots_of(model, two, HostMemory())


@pytest.mark.parametrize("change", ["mul_", "_foreach_mul_", "replace", "remove"])
def test_changes_of_a_gradient_are_seen(change: str) -> None:
    model = nn.Linear(2, 2)
    slot, other = slots_of(model, [torch.optim.SGD(model.parameters(), lr=0.1)], HostMemory())
    model(torch.ones(1, 2)).sum().backward()
    for each in (slot, other):
        each.note_gradient()
    assert not slot.is_gradient_changed()
    gradient = slot.gradient
    assert gradient is not None
    match change:
        case "mul_":
            gradient.mul_(1.0)
        case "_foreach_mul_":
            torch._foreach_mul_([gradient], 1.0)
        case "replace":
            slot.parameter.grad = gradient.clone()
        case _:
            slot.parameter.grad = None
    assert slot.is_gradient_changed()
    assert not other.is_gradient_changed()


def test_a_value_in_another_memory_layout_arrives() -> None:
    layer = nn.Conv2d(2, 3, 3, bias=False).to(memory_format=torch.channels_last)
    (slot,) = slots_of(layer, [torch.optim.SGD(layer.parameters(), lr=0.1)], HostMemory())
    received = torch.arange(54.0).view(3, 2, 3, 3)
    slot.incoming_value()[...] = received.numpy()
    before = layer.weight._version
    slot.value_came()
    assert torch.equal(layer.weight, received)
    assert layer.weight._version > before


def test_a_sparse_gradient_is_an_error() -> None:
    layer = nn.Embedding(4, 2)
    (slot,) = slots_of(layer, [torch.optim.SGD(layer.parameters(), lr=0.1)], HostMemory())
    layer.weight.grad = torch.eye(4, 2).to_sparse()
    with pytest.raises(BadInput, match="'weight' has a sparse gradient"):
        slot.begin_outgoing()


def test_a_model_that_was_moved_after_attach_is_an_error() -> None:
    layer = nn.Linear(2, 2, bias=False)
    (slot,) = slots_of(layer, [torch.optim.SGD(layer.parameters(), lr=0.1)], HostMemory())
    torch.utils.swap_tensors(layer.weight, nn.Parameter(torch.ones(2, 2, device="meta")))
    layer.weight.grad = torch.ones(2, 2, device="meta")
    slot.begin_outgoing()
    for memory in (slot.outgoing, slot.incoming_value):
        with pytest.raises(BadInput, match=r"is on meta, and was on cpu .*; move it before attach"):
            memory()
