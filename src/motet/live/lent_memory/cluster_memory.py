"""The memory that a live cluster lends: keeps a lender on each machine, and tells all of them what
jobs have requested and which jobs may borrow.

The lenders are processes of the cluster and outlive the server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from motet.live.beside_jobs.look_thread import LookThread
from motet.live.beside_jobs.open_machines import open_machines
from motet.live.jobs.job import LiveJob
from motet.live.launcher.messages import LauncherRequest, Report
from motet.live.lent_memory.borrowed_memory import BorrowedMemoryLog
from motet.live.lent_memory.cluster_lenders import (
    ClusterFolder,
    ClusterLenders,
    LenderProgram,
    LenderStatus,
    LendingOptions,
)
from motet.live.lent_memory.job_requests import JobRequests
from motet.live.master.facts import JobFact, MemoryBorrowed
from motet.live.master.master import DurableStep
from motet.live.master.requests import Workplace
from motet.live.master.state import LiveState
from motet.transport import new_secret, read_secret, write_secret

_LOOK_EVERY_S, _LOOK_SOON_S = 2.0, 0.25


@dataclass(frozen=True)
class MemoryStatus:
    """`jobs`: job and attempt by the name for the lenders."""

    lenders: Sequence[LenderStatus]
    jobs: Mapping[str, tuple[int, int]]


class ClusterMemory:
    """Is a MasterObserver, and ProcessesBesideJobs of the MasterLoop. Thread-safe."""

    def __init__(
        self,
        folder: ClusterFolder,
        options: LendingOptions,
        program: LenderProgram,
        workplace: Workplace,
        send: Callable[[Sequence[LauncherRequest]], None],
        record: Callable[[MemoryBorrowed], Any],
        on_status: Callable[[MemoryStatus], None],
    ) -> None:
        """`send`: to the launcher. `record`: what jobs have borrowed. `on_status`: called on a
        thread, every few seconds. Raises BadInput: the secret cannot be kept."""
        folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not folder.secret.exists():
            write_secret(folder.secret, new_secret())
        self.folder, self.options, self._on_status = folder, options, on_status
        self.secret = read_secret(folder.secret)
        self._lenders = ClusterLenders(folder, options, program, self.secret, send)
        self._log = BorrowedMemoryLog(record)
        self._requests = JobRequests(workplace)
        self._machines: Sequence[str] | None = None
        self._status = MemoryStatus((), {})
        self._is_current = True
        self._thread = LookThread("memory", self._run)

    def start(self) -> None:
        """The cluster can be told to start lenders."""
        self._thread.start()

    def close(self) -> None:
        """The lenders run on."""
        self._thread.close()
        self._lenders.close()

    def status(self) -> MemoryStatus:
        """As it was a few seconds ago at most."""
        return self._status

    # -- the master's thread -----------------------------------------------------------------------

    def began(self, state: LiveState) -> None:
        """See MasterObserver."""
        self._follow(state, list(state.active.values()), has_news_of_machines=True)

    def stepped(
        self, steps: Sequence[DurableStep], jobs: Sequence[LiveJob], state: LiveState
    ) -> None:
        """See MasterObserver. Lenders hear of requests before the launcher starts the jobs."""
        has_news = any(not isinstance(fact, JobFact) for step in steps for fact in step.facts)
        self._follow(state, jobs, has_news_of_machines=has_news)

    def launched(self) -> None:
        """See MasterObserver."""

    def requests(self) -> list[LauncherRequest]:
        """See ProcessesBesideJobs."""
        return self._lenders.processes.requests()

    def take(self, report: Report) -> bool:
        """See ProcessesBesideJobs."""
        return self._lenders.processes.take(report)

    def _follow(
        self, state: LiveState, jobs: Sequence[LiveJob], *, has_news_of_machines: bool
    ) -> None:
        with self._thread.changed:
            if has_news_of_machines:
                self._machines = open_machines(state)
            if self._requests.follow(state, jobs) or has_news_of_machines:
                self._thread.tell()

    # -- the thread --------------------------------------------------------------------------------

    def _run(self) -> None:
        self._thread.look_until_closed(self._look, _LOOK_EVERY_S, _LOOK_SOON_S)

    def _look(self, is_news: bool) -> None:
        del is_news  # Lenders that did not answer the last time need the terms, too.
        with self._thread.changed:
            machines, terms = self._machines, self._requests.terms()
        if machines is not None:
            self._lenders.use_machines(machines)
        if not self._is_current:
            # Late answers: lenders forget the accounts of ended jobs once they hear the next terms.
            self._log.seen(self._lenders.status(), terms.attempts, is_current=False)
        self._is_current = self._lenders.tell(terms.of)
        self._status = MemoryStatus(self._lenders.status(), terms.attempts)
        self._log.seen(self._status.lenders, terms.attempts, is_current=self._is_current)
        self._on_status(self._status)
