"""One executor as a Ray actor: the actor, and the handle to it."""

from __future__ import annotations

import motet.runtime.backends.ray.environment  # noqa: F401

# isort: split
import contextlib
import os
from collections.abc import Callable
from typing import Any

import ray
from ray.exceptions import RayActorError, RayTaskError

from motet.domain.errors import JobFailed
from motet.runtime.backends.ray.head_watch import HeadWatch
from motet.runtime.backends.ray.node_arbiter import on_node
from motet.runtime.backends.ray.reservations import Reservation
from motet.runtime.controller.ports import ExecutorLost
from motet.runtime.core.application import Application
from motet.runtime.executor.application_fault import one_line
from motet.runtime.executor.executor import Executor
from motet.runtime.executor.shared_machine import job_label, resources_beside_others
from motet.runtime.wire.assignment import Assignment, RunOutcome
from motet.transport import Endpoint

_CALL_TIMEOUT_S = 60.0


class ExecutorActor:
    """The actor around an `Executor`."""

    def __init__(self, number: int, job: str, secret: bytes, is_embedded: bool) -> None:
        """A cluster that is embedded has no other jobs."""
        host, shared = "127.0.0.1", None
        if not is_embedded:
            host = ray.util.get_node_ip_address()
            node = ray.get_runtime_context().get_node_id()
            shared = on_node(node, job_label(job, secret))
        self._executor = Executor(number, secret, host, resources_beside_others(shared))

    def endpoint(self) -> Endpoint:
        """Where the executor listens."""
        return self._executor.endpoint

    def warm_up(self, app: Application) -> None:
        """Compile the application's kernels."""
        self._executor.warm_up(app)

    def configure(self, assignment: Assignment) -> None:
        """See `Executor.configure`."""
        self._executor.configure(assignment)

    def run(self) -> RunOutcome:
        """See `Executor.run`."""
        return self._executor.run()

    def abort(self) -> None:
        """See `Executor.abort`."""
        self._executor.abort()

    def process_id(self) -> int:
        """The operating system's number of this process."""
        return os.getpid()


class RayExecutor:
    """`ExecutorHandle` over an actor."""

    def __init__(
        self,
        number: int,
        actor: Any,
        endpoint: Endpoint,
        place: Reservation,
        head: HeadWatch,
    ) -> None:
        self.number = number
        self._head = head
        self._place = place
        self._actor = actor
        self._endpoint = endpoint
        self._is_killed = False

    def endpoint(self) -> Endpoint:
        """Where it listens."""
        return self._endpoint

    def configure(self, assignment: Assignment) -> None:
        """Hand over an assignment."""
        self._call(lambda: self._actor.configure.remote(assignment))

    def run(self, on_end: Callable[[int, RunOutcome | None], None]) -> None:
        """Start the executor; `on_end` is called from a Ray thread."""
        future = self._actor.run.remote().future()

        def ended(done: Any) -> None:
            on_end(self.number, None if done.exception() is not None else done.result())

        future.add_done_callback(ended)

    def abort(self) -> None:
        """End the executor's generation."""
        self._call(self._actor.abort.remote)

    def process_id(self) -> int:
        """The operating system's number of the executor's process."""
        return int(self._call(self._actor.process_id.remote))

    def kill(self) -> None:
        """End the process; in a cluster that has ended it ends without the controller."""
        if self._is_killed:
            return
        self._is_killed = True
        with contextlib.suppress(Exception):
            self._head.call(self._end)

    def cpu_s(self) -> None:
        """Executors may run on other hosts."""

    def _end(self) -> None:
        end_actor(self._actor)
        self._place.leave(self.number)

    def _call(self, submit: Callable[[], Any]) -> Any:
        """The answer to a call. Raises JobFailed, ExecutorLost or ClusterLost."""
        if self._is_killed:  # Ray takes a while to end a process that is stopped.
            raise ExecutorLost(f"executor {self.number} was ended")
        try:
            return self._head.call(lambda: ray.get(submit(), timeout=_CALL_TIMEOUT_S))
        except RayTaskError as error:
            raise JobFailed(f"executor {self.number}: {brief(error)}") from error
        except (RayActorError, TimeoutError) as error:
            raise ExecutorLost(f"executor {self.number}: {brief(error)}") from error


def end_actor(actor: Any) -> None:
    """End an executor's process, also while it computes; never raises."""
    with contextlib.suppress(Exception):
        ray.kill(actor)


def brief(error: BaseException) -> str:
    """One line; of an exception in an executor its own message, without Ray's text around it."""
    if isinstance(error, RayTaskError) and isinstance(error.cause, BaseException):
        error = error.cause
    return one_line(error)
