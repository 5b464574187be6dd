"""From the options of the server to its pool of Aggregators."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

from motet.aggregation.master.processes.pool_folder import PoolFolder
from motet.aggregation.master.processes.pool_settings import PoolSettings
from motet.aggregation.wire.pool_views import PoolView
from motet.domain.errors import BadInput
from motet.interfaces.server.environment import job_environment, training_program
from motet.live.launcher.messages import LauncherRequest
from motet.live.master.requests import PoolAccess
from motet.live.shared_pool.cluster_launcher import AggregatorProgram
from motet.live.shared_pool.cluster_pool import ClusterPool, ClusterPoolOptions
from motet.transport import read_secret


@dataclass(frozen=True)
class PoolOfServer:
    """`settings`: of the pool; its host follows from the cluster. `queue_limits`: loss limits of
    jobs that name none, by queue."""

    settings: PoolSettings
    queue_limits: Mapping[str, float] = field(default_factory=dict)


def opened_pool(
    wanted: PoolOfServer,
    folder: Path,
    address: str | None,
    lease_s: float,
    send: Callable[[Sequence[LauncherRequest]], None],
    on_view: Callable[[PoolView, Mapping[str, int]], None],
) -> ClusterPool:
    """The pool, which has not started yet. `folder`: state of the server. `address`: of a Ray
    cluster; None: all machines are this one. `send`, `on_view`: see ClusterPool.

    Raises BadInput.
    """
    if find_spec("torch") is None:
        raise BadInput(
            "--aggregators: Aggregators need PyTorch, which is not installed; pip install "
            "'motet[torch]'"
        )
    program = AggregatorProgram({**job_environment(), **training_program().env}, lease_s)
    settings = replace(wanted.settings, host=_own_host(address))
    options = ClusterPoolOptions(settings, program, wanted.queue_limits)
    return ClusterPool(PoolFolder(folder / "aggregation"), options, send, on_view)


def access_of(pool: ClusterPool) -> PoolAccess:
    """What the environment of jobs follows from."""
    return PoolAccess(str(pool.folder.address), read_secret(pool.folder.pool_secret))


def _own_host(address: str | None) -> str:
    """The address at which machines of the cluster reach this one."""
    if address is None:
        return "127.0.0.1"
    host, _, port = address.rpartition(":")
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, int(port)))  # Sends nothing.
        return str(probe.getsockname()[0])
    return "127.0.0.1"
