"""What an input of the master means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from motet.domain.events import Event
from motet.live.master.facts import Fact


@dataclass(frozen=True, slots=True)
class Intake:
    """`reply`: to the user. Without facts the input changes nothing."""

    facts: tuple[Fact, ...] = ()
    events: tuple[Event, ...] = ()
    reply: Any = None


def one_intake(parts: Sequence[Intake]) -> Intake:
    """One input that means several things."""
    facts = tuple(fact for each in parts for fact in each.facts)
    return Intake(facts, tuple(event for each in parts for event in each.events))
