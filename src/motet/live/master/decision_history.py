"""What the engine decided about each job, and why: the entries of the decision log by job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from motet.domain.log_entry import LogEntry


class DecisionHistory:
    """Entries in the order of the decisions. A replay of the journal leads to the same ones."""

    def __init__(self) -> None:
        self._of_job: dict[int, list[LogEntry]] = defaultdict(list)

    def add(self, entry: LogEntry) -> None:
        """The next entry of its job."""
        self._of_job[entry.job].append(entry)

    def of(self, job: int) -> Sequence[LogEntry]:
        """All entries of a job; empty before the first decision about it."""
        return self._of_job.get(job, ())
