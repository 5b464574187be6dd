"""`motet server`: the master and its HTTP interface in one process."""

from __future__ import annotations

import getpass
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from motet import __version__
from motet.domain.errors import BadInput
from motet.interfaces.ray_launcher.command import ray_launcher
from motet.interfaces.server.access import Access
from motet.interfaces.server.accounts.account_routes import add_account_routes
from motet.interfaces.server.accounts.request_audit import RequestAudit
from motet.interfaces.server.aggregation.pool_of_server import PoolOfServer
from motet.interfaces.server.api_contract.api_description import describe_token
from motet.interfaces.server.app import create_app
from motet.interfaces.server.beside.beside_jobs import BesideJobs, BesideOptions, ServerPort
from motet.interfaces.server.environment import job_environment, training_program
from motet.interfaces.server.error_pages import add_error_pages
from motet.interfaces.server.event_log.line_formats import EventLine, LogFormat
from motet.interfaces.server.event_log.log_writer import LogWriter
from motet.interfaces.server.event_log.master_log import MasterLog
from motet.interfaces.server.history.accounting_routes import add_accounting_routes
from motet.interfaces.server.history.usage_routes import add_usage_routes
from motet.interfaces.server.kernels.compiled import Kernels
from motet.interfaces.server.metrics.metrics_route import add_metrics
from motet.interfaces.server.metrics.server_metrics import ServerMetrics
from motet.interfaces.server.network.checkup_route import add_checkup_route
from motet.interfaces.server.network.connections import LimitedConnection
from motet.interfaces.server.network.exposure import Exposure
from motet.interfaces.server.network.listening import HttpServer, listener_for, tell_clients
from motet.interfaces.server.network.root_path import RootPath
from motet.interfaces.server.policy_routes import add_policy_routes
from motet.interfaces.server.predictions.follower_process import FollowerProcess
from motet.interfaces.server.predictions.kept_predictions import KeptPredictions
from motet.interfaces.server.predictions.program import ForecastProgram
from motet.interfaces.server.predictions.routes import add_forecast_routes
from motet.interfaces.server.predictions.start_predictions import StartPredictions
from motet.interfaces.server.short_collections import keep_collections_short
from motet.interfaces.server.state_folder import (
    locked_state_folder,
    open_state_folder,
    server_token,
)
from motet.interfaces.server.stories.moments import policy_text
from motet.interfaces.server.web.changes import Changes
from motet.interfaces.server.web.renderer import PageRenderer
from motet.interfaces.server.web.routes import WebPages
from motet.interfaces.server.web.sessions import Sessions
from motet.interfaces.server.web.signing_in import SigningIn
from motet.interfaces.server.webhooks.delivery import Webhooks
from motet.interfaces.server.webhooks.webhook_routes import add_webhook_routes
from motet.interfaces.server.what_if.decision_page import DecisionPage
from motet.interfaces.server.what_if.replay_page import ReplayPages
from motet.interfaces.server.what_if.replay_runs import ReplayRuns
from motet.interfaces.server.what_if.replay_store import ReplayStore
from motet.interfaces.server.workdirs.snapshot_routes import add_snapshot_routes
from motet.interfaces.server_address import TOKEN_FILE
from motet.live.accounts.account_store import AccountStore
from motet.live.accounts.audit_log import AuditLog
from motet.live.accounts.roles import UserRole
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_state import JobState
from motet.live.journal.database import JournalDatabase
from motet.live.lent_memory.cluster_lenders import LendingOptions
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy
from motet.live.master.launcher_process import local_launcher
from motet.live.master.loop import MasterLoop
from motet.live.master.requests import Workplace
from motet.live.master.state import LiveState
from motet.live.queues.queue_changes import DefineQueues
from motet.live.read_tables.read_tables import ReadTables
from motet.live.upkeep.idle_attempts import IdleWatch, mark_idle
from motet.live.upkeep.old_snapshots import forget_snapshots
from motet.live.upkeep.restore import MARKER
from motet.live.upkeep.routine import Retention, Upkeep
from motet.live.webhooks.store import WebhookStore
from motet.live.workdirs.store import SnapshotStore

_LOG = logging.getLogger("motet.server")


