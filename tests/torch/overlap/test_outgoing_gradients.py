"""When gradients of a device are pushed."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from motet.torch.overlap.outgoing_gradients import OutgoingGradients
from motet.torch.slots import Slot, slots_of
from motet.torch.staging.host_memory import HostMemory
from torch_staging import LOOKS, slow_device


class Pushed:
    """A service that keeps what it was given."""

    def __init__(self) -> None:
        self.gradients: list[tuple[int, Any]] = []

    def push(self, tensor: int, gradient: Any) -> None:
        self.gradients.append((tensor, gradient))

    @property
    def numbers(self) -> list[int]:
        return [number for number, _ in self.gradients]


def _outgoing(layers: int) -> tuple[Pushed, OutgoingGradients, list[Slot]]:
    model = nn.Sequential(*(nn.Linear(2, 2, bias=False) for _ in range(layers)))
    with slow_device():
        slots = slots_of(model, [torch.optim.SGD(model.parameters(), lr=0.1)], HostMemory())
    for slot in slots:
        slot.parameter.grad = torch.full((2, 2), float(slot.number))
    service = Pushed()
    return service, OutgoingGradients(service), [*slots]  # type: ignore[arg-type]


def test_a_gradient_is_pushed_by_a_later_hook_once_its_copy_has_ended() -> None:
    service, outgoing, slots = _outgoing(LOOKS + 2)
    for slot in slots[:LOOKS]:
        outgoing.push(slot)
    assert service.numbers == []
    outgoing.push(slots[LOOKS])
    assert service.numbers == [0]
    outgoing.flush()
    assert service.numbers == [*range(LOOKS + 1)]
    for number, gradient in service.gradients:
        assert np.array_equal(gradient, np.full((2, 2), number))


def test_an_accumulated_gradient_replaces_the_one_that_is_being_copied() -> None:
    service, outgoing, (slot, other) = _outgoing(2)
    outgoing.push(slot)
    outgoing.push(other)
    assert slot.gradient is not None
    slot.gradient.add_(5.0)
    outgoing.push(slot)
    outgoing.flush()
    assert service.numbers == [1, 0]
    assert np.array_equal(service.gradients[1][1], np.full((2, 2), 5.0))


def test_copies_that_have_not_ended_are_pushed_at_the_end_of_backward() -> None:
    service, outgoing, (slot, _) = _outgoing(2)

    def hook(_: torch.Tensor) -> None:
        outgoing.push(slot)
        outgoing.flush_after_backward()
        assert service.numbers == []

    slot.parameter.register_post_accumulate_grad_hook(hook)
    for _ in range(2):
        service.gradients.clear()
        slot.parameter.grad = None
        slot.parameter.sum().backward()
        assert service.numbers == [0]
        assert np.array_equal(service.gradients[0][1], np.ones((2, 2)))


def test_a_gradient_of_the_next_step_has_other_memory() -> None:
    """Messages of a step may be sent again until its gradients are replaced."""
    service, outgoing, (slot,) = _outgoing(1)
    for value in (1.0, 2.0):
        slot.parameter.grad = torch.full((2, 2), value)
        outgoing.push(slot)
        outgoing.flush()
        slot.forget_gradient()
    assert [gradient[0, 0] for _, gradient in service.gradients] == [1.0, 2.0]
