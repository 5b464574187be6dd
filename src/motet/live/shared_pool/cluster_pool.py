"""The pool of Aggregators of a live cluster: starts pMaster, and tells it which jobs may use it.

pMaster ends with the server and is started again with it; its state is a file. The Aggregators are
processes of the cluster (`cluster_launcher`) and outlive both.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import IO

from motet.aggregation.control.pool_client import PoolClient
from motet.aggregation.master.processes.launcher_server import LauncherRequests
from motet.aggregation.master.processes.master_child import MasterChild
from motet.aggregation.master.processes.pool_folder import PoolFolder
from motet.aggregation.master.processes.pool_settings import PoolSettings
from motet.aggregation.wire.job_credentials import job_of_cluster
from motet.aggregation.wire.pool_views import JobPlacement, PoolView
from motet.domain.errors import MotetError, NotFound, Unreachable
from motet.live.beside_jobs.look_thread import LookThread
from motet.live.beside_jobs.open_machines import open_machines
from motet.live.jobs.job import LiveJob
from motet.live.launcher.messages import ClusterSeen, LauncherRequest, Report
from motet.live.master.facts import JobFact
from motet.live.master.master import DurableStep
from motet.live.master.state import LiveState
from motet.live.shared_pool.admissions import AdmittedAttempts
from motet.live.shared_pool.cluster_launcher import AggregatorProgram, ClusterLauncher
from motet.transport import Server, read_secret

_LOG = logging.getLogger("motet.server")
_LOOK_EVERY_S = 2.0
_FRESH_S = 1.0
_REST_S = 30.0


@dataclass(frozen=True)
class ClusterPoolOptions:
    """`settings`: of pMaster. `program`: of the Aggregators. `queue_limits`: loss limits of jobs
    that name none, by queue."""

    settings: PoolSettings
    program: AggregatorProgram
    queue_limits: Mapping[str, float] = field(default_factory=dict)


class ClusterPool:
    """Is a MasterObserver, and ProcessesBesideJobs of the MasterLoop. Thread-safe."""

    def __init__(
        self,
        folder: PoolFolder,
        options: ClusterPoolOptions,
        send: Callable[[Sequence[LauncherRequest]], None],
        on_view: Callable[[PoolView, Mapping[str, int]], None],
    ) -> None:
        """`send`: see ClusterLauncher. `on_view`: called on a thread while there are jobs, with the
        ids of the jobs by their names in the pool.

        Raises BadInput: the folder is in use, or not private.
        """
        self.folder, self._options, self._on_view = folder, options, on_view
        self._claim: IO[str] = folder.open(goes_on=True)
        self._launcher = ClusterLauncher(folder, options.program, send)
        self._attempts = AdmittedAttempts(options.queue_limits)
        self._drained: frozenset[str] = frozenset()
        self._with_notice: frozenset[str] = frozenset()
        self._seen: tuple[float, PoolView] | None = None
        self.failure = "it has not started yet"
        self._thread = LookThread("pool", self._run)

    def start(self) -> None:
        """Start pMaster; the cluster can be told to start Aggregators."""
        self._thread.start()

    def close(self) -> None:
        """End pMaster; the Aggregators run on."""
        self._thread.close()
        self._claim.close()

    def view(self) -> PoolView:
        """All Aggregators and jobs, as they were a second ago at most. Raises Unreachable."""
        seen = self._seen
        if seen is not None and time.monotonic() - seen[0] < _FRESH_S:
            return seen[1]
        with self._client() as client:
            found = client.describe()
        self._seen = time.monotonic(), found
        return found

    def explain(self, job: int) -> JobPlacement:
        """Where the tensors of a live job are. Raises NotFound, Unreachable."""
        name = next((name for name, number in self.jobs().items() if number == job), None)
        if name is None:
            raise NotFound(f"job {job} does not run, so it has no tensors on Aggregators")
        view = self.view()
        names = [each.name for each in view.jobs if job_of_cluster(each.name) == name]
        if not names:
            raise NotFound(f"job {job} has no tensors on the Aggregators of this cluster")
        with self._client() as client:
            return client.explain(name if name in names else names[0])

    def jobs(self) -> Mapping[str, int]:
        """The ids of jobs by their names in the pool."""
        with self._thread.changed:
            return self._attempts.numbers

    def machine_of(self, aggregator: int) -> str:
        """The machine of an Aggregator; empty: it has ended."""
        return self._launcher.machine_of(aggregator)

    # -- the master's thread -----------------------------------------------------------------------

    def began(self, state: LiveState) -> None:
        """See MasterObserver."""
        self._use_machines(state)
        self._follow(list(state.active.values()))

    def stepped(
        self, steps: Sequence[DurableStep], jobs: Sequence[LiveJob], state: LiveState
    ) -> None:
        """See MasterObserver."""
        if any(not isinstance(fact, JobFact) for step in steps for fact in step.facts):
            self._use_machines(state)
        self._follow(jobs)

    def launched(self) -> None:
        """See MasterObserver."""

    def requests(self) -> list[LauncherRequest]:
        """See ProcessesBesideJobs."""
        return self._launcher.requests()

    def take(self, report: Report) -> bool:
        """See ProcessesBesideJobs. Machines with a notice are noted; the master sees them too."""
        if isinstance(report, ClusterSeen) and not report.refusal:
            with self._thread.changed:
                self._with_notice = frozenset(it.name for it in report.machines if it.has_notice)
        return self._launcher.take(report)

    def _use_machines(self, state: LiveState) -> None:
        self._launcher.use_machines(open_machines(state))
        with self._thread.changed:
            self._drained = _drained_machines(state)

    def _follow(self, jobs: Sequence[LiveJob]) -> None:
        with self._thread.changed:
            if self._attempts.follow(jobs):
                self._thread.tell()

    # -- the pool's thread -------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._serve()
        except Exception as error:
            self.failure = str(error) or repr(error)
            raise

    def _serve(self) -> None:
        secret = read_secret(self.folder.pool_secret)
        with (
            self.folder.log.open("ab") as log,
            Server(LauncherRequests(self._launcher).handle, secret) as server,
        ):
            self.folder.launcher.write_text(server.endpoint.encode(), encoding="utf-8")
            master = self._started(log)
            if master is None:
                return
            with closing(master):
                self.failure = ""
                self._thread.tell()
                self._thread.look_until_closed(self._look, _LOOK_EVERY_S, _LOOK_EVERY_S)

    def _started(self, log: IO[bytes]) -> MasterChild | None:
        """None: the server ends before a pMaster starts."""
        while True:
            try:
                return MasterChild(
                    self.folder,
                    self._options.settings,
                    log,
                    on_start=self._thread.tell,
                    rest_s=_REST_S,
                )
            except MotetError as error:
                self.failure = str(error)
                _LOG.error("pool_failed", extra={"fields": {"error": str(error)}})
                if not self._thread.rest(_REST_S):
                    return None

    def _look(self, is_news: bool) -> None:
        """`is_news`: pMaster does not know yet which jobs may use the pool. Raises MotetError: the
        next pMaster is told."""
        with self._thread.changed:
            admissions, numbers = self._attempts.admissions, self._attempts.numbers
        if is_news:
            with self._client() as client:
                client.admit(admissions)
        self._leave_machines()
        if numbers:
            self._on_view(self.view(), numbers)

    def _leave_machines(self) -> None:
        """Those that are drained. Raises Unreachable."""
        leaving = self._launcher.numbers_on(self._drained | self._with_notice)
        if not leaving:
            return
        with self._client() as client:
            staying = {it.number for it in client.describe().aggregators if not it.is_draining}
            for number in staying.intersection(leaving):
                with suppress(NotFound):  # It has ended meanwhile.
                    client.begin_drain(number)

    def _client(self) -> PoolClient:
        """Raises Unreachable."""
        if self.failure:
            raise Unreachable(f"the pool of Aggregators does not run: {self.failure}")
        return PoolClient.find(self.folder.address)


def _drained_machines(state: LiveState) -> frozenset[str]:
    """Machines that can be reached, and that everything is to leave."""
    if state.cluster is None:
        return frozenset()
    conditions = zip(state.cluster.names, state.conditions, strict=True)
    return frozenset(
        name for name, condition in conditions if condition == "up" and state.drains.has_begun(name)
    )