@dataclass(frozen=True)
class ServerOptions:
    """`folder`: journal, token, logs and checkpoints. `port`: 0 is that
    of the server before if it is free, else any free one. `policy`: None is
    the one that was in force before.

    `address`: of a Ray cluster; None: the machines of `cluster` are all this one. `lease_s`: how
    long processes run on when their machine hears nothing from the server. `drain_after`: failures
    of the infrastructure in a row that drain a machine; 0: none do. `has_open_metrics`: /metrics
    needs no token. `log_format`: of a line per event; None: only warnings are logged, as text.
    `queues`: with limits from now on; others stay as they are. `pool`: of Aggregators; None: the
    cluster has none. `lending`: of idle memory; None: it lends none.
    """

    folder: Path
    cluster: ClusterDeclared
    policy: ChoosePolicy | None
    database: str | None = None
    port: int = 0
    address: str | None = None
    lease_s: float = 600.0
    drain_after: int = 3
    has_open_metrics: bool = False
    log_format: LogFormat | None = None
    exposure: Exposure = field(default_factory=Exposure)
    queues: DefineQueues | None = None
    retention: Retention = field(default_factory=Retention)
    idle_after_s: float = 1800.0
    pool: PoolOfServer | None = None
    lending: LendingOptions | None = None


def serve(
    options: ServerOptions,
    on_ready: Callable[[str, str], None],
    on_end: Callable[[int], None],
    on_compile: Callable[[str], None],
) -> int:
    """Serve until SIGTERM or Ctrl-C; returns the exit status.

    `on_ready`: called with the URL and the policy in force; `on_end`: with the number of jobs that
    run on; `on_compile`: with a policy that has to be compiled first. Raises BadInput,
    FolderInUse, JournalInUse.
    """
    open_state_folder(options.folder)
    _require_whole(options.folder)
    token = server_token(options.folder)
    line = EventLine(options.log_format or "text", (token,))
    level = logging.INFO if options.log_format else logging.WARNING
    with locked_state_folder(options.folder), LogWriter(line, level) as log:

        def ended(jobs: int) -> None:
            _LOG.info("server_ended", extra={"fields": {"running_jobs": jobs}})
            log.finish()
            on_end(jobs)

        return _serve(options, token, on_ready, ended, Kernels(on_compile))


def _require_whole(folder: Path) -> None:
    """Raises BadInput after a restore that was interrupted."""
    if (folder / MARKER).exists():
        raise BadInput(f"{folder}: a restore was interrupted; repeat 'motet server restore'")


