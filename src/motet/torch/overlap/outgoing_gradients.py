"""Gradients on their way to the Aggregators, while `backward` goes on."""

from __future__ import annotations

from collections.abc import Callable

import torch

from motet.aggregation.agent.gradient_service import GradientService
from motet.torch.slots import Slot
from motet.torch.staging.staging import CopyEnd


class OutgoingGradients:
    """Pushes gradients; those of a device when their copies are in memory of the host.

    The hooks of gradients begin copies and push those that have ended. They do not wait, since the
    device computes behind them; what is left is pushed at the end of `backward`.
    """

    def __init__(
        self, service: GradientService, pushed: Callable[[Slot], None] = lambda slot: None
    ) -> None:
        """`pushed`: called after each push."""
        self._service = service
        self._pushed = pushed
        self._copies: dict[int, tuple[Slot, CopyEnd]] = {}
        self._task = -1

    def push(self, slot: Slot) -> None:
        """Send a gradient, or begin to copy it."""
        end = slot.begin_outgoing()
        if end is None:
            self._push(slot)
            return
        self._copies.pop(slot.number, None)  # An accumulated gradient: the memory is the same.
        self._copies[slot.number] = slot, end
        self._push_copied()

    def flush_after_backward(self) -> None:
        """Call `flush` at the end of the `backward` that is running."""
        if not self._copies:
            return
        task = torch._C._current_graph_task_id()
        if task != self._task:
            self._task = task
            torch.autograd.Variable._execution_engine.queue_callback(self.flush)

    def flush(self) -> None:
        """Send all, in the order of their copies."""
        while self._copies:
            slot, end = self._copies.pop(next(iter(self._copies)))
            end.synchronize()
            self._push(slot)

    def _push_copied(self) -> None:
        while self._copies:
            number, (slot, end) = next(iter(self._copies.items()))
            if not end.query():
                return
            del self._copies[number]
            self._push(slot)

    def _push(self, slot: Slot) -> None:
        self._service.push(slot.number, slot.outgoing())
        self._pushed(slot)
