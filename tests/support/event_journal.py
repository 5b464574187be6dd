"""Steps of a simulation as lines of JSON, and back: the form of the live journal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO, TypeAlias

from motet.domain.actions import Action
from motet.domain.decision import Decision
from motet.domain.events import Event, event_from_json, event_to_json
from motet.domain.snapshot import Snapshot
from motet.engine.step import Engine

StepRecord: TypeAlias = tuple[int, list[Event]]
"""One step: its time and its events."""


class EventJournal:
    """Writes a line of JSON per step. A `Journal`."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def received(self, now_us: int, events: Sequence[Event]) -> None:
        """See Journal."""
        record = {"now_us": now_us, "events": [event_to_json(event) for event in events]}
        self._file.write(json.dumps(record) + "\n")

    def decided(
        self, now_us: int, snapshot: Snapshot, decision: Decision, actions: Sequence[Action]
    ) -> None:
        """See Journal. Writes nothing: equal events give equal decisions."""


def read_journal(lines: Iterable[str]) -> Iterator[StepRecord]:
    """Read the lines of an `EventJournal`."""
    for record in map(json.loads, lines):
        yield record["now_us"], [event_from_json(each) for each in record["events"]]


def replay(engine: Engine, records: Iterable[StepRecord]) -> None:
    """Fold a journal into an engine. The engine's actions are ignored: the journal contains their
    results."""
    for now_us, events in records:
        engine.step(now_us, events)
