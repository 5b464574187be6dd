"""The executor: one process of one job on one machine, hosting a worker, a server or both.

It serves requests from its construction on; `configure` gives it its part of the job, `run`
trains. `backends` puts an `Executor` into a process.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TypeAlias

from motet.domain.errors import JobFailed, MotetError, Unreachable
from motet.runtime.client.remote_model import MOST_KEPT_BYTES
from motet.runtime.core.application import Application
from motet.runtime.executor.application_fault import describe_fault
from motet.runtime.executor.control_handlers import CONTROL_HANDLERS
from motet.runtime.executor.generation_context import GenerationContext
from motet.runtime.executor.train_loop import TrainLoop
from motet.runtime.wire.assignment import Assignment, RunOutcome
from motet.runtime.wire.errors import BadMessage, StaleGeneration
from motet.runtime.wire.messages import TABLE_KINDS, ReplyStatus
from motet.runtime.worker.resources import DEFAULT_RESOURCES, WorkerResources
from motet.transport import Arena, Endpoint, Request, Server, use_short_switch_interval

RequestHandler: TypeAlias = Callable[[GenerationContext | None, Request], None]


class Executor:
    """Hosts a worker and/or a server of one job."""

    def __init__(
        self,
        number: int,
        secret: bytes,
        host: str = "127.0.0.1",
        resources: WorkerResources = DEFAULT_RESOURCES,
    ) -> None:
        """`host`: where it listens; `resources`: of the worker that it may become."""
        use_short_switch_interval()
        self.number = number
        self._secret = secret
        self._resources = resources
        self._arena = Arena(large_bytes=MOST_KEPT_BYTES)
        self._context: GenerationContext | None = None
        self._handlers: dict[int, RequestHandler] = {
            **dict.fromkeys(TABLE_KINDS, self._handle_table),
            **{kind: handler.handle for kind, handler in CONTROL_HANDLERS.items()},
        }
        link = None if resources.link_use is None else resources.link_use.link
        self._server = Server(self._handle, secret, host=host, link=link)

    @property
    def endpoint(self) -> Endpoint:
        """Where this executor listens."""
        return self._server.endpoint

    # -- life-cycle ------------------------------------------------------------------------------

    def configure(self, assignment: Assignment) -> None:
        """Take part in a generation of the job; ends the generation before."""
        self.abort()
        self._context = GenerationContext(
            self.number, assignment, self._secret, self._arena, self._resources, self._handle
        )

    def warm_up(self, app: Application) -> None:
        """Compile the application's kernels before the clock starts."""
        app.warm_up()

    def run(self) -> RunOutcome:
        """Train as the assignment's worker, or serve, until the job ends this generation."""
        context = self._context
        if context is None:
            raise JobFailed(f"executor {self.number} has no assignment yet")
        try:
            self._train(context)
        except (Unreachable, StaleGeneration) as lost:
            return RunOutcome("aborted", str(lost))
        except MotetError as error:
            return RunOutcome("failed", str(error))
        except BaseException as error:  # An application may call sys.exit.
            detail = describe_fault(error, context.assignment.app)
            return RunOutcome("failed", detail, traceback.format_exc())
        return RunOutcome("finished")

    def abort(self) -> None:
        """End the present generation: its worker stops, its requests are refused."""
        if self._context is not None:
            self._context.end()

    def close(self) -> None:
        """Stop serving and free everything."""
        self.abort()
        self._server.close()
        self._arena.close()

    def _train(self, context: GenerationContext) -> None:
        """Train as long as this executor is a worker, and again when it becomes one."""
        clock: int | None = context.assignment.first_clock
        context.data.begin()
        if not context.is_worker:
            clock = context.step_gate.wait_for_work()
        while clock is not None:
            context.is_worker = True
            if TrainLoop(context, clock).run():
                return
            clock = context.step_gate.wait_for_work()

    # -- requests --------------------------------------------------------------------------------

    def _handle(self, request: Request) -> None:
        handler = self._handlers.get(request.kind)
        if handler is None:
            raise BadMessage(f"executor {self.number}: request kind {request.kind} is unknown")
        handler(self._context, request)

    def _handle_table(self, context: GenerationContext | None, request: Request) -> None:
        if context is None:
            request.reply(ReplyStatus.STALE)
            return
        try:
            context.tables.handle(request)
        except MotetError:
            raise
        except BaseException as error:
            raise JobFailed(describe_fault(error, context.assignment.app)) from error
