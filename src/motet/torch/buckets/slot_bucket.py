"""A bucket of small parameters: copied together, sent together, received together.

To handle hundreds of small tensors one by one takes a worker longer than to compute them. A copy of
all gradients into one memory is one call, and what the Agent sends of it is one piece of memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from motet.aggregation.agent.gradient_service import GradientService, Pending
from motet.torch.array_views import converted_to, moved_to
from motet.torch.buckets.flat_tensors import FlatTensors
from motet.torch.slots import Slot


class SlotBucket:
    """Parameters on the CPU, of one type and one parameter group.

    Gradients are copied to memory that stays as it is until those of the next step but one after
    `forget_gradients`: the service may send them again (see `Slot.begin_outgoing`). `numbers`: of
    the slots, ascending.
    """

    def __init__(self, service: GradientService, slots: Sequence[Slot]) -> None:
        """`slots`: in the order of their numbers."""
        self.slots = tuple(slots)
        self.numbers = tuple(slot.number for slot in slots)
        self.parameters = [slot.parameter for slot in slots]
        self.name = f"{slots[0].name} ... {slots[-1].name}"
        self._service = service
        self._shapes = {slot.number: slot.parameter.shape for slot in slots}
        self._by_number = {slot.number: slot for slot in slots}
        self._ready: set[int] = set()
        self._task = -1
        self._outgoing: FlatTensors | None = None
        self._sent: list[FlatTensors] = []
        self._values: FlatTensors | None = None
        self._means: FlatTensors | None = None

    def is_complete_with(self, number: int) -> bool:
        """Whether all gradients can be sent, now that the `backward` that is running has made this
        one too; then they are to be. One that failed counts no more."""
        task = torch._C._current_graph_task_id()
        if task != self._task:
            self._task = task
            self._ready.clear()
        self._ready.add(number)
        return len(self._ready) == len(self.slots)

    def push(self, numbers: tuple[int, ...]) -> None:
        """Send gradients of these parameters."""
        self._ready.clear()
        gradients = [slot.dense_gradient() for slot in self._slots(numbers)]
        for gradient in gradients:
            if not gradient.is_cpu:
                raise moved_to(gradient.device, "cpu")
        free = self._free_memory() if self._outgoing is None else self._outgoing
        self._outgoing = self._current(free, self.slots[0].wire_dtype)
        with torch.no_grad():
            torch._foreach_copy_(self._outgoing.tensors(numbers), gradients)
        self._service.push_bucket(self._outgoing.memory, numbers)

    def forget_gradients(self) -> None:
        """The step has ended: the next gradients have other memory."""
        self._ready.clear()
        if self._outgoing is not None:
            self._sent.append(self._outgoing)
            self._outgoing = None

    def request_means(self, numbers: tuple[int, ...]) -> Pending:
        """Receive the means of these parameters' gradients; to be followed by `means_came`."""
        self._means = self._current(self._means, self.slots[0].wire_dtype)
        views = self._means.tensors(self.numbers)
        for slot, view in zip(self.slots, views, strict=True):
            slot.received_mean = view
        return self._service.bucket_means(self._means.memory, numbers)

    def means_came(self, numbers: tuple[int, ...]) -> None:
        """Make what was received the gradients that the program sees. Call it without autograd."""
        assert self._means is not None
        slots = self._slots(numbers)
        for slot in slots:
            if slot.parameter.grad is None:
                slot.parameter.grad = torch.empty_like(slot.parameter)
        into = [slot.parameter.grad for slot in slots]
        torch._foreach_copy_(into, self._means.tensors(numbers))

    def forget_means(self) -> None:
        """Let go of the memory into which means are received."""
        self._means = None
        for slot in self.slots:
            slot.received_mean = None

    def pull(self, service: GradientService, *, keeps_order: bool) -> Pending:
        """Receive the values of the current version; to be followed by `values_came`. Raises
        BadInput: a parameter is of another type now."""
        dtype = self.slots[0].dtype
        for parameter in self.parameters:
            if parameter.dtype != dtype:
                raise converted_to(parameter.dtype, dtype)
        self._values = self._current(self._values, dtype)
        return service.pull_bucket(self._values.memory, self.numbers, keeps_order=keeps_order)

    def values_came(self) -> None:
        """Make what was received the parameters' values; autograd sees a change in place."""
        assert self._values is not None
        with torch.no_grad():
            torch._foreach_copy_(self.parameters, self._values.tensors(self.numbers))
        for slot in self.slots:
            slot.accept_value()

    def _slots(self, numbers: tuple[int, ...]) -> Sequence[Slot]:
        if len(numbers) == len(self.slots):
            return self.slots
        return [self._by_number[number] for number in numbers]

    def _free_memory(self) -> FlatTensors | None:
        """That of the step before the last one."""
        return self._sent.pop(0) if len(self._sent) > 1 else None

    def _current(self, known: FlatTensors | None, dtype: torch.dtype) -> FlatTensors:
        """This memory, if tensors still lie best as they do there."""
        bucket = self._service.bucket(self.numbers)
        if known is not None and known.memory.bucket is bucket:
            return known
        return FlatTensors(self._service, bucket, self._shapes, dtype)
