"""The parameters of a program as numbered tensors of its job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from numpy.typing import NDArray

from motet.aggregation.agent.collected_requests import PUSH_BATCH_BYTES
from motet.aggregation.agent.gradient_service import GradientService, Pending
from motet.aggregation.wire.tensor_spec import TensorSpec
from motet.domain.errors import BadInput
from motet.torch.array_views import DTYPES, array_of, converted_to
from motet.torch.staging.devices import staging_of
from motet.torch.staging.host_copy import HostCopy
from motet.torch.staging.host_memory import AlternatingMemory, HostMemory
from motet.torch.staging.staging import CopyEnd

LARGE_BYTES = PUSH_BATCH_BYTES
"""A tensor of so many bytes has messages of its own."""


class Slot:
    """A parameter and the memory from which it is sent and into which it is received.

    A parameter that several modules share has one slot. Memory of a device, and memory that is not
    contiguous (channels last), travels through a contiguous copy on the host.
    """

    def __init__(
        self,
        number: int,
        name: str,
        parameter: torch.nn.Parameter,
        group: int,
        memory: HostMemory,
        *,
        is_stepped: bool,
    ) -> None:
        """`group`: the number of its parameter group; `is_stepped`: an optimizer has it."""
        self.number = number
        self.name = name
        self.parameter = parameter
        self.group = group
        self.is_stepped = is_stepped
        self._noted: tuple[torch.Tensor | None, int] = (None, 0)
        self._staging = staging_of(parameter.device)
        self._memory = memory
        self._outgoing: torch.Tensor | None = None
        self._outgoing_memory = AlternatingMemory()
        self._value: HostCopy | None = None
        self._mean: HostCopy | None = None
        self._value_version = parameter._version
        self.dtype = self.wire_dtype = parameter.dtype
        self.numbers = (number,)
        self.parameters = [parameter]
        self.received_mean: torch.Tensor | None = None

    def compress(self) -> None:
        """Let gradients and means of float32 travel as bfloat16."""
        if self.parameter.dtype == torch.float32:
            self.wire_dtype = torch.bfloat16

    @property
    def spec(self) -> TensorSpec:
        """What the Aggregators know of it."""
        shape = tuple(self.parameter.shape)
        return TensorSpec(self.name, shape, DTYPES[self.parameter.dtype], self.group)

    @property
    def is_direct(self) -> bool:
        """Whether the parameter is in memory of the host."""
        return self._staging.is_direct

    @property
    def is_large(self) -> bool:
        """Whether its gradients do not travel with those of other parameters."""
        return bool(self.parameter.numel() * self.wire_dtype.itemsize >= LARGE_BYTES)

    @property
    def gradient(self) -> torch.Tensor | None:
        """The gradient that the program sees."""
        return self.parameter.grad

    def note_gradient(self) -> None:
        """Remember which gradient this is, to see later whether the program changes it."""
        found = self.parameter.grad
        self._noted = (found, 0 if found is None else found._version)

    def is_gradient_changed(self) -> bool:
        """Whether the program has written into the gradient since it was noted, or replaced it.
        Writing by way of `.data` leaves no trace in the version and is not seen."""
        found = self.parameter.grad
        noted, version = self._noted
        return found is not noted or (found is not None and found._version != version)

    def forget_gradient(self) -> None:
        """Let go of its memory. The service keeps it, since it may send messages of a step again
        while the next `backward` runs; the next gradient has other memory."""
        self._noted = (None, 0)
        if self._outgoing is not None and not self._staging.is_direct:
            self._outgoing_memory.sent(self._outgoing)
        self._outgoing = None

    def dense_gradient(self) -> torch.Tensor:
        """The gradient to be sent. Raises BadInput: it is sparse."""
        found = self.parameter.grad
        if found is None:
            raise RuntimeError(f"parameter {self.name!r} has no gradient to send")
        if found.layout is not torch.strided:
            raise BadInput(
                f"parameter {self.name!r} has a sparse gradient; Aggregators add dense ones: "
                "set sparse=False in its nn.Embedding"
            )
        return found

    def begin_outgoing(self) -> CopyEnd | None:
        """Bring the gradient to where it is sent from; None: it is there.

        Until `forget_gradient` the memory is the same. In the mode "averaged" the hooks of the next
        `backward` overwrite what messages of the step before were made of, and the service may send
        these again after an Aggregator was lost. That changes nothing: the worker has the mean of
        that step, so its replica has it too, and ignores gradients of a step that is summed.
        """
        found = self.dense_gradient()
        if self._staging.is_direct:
            self._outgoing = found.detach().to(self.wire_dtype).contiguous()
            return None
        if self._outgoing is None:
            free = self._outgoing_memory.take()
            self._outgoing = self._empty(self.wire_dtype) if free is None else free
        return self._staging.fetch(found, self._outgoing)

    def outgoing(self) -> NDArray[Any]:
        """The gradient as it is sent, once it is there; its memory lives until the next one is
        sent."""
        assert self._outgoing is not None
        return array_of(self._outgoing)

    def pull(self, service: GradientService, *, keeps_order: bool) -> Pending:
        """Receive the value of the current version; to be followed by `values_came`. Raises
        BadInput: the parameter is of another type now."""
        if self.parameter.dtype != self.dtype:
            raise converted_to(self.parameter.dtype, self.dtype)
        return service.pull(self.number, self.incoming_value(), keeps_order=keeps_order)

    def values_came(self) -> None:
        """As of a bucket with this parameter alone."""
        self.value_came()

    def incoming_value(self) -> NDArray[Any]:
        """Memory with the value, for the next version of it; to be followed by `value_came`."""
        if self._staging.is_direct and self.parameter.is_contiguous():
            return array_of(self.parameter)
        if self._value is None:
            self._value = HostCopy(self._staging, self._empty(self.parameter.dtype))
            self._value.fill(self.parameter.detach())
        return self._value.array()

    def current_value(self) -> NDArray[Any]:
        """The value of the parameter in this process."""
        return array_of(self.parameter.detach().cpu().contiguous())

    def value_came(self) -> None:
        """Make what was received the parameter's value; autograd sees a change in place."""
        if self._value is not None:
            with torch.no_grad():
                self._value.store(self.parameter)
        else:
            torch.autograd.graph.increment_version(self.parameter)
        self.accept_value()

    def forget_value(self) -> None:
        """Let go of the memory into which values are received."""
        self._value = None

    @property
    def mean(self) -> torch.Tensor | None:
        """The last mean of the workers' gradients, as it was received."""
        return self.received_mean if self._mean is None else self._mean.tensor

    def incoming_mean(self) -> NDArray[Any]:
        """Memory for the next mean, to be followed by `mean_came`."""
        if self._mean is None:
            self._mean = HostCopy(self._staging, self._empty(self.wire_dtype))
        return self._mean.array()

    def mean_came(self) -> None:
        """Make what was received the gradient that the program sees. Call it without autograd."""
        assert self._mean is not None
        if self.parameter.grad is None:
            self.parameter.grad = torch.empty_like(self.parameter)
        self._mean.store(self.parameter.grad)

    def forget_mean(self) -> None:
        """Let go of the memory into which means are received."""
        self._mean = None

    def accept_value(self) -> None:
        """What the parameter holds now is the job's value."""
        self._value_version = self.parameter._version

    def is_value_touched(self) -> bool:
        """Whether the program has written into the parameter since a value came."""
        return bool(self.parameter._version != self._value_version)

    def _empty(self, dtype: torch.dtype) -> torch.Tensor:
        return self._memory.empty(self._staging, self.parameter.shape, dtype)


def slots_of(
    model: torch.nn.Module,
    optimizers: Sequence[torch.optim.Optimizer],
    memory: HostMemory,
) -> tuple[Slot, ...]:
    """All parameters of the optimizers in their order, then those of the model that no optimizer
    has but that get gradients. Equal in all workers that run the same program."""
    names = {id(found): name for name, found in model.named_parameters()}
    slots: dict[int, Slot] = {}
    group = 0
    for index, optimizer in enumerate(optimizers):
        for options in optimizer.param_groups:
            for parameter in options["params"]:
                number = len(slots)
                name = names.get(id(parameter), f"optimizer{index}.{number}")
                if id(parameter) in slots:
                    raise BadInput(f"parameter {name!r} is in two parameter groups; use one")
                slots[id(parameter)] = Slot(number, name, parameter, group, memory, is_stepped=True)
            group += 1
    for name, parameter in model.named_parameters():
        if id(parameter) not in slots and parameter.requires_grad:
            slots[id(parameter)] = Slot(len(slots), name, parameter, 0, memory, is_stepped=False)
    return tuple(slots.values())