class _ServerParts:
    """Everything of the server but its socket, connected with each other."""

    def __init__(
        self,
        options: ServerOptions,
        token: str,
        on_failure: Callable[[BaseException], None],
        kernels: Kernels,
    ) -> None:
        place = options.exposure
        most = UserRole.VIEWER if place.is_exposed and not place.trusts_users else UserRole.ADMIN
        self._options, folder = options, options.folder
        self._journal = options.database or str(folder / "journal.db")
        self._accounts, self._audit = AccountStore(getpass.getuser(), token, most), AuditLog()
        self._sessions = Sessions(self._accounts, token)
        self._tables, self.changes = ReadTables(folder), Changes()
        self._metrics = ServerMetrics(folder)
        self._kernels = kernels
        follower = FollowerProcess(self._journal, folder)
        self._predictions = StartPredictions(
            follower, self.changes.changed, KeptPredictions(folder)
        )
        self._replays = ReplayStore(folder)
        self._beside = self._opened_beside()
        surroundings = job_environment(), training_program(), options.lease_s
        accesses = self._beside.pool_access, self._beside.memory_access
        self._workplace = Workplace(folder, *surroundings, *accesses)
        store = WebhookStore(folder / "webhook-secrets")
        self._webhooks = Webhooks(store, self._journal, self._audit)
        own_observers = self._metrics, MasterLog(), self._webhooks, self._predictions
        self._master = MasterLoop(
            self._journal,
            options.cluster,
            options.policy,
            self._workplace,
            _launcher(options),
            on_failure,
            options.drain_after,
            self._follow,
            [*own_observers, *self._beside.observers],
            options.queues,
            kernels.prepare,
            self._beside.processes,
        )
        self._snapshots = SnapshotStore(self._workplace.snapshots_folder)
        keep_days = options.retention.keep_days
        others = [
            partial(mark_idle, self._master, IdleWatch(self._workplace, options.idle_after_s)),
            partial(forget_snapshots, self._master, self._snapshots, keep_days),
        ]
        file = JournalDatabase(self._journal).file
        self._upkeep = Upkeep(
            *(options.retention, self._workplace, self._tables, self._audit, others),
            journal_folder=None if file is None else file.parent,
        )

    def start(self) -> None:
        """Read the journal and begin to decide."""
        self._master.start()
        self._beside.start()
        self._predictions.start()
        keep_collections_short()

    def open_accounts(self) -> None:
        """Users and the audit log, in the database that the master has opened, and replays."""
        self._accounts.open(self._journal)
        self._audit.open(self._journal)
        self._replays.open(time.time_ns() // 1000)
        self._upkeep.start()
        self._webhooks.start(self._master)

    def end_requests(self) -> None:
        """End those that would last: streams, waits for jobs, changes of the policy."""
        self._kernels.close()
        self._master.end_waits()
        self.changes.close()

    def close(self) -> None:
        """Write what is not written; jobs run on."""
        self._master.close()
        self._beside.close()
        self._webhooks.close()
        self._predictions.close()
        self._upkeep.close()
        self._audit.close()
        self._accounts.close()
        self._replays.close()
        self._tables.close()

    def application(self) -> ASGIApp:
        """API and pages."""
        place, master = self._options.exposure, self._master
        access = Access(
            self._accounts,
            self._sessions,
            RequestAudit(self._audit),
            place,
            has_open_metrics=self._options.has_open_metrics,
        )
        app = create_app(master, self._workplace, access, self._predictions)
        add_checkup_route(app, master, place, self._options.address)
        add_policy_routes(app, master, self._kernels)
        add_account_routes(app, self._accounts, self._audit)
        add_webhook_routes(app, self._webhooks)
        add_snapshot_routes(app, self._snapshots)
        add_accounting_routes(app, master)
        add_usage_routes(app, self._tables)
        program = ForecastProgram(self._journal)
        add_forecast_routes(app, program, self._predictions)
        add_beside_pages = self._beside.add_to(app, master)
        add_metrics(app, self._metrics)
        describe_token(app)
        renderer = PageRenderer(place.root_path)
        signing_in = SigningIn(
            self._accounts, self._sessions, renderer, is_encrypted=place.is_encrypted
        )
        signing_in.add_to(app)
        add_error_pages(app, renderer)
        WebPages(
            master, self._tables, self._workplace, self.changes, renderer, self._predictions
        ).add_to(app)
        runs = ReplayRuns(program, self._replays, self.changes.changed)
        ReplayPages(master, self._replays, runs, renderer).add_to(app)
        DecisionPage(master, program, renderer).add_to(app)
        add_beside_pages(renderer)
        return RootPath(app, place.root_path)

    def policy_in_force(self) -> str:
        """Its name and parameters, and that it has failed."""

        def told(state: LiveState) -> str:
            failed = " (it has failed: motet doctor)" if state.policy_failure else ""
            return policy_text(state.policy) + failed

        return self._master.read(told).result()

    def running_jobs(self) -> int:
        """Those that start, too."""
        counts = self._tables.counts()
        return sum(counts.get(each, 0) for each in (JobState.STARTING, JobState.RUNNING))

    def _opened_beside(self) -> BesideJobs:
        options = self._options
        place = options.folder, options.address, options.cluster, options.lease_s
        port = ServerPort(
            lambda given: self._master.ask(given),
            lambda requests: self._master.send(requests),
            self.changes.changed,
        )
        beside = BesideOptions(*place, options.pool, options.lending)
        return BesideJobs(beside, port, self._metrics.registry)

    def _follow(self, jobs: Sequence[LiveJob]) -> None:
        self._tables.follow(jobs)
        self._predictions.follow(jobs)
        self.changes.changed()


def _serve(
    options: ServerOptions,
    token: str,
    on_ready: Callable[[str, str], None],
    on_end: Callable[[int], None],
    kernels: Kernels,
) -> int:
    place = options.exposure
    place.check()
    listener = listener_for(place.host, options.port, options.folder)
    failures: list[BaseException] = []

    def failed(error: BaseException) -> None:
        failures.append(error)
        if options.log_format:  # Else the command alone tells it.
            _LOG.error("server_failed", extra={"fields": {"error": str(error)}})
        server.should_exit = True
        parts.end_requests()

    def ended() -> None:
        if not failures:
            on_end(parts.running_jobs())

    parts = _ServerParts(options, token, failed, kernels)
    server = HttpServer(_configured(parts.application(), place), parts.end_requests, ended)
    parts.start()
    try:
        parts.open_accounts()
        policy = parts.policy_in_force()
        _announce(options, listener.getsockname()[1], lambda url: on_ready(url, policy))
        server.run(sockets=[listener])
    finally:
        parts.end_requests()
        parts.close()
    if failures:
        raise failures[0]
    return 0


def _announce(options: ServerOptions, port: int, on_ready: Callable[[str], None]) -> None:
    place = options.exposure
    url = place.public_url(port)
    tell_clients(options.folder, place.local_url(port), place.certificate)
    fields = {"url": url, "token_file": str(options.folder / TOKEN_FILE), "version": __version__}
    _LOG.info("server_started", extra={"fields": fields})
    on_ready(url)


def _configured(app: ASGIApp, place: Exposure) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=LimitedConnection,
        ws="none",
        loop="asyncio",
        # Else every process of this machine could name another source for the audit log.
        proxy_headers=place.proxy_name is not None,
        ssl_certfile=place.certificate,
        ssl_keyfile=place.key,
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=5,
    )


def _launcher(options: ServerOptions) -> tuple[str, ...]:
    if options.address is None:
        return local_launcher(options.folder)
    return ray_launcher(options.address, options.folder, options.lease_s)
