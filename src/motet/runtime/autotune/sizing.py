"""When a job asks for another number of machines: a proposal that holds and pays off. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from motet.cruise.decision import TuningDecision, TuningReason
from motet.cruise.size_proposal import SizeBounds
from motet.domain.reconfiguration import RoleCounts
from motet.runtime.autotune.instructions import ProposeSize


@dataclass(frozen=True)
class Sizing:
    """`present`: the size that the job was given. `planned_epochs`: None: it trains to convergence.
    `move_s`: how long a restart takes. `propose`: called with every proposal."""

    bounds: SizeBounds
    present: RoleCounts
    planned_epochs: int | None
    move_s: float
    propose: Callable[[ProposeSize], None]


LEAST_DIFFERENCE = 0.05
"""In place of a proposal to grow, a larger size is proposed only if it saves so much more of the
present time of an epoch."""


class SizeWishes:
    """Two decisions in a row have to agree, so that noise leads to no proposal; nor do larger sizes
    that are about as good as the proposed one, between which measured times vary."""

    def __init__(self, sizing: Sizing) -> None:
        self._sizing = sizing
        self._told = ProposeSize(sizing.present, 0.0)
        self._before: RoleCounts | None = None

    def decided(self, decision: TuningDecision, epochs_done: int) -> list[ProposeSize]:
        """The proposal after a decision; one that no longer holds is withdrawn by the present
        size."""
        if decision.reason is TuningReason.WARMING_UP or decision.reason.is_change:
            self._before = None
            return []
        wish = self._wish(decision, epochs_done)
        is_agreed, self._before = wish.roles == self._before, wish.roles
        if not is_agreed or wish.roles == self._told.roles or self._is_alike(wish):
            return []
        self._told = wish
        return [wish]

    def _is_alike(self, wish: ProposeSize) -> bool:
        """Whether it asks for still more than a proposal to grow, and gains about as much."""
        present, told, wanted = (
            roles.executors for roles in (self._sizing.present, self._told.roles, wish.roles)
        )
        return present < told < wanted and wish.gain < self._told.gain + LEAST_DIFFERENCE

    def _wish(self, decision: TuningDecision, epochs_done: int) -> ProposeSize:
        sizing, found = self._sizing, decision.proposal
        if found is None:
            return ProposeSize(sizing.present, 0.0)
        planned = sizing.planned_epochs
        if planned is not None and not found.pays_off(planned - epochs_done, sizing.move_s):
            return ProposeSize(sizing.present, 0.0)
        return ProposeSize(found.roles, found.gain)
