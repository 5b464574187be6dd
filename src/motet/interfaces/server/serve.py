"""`motet server`: the master and its HTTP interface in one process."""

from __future__ import annotations

import gc
import getpass
import json
import os
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn

import motet
from motet.domain.errors import BadInput
from motet.interfaces.ray_launcher.command import ray_launcher
from motet.interfaces.server.access import Access
from motet.interfaces.server.app import create_app
from motet.interfaces.server.connections import LimitedConnection
from motet.interfaces.server.history.accounting_routes import add_accounting_routes
from motet.interfaces.server.metrics.metrics_route import add_metrics
from motet.interfaces.server.metrics.server_metrics import ServerMetrics
from motet.interfaces.server.predictions.program import ForecastProgram
from motet.interfaces.server.predictions.routes import add_forecast_routes
from motet.interfaces.server.state_folder import open_state_folder, server_token
from motet.interfaces.server.web.changes import Changes
from motet.interfaces.server.web.routes import WebPages
from motet.interfaces.server_address import ADDRESS_FILE
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_state import JobState
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy
from motet.live.master.launcher_process import local_launcher
from motet.live.master.loop import MasterLoop
from motet.live.master.requests import TrainingProgram, Workplace
from motet.live.read_tables.read_tables import ReadTables

_SECRET_PREFIXES = ("MOTET_", "RAY_", "PGPASS")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})


@dataclass(frozen=True)
class ServerOptions:
    """`folder`: journal, token, logs and checkpoints. `port`: 0 is any free one. `policy`: None is
    the one that was in force before.

    `address`: of a Ray cluster; None: the machines of `cluster` are all this one. `lease_s`: how
    long processes run on when their machine hears nothing from the server. `drain_after`: failures
    of the infrastructure in a row that drain a machine; 0: none do. `has_open_metrics`: /metrics
    needs no token.
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


def serve(
    options: ServerOptions, on_ready: Callable[[str], None], on_end: Callable[[int], None]
) -> int:
    """Serve until SIGTERM or Ctrl-C; returns the exit status.

    `on_ready`: called with the URL; `on_end`: with the number of jobs that run on. Raises BadInput,
    JournalInUse.
    """
    folder = options.folder
    open_state_folder(folder)
    open_metrics = options.has_open_metrics
    access = Access(server_token(folder), _LOOPBACK, has_open_metrics=open_metrics)
    listener = _listener(options.port)
    workplace = Workplace(folder, _environment(), _training_program(), options.lease_s)
    failures: list[BaseException] = []

    def failed(error: BaseException) -> None:
        failures.append(error)
        server.should_exit = True
        changes.close()

    tables, changes, metrics = ReadTables(folder), Changes(), ServerMetrics()

    def follow(jobs: Sequence[LiveJob]) -> None:
        tables.follow(jobs)
        changes.changed()

    journal = options.database or str(folder / "journal.db")
    master = MasterLoop(
        journal,
        options.cluster,
        options.policy,
        workplace,
        _launcher(options),
        failed,
        options.drain_after,
        follow,
        [metrics],
    )
    user = getpass.getuser()
    app = create_app(master, workplace, access, user)
    add_accounting_routes(app, master)
    add_forecast_routes(app, ForecastProgram(journal), user)
    add_metrics(app, metrics)
    WebPages(master, tables, workplace, access.sessions, changes, user).add_to(app)
    config = uvicorn.Config(
        app,
        http=LimitedConnection,
        ws="none",
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=5,
    )

    def ended() -> None:
        if not failures:
            counts = tables.counts()
            on_end(sum(counts.get(each, 0) for each in (JobState.STARTING, JobState.RUNNING)))

    server = _Server(config, changes, ended)
    master.start()
    gc.freeze()  # Else a collection walks the whole history: 0.8 s for a million events.
    try:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        _tell_clients(folder, url)
        on_ready(url)
        server.run(sockets=[listener])
    finally:
        master.close()
        tables.close()
    if failures:
        raise failures[0]
    return 0


class _Server(uvicorn.Server):
    """Ends the streams of open pages before it waits for the ends of all requests."""

    def __init__(
        self,
        config: uvicorn.Config,
        changes: Changes,
        on_end: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._changes, self._on_end = changes, on_end

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn, which ends the process by the signal after this."""
        await super().shutdown(sockets)
        self._on_end()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """See uvicorn."""
        self._changes.close()
        super().handle_exit(sig, frame)


def _launcher(options: ServerOptions) -> tuple[str, ...]:
    if options.address is None:
        return local_launcher(options.folder)
    return ray_launcher(options.address, options.folder, options.lease_s)


def _listener(port: int) -> socket.socket:
    # asyncio sends small packets at once (TCP_NODELAY) only where the protocol is named.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()  # From now on clients wait in the queue instead of being refused.
    except OSError as error:
        raise BadInput(
            f"--port {port}: {error.strerror}; give another port, or 0 for a free one"
        ) from error
    return listener


def _tell_clients(folder: Path, url: str) -> None:
    """Commands of the same user find the server by this file."""
    temporary = folder / f".{ADDRESS_FILE}.{os.getpid()}"
    temporary.write_text(json.dumps({"url": url, "pid": os.getpid()}), encoding="utf-8")
    temporary.replace(folder / ADDRESS_FILE)


def _training_program() -> TrainingProgram:
    """With the Motet of this server, wherever the process starts."""
    home = str(Path(motet.__file__).parents[1])
    return TrainingProgram(
        (sys.executable, "-P", "-m", "motet.interfaces.training_gang"), {"PYTHONPATH": home}
    )


def _environment() -> dict[str, str]:
    """Variables of the server that jobs get: all but secrets, and Python's own."""
    python = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_SECRET_PREFIXES) and name not in python
    }
    return {**kept, "PYTHONUNBUFFERED": "1", "MOTET_PYTHON": sys.executable}
