"""Whether a program changes gradients before `step`, or parameters between steps."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch

from motet.torch.slots import Slot

CLEAN_STEPS = 2
"""As many steps without a change show that the program makes none."""


class GradientWatch:
    """Watches the first steps of one worker.

    Beside version counters it compares values, because `p.grad.data.clamp_(...)` leaves no trace.
    """

    def __init__(self, slots: Sequence[Slot]) -> None:
        self._slots = slots
        self._averaged: Collection[int] = ()
        self._parameters: Sequence[torch.Tensor] = ()
        self.steps = 0
        self.is_changing = False

    def gradients_are(self, averaged: Collection[int]) -> None:
        """`backward` has returned; the gradients with these numbers are means."""
        self._averaged = averaged
        for slot in self._slots:
            slot.note_gradient()

    @torch.no_grad()
    def before_step(self) -> None:
        """Look for changes."""
        self.is_changing = self.is_changing or (
            any(slot.is_gradient_changed() for slot in self._slots)
            or any(not self._is_equal(slot) for slot in self._slots)
            or any(map(_differ, self._parameters, (slot.parameter for slot in self._slots)))
        )

    @torch.no_grad()
    def after_step(self) -> None:
        """Remember the parameters of a finished step."""
        self.steps += 1
        self._parameters = [slot.parameter.detach().clone() for slot in self._slots]

    def _is_equal(self, slot: Slot) -> bool:
        mean, found = slot.mean, slot.gradient
        if mean is None or slot.number not in self._averaged:
            return True
        return found is not None and not _differ(mean.to(found.device, found.dtype), found)


def _differ(one: torch.Tensor, other: torch.Tensor) -> bool:
    return not torch.equal(one, other)
