"""The cluster of a journal, folded up to a moment, and what users and machines did later."""

from __future__ import annotations

from collections.abc import Iterator

from motet.domain.errors import BadInput
from motet.domain.events import (
    Cancelled,
    Delayed,
    Drained,
    Event,
    MachineAdded,
    MachineCame,
    MachineLeft,
    ProgressMeasured,
    QueueLimited,
    Resumed,
    SizeProposed,
    SpeedMeasured,
    Submitted,
    SubtasksMeasured,
    Suspended,
    Updated,
)
from motet.domain.model_profile import ModelMeasured
from motet.domain.units import NEVER_US
from motet.live.journal.reading import JournalReader
from motet.live.journal.record import Record
from motet.live.master.replay import ReplayedCluster, declared_by, events_of

_GIVEN = (
    *(Submitted, Cancelled, Suspended, Resumed, Updated, Delayed),
    *(MachineAdded, MachineCame, Drained, MachineLeft, QueueLimited, ModelMeasured),
)
"""Events that the policy does not cause."""
_REPORTED = (Submitted, ProgressMeasured, SpeedMeasured, SubtasksMeasured, SizeProposed)
"""What jobs tell of themselves, and with what they arrive."""


class FollowedJournal:
    """`cluster`: after the records that were read so far. One process; nothing is written."""

    def __init__(self, address: str) -> None:
        """`address`: a database URL, or the path of a SQLite file. Raises BadInput,
        JournalDamaged, ConnectionLost."""
        self._reader = JournalReader(address)
        self._next = 1
        try:
            first = next(iter(self._reader.records()), None)
            if first is None:
                raise BadInput(f"{address}: the journal is empty; start 'motet server' on it once")
            self.cluster = ReplayedCluster(declared_by(first))
        except BaseException:
            self._reader.close()
            raise

    def read(
        self, until_us: int = NEVER_US, reported: list[tuple[int, Event]] | None = None
    ) -> list[tuple[int, Event]]:
        """Fold the further records up to a moment; returns what the policy did not cause in them.

        `reported`: gets what jobs have told in them. Raises JournalDamaged,
        ConnectionLost.
        """
        found: list[tuple[int, Event]] = []
        for record in self.unread(until_us):
            self.cluster.replay(record)
            self._next = record.sequence + 1
            events = events_of(record)
            found += ((record.at_us, each) for each in events if isinstance(each, _GIVEN))
            if reported is not None:
                told = (each for each in events if isinstance(each, _REPORTED))
                reported += ((record.at_us, each) for each in told)
        return found

    def unread(self, until_us: int) -> Iterator[Record]:
        """The further records up to a moment, which are not folded."""
        for record in self._reader.records(self._next):
            if record.at_us > until_us:
                return
            yield record

    @property
    def position(self) -> int:
        """The number of the next record."""
        return self._next

    def close(self) -> None:
        """Close the database."""
        self._reader.close()
