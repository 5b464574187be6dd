"""What an input of the master means."""

from __future__ import annotations

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
