"""What Motet takes from Ray's private modules: Ray 2.60 has no public way to it."""

from __future__ import annotations

import motet.runtime.backends.ray.environment  # noqa: F401

# isort: split
import time
from collections.abc import Mapping

from ray._private import node as ray_node
from ray._private import ray_constants
from ray._private import state as ray_state
from ray._private import worker as ray_worker
from ray._raylet import (  # type: ignore[attr-defined]
    AuthenticationTokenLoader,
    Config,
    wait_for_persisted_port,
)

_STEP_MS = 50


def listen_on_loopback_only(is_alone: bool) -> None:
    """Whether a Ray that is started here next binds loopback instead of every interface.

    The public way, RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER, is read once, at Ray's import, and would
    also hold for clusters that are joined; `ray.init` replaces a loopback address by another one.
    """
    ray_constants.ENABLE_RAY_CLUSTER = not is_alone


def drop_error_messages() -> None:
    """Ray prints a paragraph for every dead worker, whatever its log level and `log_to_driver`.

    The job reports deaths itself.
    """
    ray_worker.print_to_stdstream = lambda *_, **__: None


def wait_for_ports_in_steps() -> None:
    """Ray waits for its GCS to listen in one call, in which no other thread of a process runs."""
    ray_node.wait_for_persisted_port = _persisted_port  # type: ignore[attr-defined]


def _persisted_port(session: str, node: str, process: str, *, timeout_ms: int) -> int:
    deadline_s = time.monotonic() + timeout_ms / 1000
    while True:
        try:
            return int(wait_for_persisted_port(session, node, process, timeout_ms=_STEP_MS))
        except RuntimeError:
            if time.monotonic() >= deadline_s:
                raise


def drain_deadlines_ms() -> Mapping[str, int]:
    """The nodes that are being drained, and when that ends (0: no deadline), Unix time.

    `ray.nodes()` and `ray.util.state.list_nodes()` do not say it; the latter needs a dashboard.
    """
    deadlines: Mapping[str, int] = ray_state.state.get_draining_nodes()
    return deadlines


def free_cpus() -> Mapping[str, float]:
    """CPUs that are not in use, by node; `ray.available_resources()` has only their sum."""
    free = ray_state.available_resources_per_node()
    return {node: resources.get("CPU", 0.0) for node, resources in free.items()}


def reload_authentication() -> None:
    """Make Ray read RAY_AUTH_MODE and the token anew; it reads both once, early."""
    Config.initialize("")
    AuthenticationTokenLoader.instance().reset_cache()
