"""What the engine decided about each job, and why: the entries of the decision log by job."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from motet.domain.log_entry import MEASURE, LogEntry, is_wait


@dataclass(frozen=True, slots=True)
class DecisionRound:
    """What was decided at one moment. `changes`: of jobs; `waits`: reasons that are new."""

    time_us: int
    changes: list[LogEntry] = field(default_factory=list)
    waits: list[LogEntry] = field(default_factory=list)


class DecisionHistory:
    """Entries in the order of the decisions. A replay of the journal leads to the same ones."""

    def __init__(self) -> None:
        self._of_job: dict[int, list[LogEntry]] = defaultdict(list)
        self._rounds: list[DecisionRound] = []
        self._latest_wait: Callable[[int], LogEntry | None] = _not_known

    def take_waits_from(self, latest_wait: Callable[[int], LogEntry | None]) -> None:
        """`latest_wait`: why a job waits by the latest decision; None: it is not known."""
        self._latest_wait = latest_wait

    def add(self, entry: LogEntry) -> None:
        """The next entry of its job."""
        self._of_job[entry.job].append(entry)
        if entry.event == MEASURE:
            return
        if not self._rounds or self._rounds[-1].time_us != entry.time_us:
            self._rounds.append(DecisionRound(entry.time_us))
        latest = self._rounds[-1]
        (latest.waits if is_wait(entry) else latest.changes).append(entry)

    def of(self, job: int) -> Sequence[LogEntry]:
        """All entries of a job; empty before the first decision about it."""
        return self._of_job.get(job, ())

    def wait_of(self, job: int) -> LogEntry | None:
        """Why a job waits, with its place and the others as of the latest decision: entries have
        those of the time at which the reason was new. None: it does not wait."""
        last = self.of(job)[-1] if self.of(job) else None
        if last is None or not is_wait(last):
            return None
        latest = self._latest_wait(job)
        return latest if latest is not None and latest.event == last.event else last

    @property
    def round_count(self) -> int:
        """How many moments have an entry."""
        return len(self._rounds)

    def at(self, time_us: int) -> DecisionRound | None:
        """What was decided at a moment; None: nothing."""
        place = bisect_left(self._rounds, time_us, key=lambda each: each.time_us)
        found = self._rounds[place] if place < len(self._rounds) else None
        return found if found is not None and found.time_us == time_us else None

    def rounds(self, first: int, count: int) -> Sequence[DecisionRound]:
        """The latest rounds, latest first. `first`: 0 is the latest."""
        end = len(self._rounds) - first
        return self._rounds[max(0, end - count) : max(0, end)][::-1]


def _not_known(job: int) -> None:
    del job
