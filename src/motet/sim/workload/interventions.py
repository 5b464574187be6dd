"""User interventions in submitted jobs: cancel, suspend, resume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.events import Cancelled, Event, Resumed, Suspended
from motet.domain.units import NEVER_US

TimedEvent: TypeAlias = tuple[int, Event]
"""(microseconds on the trace's clock, event)"""


@dataclass(frozen=True, eq=False)
class Interventions:
    """Times of interventions, `(jobs,)` each, on the trace's clock; NEVER_US: none.

    No intervention precedes the submission; a resume follows a suspension.
    """

    cancel_us: Ints
    suspend_us: Ints
    resume_us: Ints

    @classmethod
    def of(
        cls, cancel_us: Sequence[int], suspend_us: Sequence[int], resume_us: Sequence[int]
    ) -> Self:
        """Interventions from columns."""
        columns = (cancel_us, suspend_us, resume_us)
        return cls(*(np.array(column, dtype=np.int64) for column in columns))

    def take(self, rows: Sequence[int]) -> Self:
        """The interventions of these jobs, in this order."""
        chosen = np.asarray(rows, dtype=np.int64)
        return type(self)(self.cancel_us[chosen], self.suspend_us[chosen], self.resume_us[chosen])

    def timeline(self) -> list[TimedEvent]:
        """The interventions as events, ordered by time, then job."""
        kinds = ((self.suspend_us, Suspended), (self.resume_us, Resumed))
        found: list[tuple[int, int, Event]] = [
            (int(times_us[job]), job, kind(job))
            for times_us, kind in (*kinds, (self.cancel_us, Cancelled))
            for job in np.flatnonzero(times_us != NEVER_US).tolist()
        ]
        found.sort(key=lambda each: each[:2])
        return [(time_us, event) for time_us, _, event in found]
