"""Processes of several kinds beside the jobs, as one."""

from __future__ import annotations

from collections.abc import Sequence

from motet.live.launcher.messages import LauncherRequest, Report
from motet.live.master.loop import ProcessesBesideJobs


class SeveralKinds:
    """Implements ProcessesBesideJobs."""

    def __init__(self, kinds: Sequence[ProcessesBesideJobs]) -> None:
        self._kinds = kinds

    def requests(self) -> Sequence[LauncherRequest]:
        """See ProcessesBesideJobs."""
        return [request for each in self._kinds for request in each.requests()]

    def take(self, report: Report) -> bool:
        """See ProcessesBesideJobs."""
        return any(each.take(report) for each in self._kinds)
