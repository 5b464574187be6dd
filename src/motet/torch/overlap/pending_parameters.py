"""Parameters whose new values are on their way: whatever uses one first waits for its value.

While a value is outstanding, the parameter has a subclass of its class, on which PyTorch calls
`__torch_function__` before every operation: of a layer, of a program that looks at weights, of
`state_dict` and `pickle`. So no use is missed, wherever in the program it is. What does not touch
the value, as `zero_grad` does not, does not wait.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import torch

ValueArrival: TypeAlias = Callable[[], None]
"""Waits for the value and puts it into the parameter."""

_ARRIVALS: dict[int, ValueArrival] = {}
_Tensor = torch.Tensor
_WITHOUT_VALUE = frozenset(
    {
        *(_Tensor.grad.__get__, _Tensor.grad.__set__, _Tensor.grad.__delete__),
        *(_Tensor.requires_grad.__get__, _Tensor.requires_grad.__set__, _Tensor.requires_grad_),
        *(_Tensor.shape.__get__, _Tensor.dtype.__get__, _Tensor.device.__get__),
        *(_Tensor.layout.__get__, _Tensor.ndim.__get__, _Tensor.is_leaf.__get__),
        *(_Tensor.grad_fn.__get__, _Tensor.is_sparse.__get__, _Tensor.is_cuda.__get__),
        *(_Tensor.size, _Tensor.dim, _Tensor.numel, _Tensor.nelement, _Tensor.stride),
        *(_Tensor.element_size, _Tensor.is_floating_point, _Tensor.is_complex),
        *(_Tensor.is_contiguous, _Tensor.register_hook),
        _Tensor.register_post_accumulate_grad_hook,
    }
)


class PendingParameter(torch.nn.Parameter):
    """The class of a parameter whose value is outstanding; not to be created."""

    @classmethod
    def __torch_function__(
        cls,
        function: Callable[..., Any],
        types: Iterable[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Wait for the parameters among the arguments, then do what was asked for."""
        del types
        if function in _WITHOUT_VALUE:
            with torch._C.DisableTorchFunctionSubclass():
                return function(*args, **(kwargs or {}))
        _await_all(args)
        if kwargs:
            _await_all(tuple(kwargs.values()))
        return function(*args, **(kwargs or {}))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A copy of the value when it is there."""
        await_value(self)
        return copy.deepcopy(self, memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """The same for pickle."""
        await_value(self)
        return self.__reduce_ex__(protocol)


def make_pending(parameters: Sequence[torch.nn.Parameter], arrival: ValueArrival) -> None:
    """The values of these parameters are outstanding, and arrive together. They are waited for at
    once if one of them is of a subclass of Parameter: its first use cannot be seen."""
    if any(type(each) is not torch.nn.Parameter for each in parameters):
        arrival()
        return
    for each in parameters:
        _ARRIVALS[id(each)] = arrival
        each.__class__ = PendingParameter


def await_value(parameter: torch.Tensor) -> None:
    """Return once the value is there. Raises what went wrong; the value stays outstanding then."""
    if type(parameter) is not PendingParameter:
        return
    arrival = _ARRIVALS.get(id(parameter))
    if arrival is not None:
        with torch._C.DisableTorchFunctionSubclass():
            arrival()
        _ARRIVALS.pop(id(parameter), None)
    parameter.__class__ = torch.nn.Parameter


def value_came(parameter: torch.Tensor) -> None:
    """It came with that of another parameter: nothing waits for it any more."""
    if type(parameter) is PendingParameter:
        _ARRIVALS.pop(id(parameter), None)
        parameter.__class__ = torch.nn.Parameter


def _await_all(values: Iterable[Any]) -> None:
    for value in values:
        if type(value) is PendingParameter:
            await_value(value)
        elif isinstance(value, tuple | list):
            _await_all(value)
