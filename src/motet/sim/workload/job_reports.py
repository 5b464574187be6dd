"""What jobs of a workload report while they run: events that were recorded once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from motet.domain.events import DataSizes, Event, Goal

WorkReport: TypeAlias = tuple[int, Event]
"""The steps after which a job reports an event."""


@dataclass(frozen=True, eq=False)
class JobReports:
    """By number of the job. `reports`: ascending. `goals`, `data`: with which the job arrives."""

    reports: Mapping[int, Sequence[WorkReport]]
    goals: Mapping[int, Goal]
    data: Mapping[int, DataSizes]
