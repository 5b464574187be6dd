"""The policies that were in force in a period, in their order. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from motet.domain.units import iso_time
from motet.interfaces.forecasts.replayed_period import PolicyInForce
from motet.live.master.facts import PolicyChosen


@dataclass(frozen=True)
class PoliciesInTurn:
    """`first`: in force at `from_us`, when the period begins. `changes`: later ones, with the times
    from which each was in force."""

    from_us: int
    first: PolicyInForce
    changes: tuple[tuple[int, PolicyInForce], ...] = ()

    @classmethod
    def of(cls, chosen: Sequence[tuple[int, PolicyChosen]], from_us: int) -> Self:
        """`chosen`: all that were chosen, with their times; at least one."""
        every = [(at_us, PolicyInForce(each.policy, dict(each.settings))) for at_us, each in chosen]
        before = [each for at_us, each in every if at_us <= from_us]
        first = before[-1] if before else every[0][1]
        later = every[max(len(before), 1) :]
        return cls(from_us, first, tuple(later))

    @property
    def last(self) -> PolicyInForce:
        """In force at the end of the period."""
        return self.changes[-1][1] if self.changes else self.first

    def as_dicts(self) -> list[dict[str, Any]]:
        """Of each policy `since` (ISO 8601), `policy` and `settings`."""
        return [
            {"since": iso_time(at_us), "policy": each.policy, "settings": dict(each.settings)}
            for at_us, each in ((self.from_us, self.first), *self.changes)
        ]
