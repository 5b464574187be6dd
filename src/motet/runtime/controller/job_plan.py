"""What a job consists of, whichever executors carry it."""

from __future__ import annotations

from dataclasses import dataclass

from motet.runtime.core.application import Application
from motet.runtime.core.consistency import Synchronisation
from motet.runtime.core.schedule import Schedule
from motet.runtime.core.table_spec import TableSpec
from motet.runtime.elastic.layout import Layout
from motet.runtime.elastic.roles import Roles


@dataclass(frozen=True)
class JobPlan:
    """What stays the same through all generations of a job."""

    app: Application
    roles: Roles
    schedule: Schedule
    table: TableSpec
    sync: Synchronisation
    helps: bool = False

    @property
    def first_layout(self) -> Layout:
        """What a job begins with."""
        return Layout.even(self.roles, self.table.block_count, self.schedule.block_count)
