"""The new values of parameters after a step, in the order in which the program uses them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

import torch

from motet.aggregation.agent.gradient_service import GradientService, Pending
from motet.torch.overlap.pending_parameters import await_value, make_pending, value_came
from motet.torch.patience import wait_for


class ParametersTogether(Protocol):
    """A parameter, or the parameters of a bucket. `numbers`: of their tensors."""

    @property
    def name(self) -> str: ...

    @property
    def numbers(self) -> tuple[int, ...]: ...

    @property
    def parameters(self) -> Sequence[torch.nn.Parameter]: ...

    def pull(self, service: GradientService, *, keeps_order: bool) -> Pending:
        """Request the values."""
        ...

    def values_came(self) -> None:
        """What was requested is there: give it to the parameters."""
        ...


class IncomingValues:
    """Pulls values: first those that were used first since the step before."""

    def __init__(self, service: GradientService, parts: Sequence[ParametersTogether]) -> None:
        self._service = service
        self._order = list(parts)
        self._used: dict[tuple[int, ...], ParametersTogether] = {}
        self._outstanding: dict[tuple[int, ...], ParametersTogether] = {}

    def request(self, *, overlap: bool) -> None:
        """Request the values of the current version; `overlap`: return before they are there."""
        self._used = {}
        pending = [(part, part.pull(self._service, keeps_order=overlap)) for part in self._order]
        if overlap:
            self._service.flush()
        self._outstanding = {part.numbers: part for part, _ in pending}
        for part, each in pending:
            if overlap:
                make_pending(part.parameters, partial(self._arrive, part, each))
            else:
                self._arrive(part, each)

    def settle(self) -> None:
        """Return once all values are there."""
        used = dict(self._used)
        for part in [*self._outstanding.values()]:
            for parameter in part.parameters:
                await_value(parameter)
        if used:  # Parameters that the program did not use are requested last.
            unused = [part for part in self._order if part.numbers not in used]
            order = [*used.values(), *unused]
            if order != self._order:
                self._order = order
                self._service.prioritise([number for part in order for number in part.numbers])

    def _arrive(self, part: ParametersTogether, pending: Pending) -> None:
        """Of the parameters of a bucket, the first that is used waits for all."""
        if part.numbers not in self._outstanding:
            return
        wait_for(pending, f"the new value of {part.name!r}")
        part.values_came()
        self._used[part.numbers] = part
        del self._outstanding[part.numbers]
        for parameter in part.parameters:
            value_came(parameter)
