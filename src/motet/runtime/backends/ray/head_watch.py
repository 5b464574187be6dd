"""Whether the control processes of a Ray cluster answer: its GCS, and the raylet of this node.

Ray ends a process whose GCS has not answered for a minute, in the middle of whatever it does, and
waits as long for a raylet that is gone. A refused connection tells within seconds, and a request to
Ray that would not return is left to a thread of its own.
"""

from __future__ import annotations

import motet.runtime.backends.ray.environment  # noqa: F401

# isort: split
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from typing import TypeVar

import ray

from motet.runtime.backends.ray.listening import listens
from motet.runtime.controller.ports import ClusterLost
from motet.transport import Endpoint

T = TypeVar("T")

# A head that restarts (GCS fault tolerance) is silent for a moment.
PATIENCE_S = 5.0
RESUME = "continue with --resume (with --address, start the cluster first)"
_EVERY_S = 1.0


class HeadWatch:
    """Connects to each of them, at most once a second. Callable from any thread."""

    def __init__(
        self,
        addresses: Mapping[str, Endpoint],
        now_s: Callable[[], float] = time.monotonic,
        remedy: str = RESUME,
    ) -> None:
        """`addresses`: of the processes, by what they are called in messages. `remedy`: what ends
        the message of ClusterLost."""
        self._addresses = addresses
        self._now_s = now_s
        self._remedy = remedy
        self._lock = threading.Lock()
        self._looked_s = -_EVERY_S
        self._silent = ""
        self._silent_since_s = 0.0
        self._lost = ""

    @classmethod
    def of_this_driver(cls, remedy: str = RESUME) -> HeadWatch:
        """The GCS and the raylet that this process is connected to."""
        context = ray.get_runtime_context()
        host, _, port = context.gcs_address.rpartition(":")
        addresses = {"Ray's GCS": Endpoint(host, int(port))}
        own = context.get_node_id()
        for node in ray.nodes():
            if node["NodeID"] == own:
                raylet = Endpoint(node["NodeManagerAddress"], node["NodeManagerPort"])
                addresses["the raylet of this node"] = raylet
        return cls(addresses, remedy=remedy)

    def answers(self) -> bool:
        """Whether all answered when they were last asked. Raises ClusterLost after PATIENCE_S."""
        with self._lock:
            if not self._lost and self._now_s() - self._looked_s >= _EVERY_S:
                self._look()
            if self._silent and self._now_s() - self._silent_since_s >= PATIENCE_S:
                self._lost = self._silent
            if self._lost:
                raise ClusterLost(
                    f"{self._lost} does not answer any more: it was killed, or its host is gone; "
                    f"{self._remedy}"
                )
            return not self._silent

    def call(self, request: Callable[[], T]) -> T:
        """What a request to Ray returns. Raises what it raises, or ClusterLost."""
        self.answers()
        done = begun(request)
        while not wait([done], _EVERY_S).done:
            self.answers()
        return done.result()

    def _look(self) -> None:
        silent = next(
            (
                f"{what} at {endpoint.host}:{endpoint.port}"
                for what, endpoint in self._addresses.items()
                if not listens(endpoint.host, endpoint.port)
            ),
            "",
        )
        self._looked_s = self._now_s()
        if silent and not self._silent:
            self._silent_since_s = self._looked_s
        self._silent = silent


def begun(request: Callable[[], T]) -> Future[T]:
    """Make a request on a thread of its own, which does not keep the process from ending."""
    done: Future[T] = Future()
    threading.Thread(
        target=settle_future, args=(done, request), name="ray-call", daemon=True
    ).start()
    return done


def settle_future(done: Future[T], request: Callable[[], T]) -> None:
    """Make a request; its result or error is that of `done`."""
    try:
        done.set_result(request())
    except BaseException as error:
        done.set_exception(error)
