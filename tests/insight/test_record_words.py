"""Every event and action has words."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

import numpy as np
import pytest

from motet.domain.actions import Migrate, Preempt, Start
from motet.domain.events import EVENTS
from motet.domain.snapshot import Placement
from motet.insight.record_words import action_words, event_words

MACHINES, QUEUES = ("m0", "m1"), ("default", "vision")


def example(kind: type[Any]) -> Any:
    values: dict[str, Any] = {}
    for field in fields(kind):
        if field.default is MISSING and field.default_factory is MISSING:
            is_array = field.name in ("jobs", "remaining_us")
            text = field.name in ("name", "reason", "policy")
            values[field.name] = np.array([1]) if is_array else "any" if text else 1
    if "columns" in values:
        values["columns"] = {}
    return kind(**values)


@pytest.mark.parametrize("name", EVENTS)
def test_every_event_has_words(name: str) -> None:
    words = event_words(example(EVENTS[name]), MACHINES, QUEUES)
    assert words.startswith(("job 1", "machine", "queue", "limits", "the ", "remaining", "time"))
    assert "vision" in words or name != "QueueLimited"


def test_actions_name_machines_and_slots() -> None:
    placement = Placement((0, 1), (2, 1))
    assert action_words(Preempt(3), MACHINES) == "preempt job 3"
    started = action_words(Start(4, placement, 3, 0), MACHINES)
    assert started == "start job 4 on m0 (2 slots) and m1 (1 slot)"
    moved = action_words(Migrate(4, placement, 2, 1), MACHINES)
    assert moved == "move or resize job 4 to m0 (2 slots) and m1 (1 slot)"
