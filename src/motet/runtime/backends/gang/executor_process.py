"""The executor process of a member: joins the controller and answers its calls."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from motet.domain.errors import JobFailed, Unreachable
from motet.runtime.backends.gang.meeting_place import ControllerAddress, MeetingPlace
from motet.runtime.backends.gang.member import CONTROLLER_LOST, DISMISSED, ENDED
from motet.runtime.backends.gang.messages import GangRequest, Join, Part
from motet.runtime.core.application import Application
from motet.runtime.core.process_memory import resident_bytes
from motet.runtime.executor.application_fault import one_line
from motet.runtime.executor.executor import Executor
from motet.runtime.executor.pickling import pickled
from motet.runtime.executor.process_control import die_with_parent, set_process_name
from motet.runtime.executor.shared_machine import SharedMachine, resources_beside_others
from motet.runtime.wire.assignment import Assignment, RunOutcome
from motet.runtime.wire.codec import decode, encode
from motet.runtime.wire.errors import BadMessage
from motet.transport import Connection, Endpoint, Request, Server

_RETRY_FOR_S, _FIRST_ANSWER_S = 2.0, 120.0
"""The first process of the gang loads data and compiles when its members join: on a busy machine
its answer comes late. One that has died refuses, and the gang is then ended from outside."""


class _Calls:
    """Carries out the controller's calls, each on a thread of its own: an abort ends a run."""

    def __init__(self, number: int, host: str, shared: SharedMachine | None) -> None:
        self._number, self._host, self._shared = number, host, shared
        self._executor: Executor | None = None
        self._methods: dict[int, Callable[..., Any]] = {
            GangRequest.START: self._start,
            GangRequest.CONFIGURE: self._configure,
            GangRequest.RUN: self._run,
            GangRequest.ABORT: self._abort,
        }

    def handle(self, request: Request) -> None:
        """Begin a call."""
        if request.kind not in self._methods:
            raise BadMessage(f"member {self._number}: request kind {request.kind} is unknown")
        arguments = pickle.loads(request.detach_payload())
        threading.Thread(target=self._carry_out, args=(request, arguments), daemon=True).start()

    def _carry_out(self, request: Request, arguments: tuple[Any, ...]) -> None:
        try:
            result = self._methods[request.kind](*arguments)
        except BaseException as error:  # An application may call sys.exit.
            request.fail(JobFailed(one_line(error)))
        else:
            request.reply(buffers=[pickled(result)])

    def _start(self, secret: bytes, app: Application) -> Endpoint:
        set_process_name("motet-executor")
        # The parent is the member, or the controller with all of the input.
        both = partial(resident_bytes, (os.getpid(), os.getppid()))
        resources = replace(resources_beside_others(self._shared), memory_bytes=both)
        self._executor = Executor(self._number, secret, self._host, resources)
        self._executor.warm_up(app)
        return self._executor.endpoint

    def _configure(self, assignment: Assignment) -> None:
        self._started.configure(assignment)

    def _run(self) -> RunOutcome:
        return self._started.run()

    def _abort(self) -> None:
        self._started.abort()

    @property
    def _started(self) -> Executor:
        if self._executor is None:
            raise JobFailed(f"the executor of member {self._number} has not been started")
        return self._executor


def serve_member(
    folder: Path, number: int, host: str = "127.0.0.1", shared: SharedMachine | None = None
) -> int:
    """Join the controller that announces itself in `folder`; returns why this process ends.

    `host`: the address at which others reach this process. `shared`: with executors of other jobs.
    """
    address = MeetingPlace(folder).await_controller()
    if address is None:
        return ENDED
    server = Server(_Calls(number, host, shared).handle, address.secret, host=host)
    try:
        reason = _joined(address, Join(number, os.getpid(), server.endpoint)).reason
    except Unreachable:
        return CONTROLLER_LOST
    return ENDED if reason == "ended" else DISMISSED


def _joined(address: ControllerAddress, message: Join) -> Part:
    """Wait for the answer, which comes at the end. Raises Unreachable."""
    with Connection(
        address.endpoint,
        address.secret,
        retry_for_s=_RETRY_FOR_S,
        first_answer_s=_FIRST_ANSWER_S,
    ) as controller:
        head, _ = encode(message)
        reply = controller.request(GangRequest.JOIN, head)
        return decode(Part, reply.meta, reply.payload)


def run_executor_process() -> None:
    """Arguments: the folder of the gang; the number of the member, its process and its address; the
    arbiter of its machine and the name of its job, if it shares the machine.

    Does not return.
    """
    die_with_parent(int(sys.argv[3]))
    set_process_name("motet-member")
    status = 1
    try:
        folder, number, _, host, *sharing = sys.argv[1:]
        shared = SharedMachine(Path(sharing[0]), sharing[1]) if sharing else None
        status = serve_member(Path(folder), int(number), host, shared)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)  # Threads of a run that was aborted may still compute.


if __name__ == "__main__":
    run_executor_process()
