"""The new values of parameters after a step, in the order in which the program uses them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from motet.aggregation.agent.gradient_service import GradientService, Pending
from motet.torch.overlap.pending_parameters import await_value, make_pending
from motet.torch.patience import wait_for
from motet.torch.slots import Slot


class IncomingValues:
    """Pulls values: first those that were used first since the step before."""

    def __init__(self, service: GradientService, slots: Sequence[Slot]) -> None:
        self._service = service
        self._order = list(slots)
        self._used: dict[int, Slot] = {}
        self._outstanding: dict[int, Slot] = {}

    def request(self, *, overlap: bool) -> None:
        """Request the values of the current version; `overlap`: return before they are there."""
        self._used = {}
        pending = [(slot, self._pull(slot, keeps_order=overlap)) for slot in self._order]
        if overlap:
            self._service.flush()
            self._outstanding = {slot.number: slot for slot, _ in pending}
            for slot, each in pending:
                make_pending(slot.parameter, partial(self._arrive, slot, each))
        else:
            for slot, each in pending:
                self._arrive(slot, each)

    def settle(self) -> None:
        """Return once all values are there."""
        used = dict(self._used)
        for slot in [*self._outstanding.values()]:
            await_value(slot.parameter)
        if used:  # Parameters that the program did not use are requested last.
            unused = [slot for slot in self._order if slot.number not in used]
            order = [*used.values(), *unused]
            if order != self._order:
                self._order = order
                self._service.prioritise([slot.number for slot in order])

    def _pull(self, slot: Slot, *, keeps_order: bool) -> Pending:
        return self._service.pull(slot.number, slot.incoming_value(), keeps_order=keeps_order)

    def _arrive(self, slot: Slot, pending: Pending) -> None:
        wait_for(pending, f"the new value of {slot.name!r}")
        slot.value_came()
        self._used[slot.number] = slot
        self._outstanding.pop(slot.number, None)
