"""Events as lines of text, and back: an engine that folds them reaches the same decisions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO, TypeAlias

from motet.domain.actions import Action
from motet.domain.decision import Decision
from motet.domain.errors import BadInput
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
        self._file.write(json.dumps(record, separators=(",", ":")) + "\n")

    def decided(
        self, now_us: int, snapshot: Snapshot, decision: Decision, actions: Sequence[Action]
    ) -> None:
        """See Journal. Writes nothing: equal events give equal decisions."""


def read_journal(lines: Iterable[str]) -> Iterator[StepRecord]:
    """Read the lines of an `EventJournal`. Raises BadInput with the number of an invalid line."""
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            yield int(record["now_us"]), [event_from_json(each) for each in record["events"]]
        except (ValueError, KeyError, TypeError, BadInput) as error:
            raise BadInput(f"line {number} of the journal cannot be read: {error}") from error


def replay(engine: Engine, records: Iterable[StepRecord]) -> None:
    """Fold a journal into an engine. The engine's actions are ignored: the journal contains their
    results."""
    for now_us, events in records:
        engine.step(now_us, events)
