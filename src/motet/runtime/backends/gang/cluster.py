"""The processes of a gang as a cluster: every member is a machine for one executor."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from motet.domain.errors import JobFailed
from motet.runtime.backends.gang.executors import GangExecutor
from motet.runtime.backends.gang.meeting_place import ControllerAddress, MeetingPlace
from motet.runtime.backends.gang.messages import GangRequest, Join, Part
from motet.runtime.controller.ports import (
    ExecutorHandle,
    ExecutorLost,
    LaunchGivenUp,
    LaunchRequest,
)
from motet.runtime.core.machine import Machine
from motet.runtime.executor.pickling import pickle_by_value
from motet.runtime.wire.codec import decode
from motet.runtime.wire.errors import BadMessage
from motet.runtime.wire.exchange import answer
from motet.transport import Call, Request, Server, new_secret

_LOOK_EVERY_S = 0.1
_START_TIMEOUT_S = 180.0
_CLOSE_TIMEOUT_S = 5.0
_CLOSE_LOOK_S = 0.01


class _Joined:
    """An executor process that has joined; its request is answered when it is to end."""

    def __init__(self, message: Join, request: Request) -> None:
        self.message, self.request = message, request

    def part(self, reason: Part) -> None:
        if not self.request.is_answered:
            answer(self.request, reason)

    def kill(self) -> None:
        """Kill a process of this host, which may be stopped and read no answer."""
        if self.message.endpoint.is_here and self.request.is_connected:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.message.process_id, signal.SIGKILL)


class GangCluster:
    """An `ExecutorCluster` of members that announce themselves; a context manager that ends them.

    A member whose executor process has died joins again with the next one. The loss of a member
    itself is left to the program that started the members. A member hosts one executor at a time.
    """

    def __init__(self, folder: Path, members: int, host: str = "127.0.0.1") -> None:
        """`folder`: where the members of this gang meet, and no other. Raises BadInput."""
        self._machines = tuple(Machine(number, f"member {number}") for number in range(members))
        self._host, self._secret = host, new_secret()
        self._changed = threading.Condition()
        self._idle: dict[int, _Joined] = {}
        self._busy: dict[int, _Joined] = {}
        self._parting: list[Request] = []
        self._is_closed = False
        self._server = Server(self._handle, self._secret, host=host)
        self._place = MeetingPlace(folder)
        self._place.open(ControllerAddress(self._server.endpoint, self._secret))

    @property
    def machine_count(self) -> int:
        """How many members there are."""
        return len(self._machines)

    @property
    def host(self) -> str:
        """The address of this process."""
        return self._host

    def machines(self) -> Sequence[Machine]:
        """All members by number."""
        return self._machines

    def launch(self, request: LaunchRequest) -> Mapping[int, ExecutorHandle]:
        """See ExecutorCluster."""
        pickle_by_value(request.app)
        deadline_s = time.monotonic() + _START_TIMEOUT_S
        started: list[GangExecutor] = []
        try:
            started.extend(self._take(each, request, deadline_s) for each in request.machines)
            calls = [executor.start(request.secret, request.app) for executor in started]
            for executor, call in zip(started, calls, strict=True):
                _await_start(executor, call, request, deadline_s)
        except BaseException:
            for executor in started:
                executor.kill()
            raise
        return {executor.number: executor for executor in started}

    def close(self) -> None:
        """End all members."""
        self._place.close()
        with self._changed:
            self._is_closed = True
            for joined in (*self._idle.values(), *self._busy.values()):
                self._part(joined, Part("ended"))
            self._idle.clear()
            self._busy.clear()
        _await_ends(self._parting)
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # -- members -----------------------------------------------------------------------------------

    def _handle(self, request: Request) -> None:
        if request.kind != GangRequest.JOIN:
            raise BadMessage(f"the controller of the gang: request kind {request.kind} is unknown")
        message = decode(Join, request.meta, request.payload)
        if not 0 <= message.number < self.machine_count:
            raise BadMessage(f"the gang has members 0 to {self.machine_count - 1}, not {message}")
        joined = _Joined(message, request)
        with self._changed:
            if self._is_closed:
                self._part(joined, Part("ended"))
                return
            busy = self._busy.get(message.number)
            if busy is not None and busy.message == message:  # It was sent again.
                busy.request = request
                return
            self._idle[message.number] = joined
            self._changed.notify_all()

    def _take(self, number: int, request: LaunchRequest, deadline_s: float) -> GangExecutor:
        """The executor of a member, once it has joined.

        Raises JobFailed, ExecutorLost or LaunchGivenUp.
        """
        with self._changed:
            while not self._has_idle(number):
                self._changed.wait(_LOOK_EVERY_S)
                _check(request, deadline_s)
            joined = self._busy[number] = self._idle.pop(number)
        dismiss = self._dismissal(number, joined)
        try:
            return GangExecutor(number, joined.message.endpoint, self._secret, dismiss)
        except ExecutorLost:
            dismiss()
            raise

    def _has_idle(self, number: int) -> bool:
        """Whether the member waits for an executor; one whose process has died does not."""
        joined = self._idle.get(number)
        if joined is not None and not joined.request.is_connected:
            del self._idle[number]
            return False
        return joined is not None

    def _dismissal(self, number: int, joined: _Joined) -> Callable[[], None]:
        def dismiss() -> None:
            with self._changed:
                if self._busy.get(number) is joined:
                    del self._busy[number]
                    self._part(joined, Part("dismissed"))
                    joined.kill()

        return dismiss

    def _part(self, joined: _Joined, reason: Part) -> None:
        self._parting.append(joined.request)
        joined.part(reason)


def _check(request: LaunchRequest, deadline_s: float) -> None:
    """Raises JobFailed or LaunchGivenUp."""
    if request.is_given_up():
        raise LaunchGivenUp
    if time.monotonic() > deadline_s:
        raise JobFailed(f"executors of {request.job} did not start within {_START_TIMEOUT_S:.0f} s")


def _await_start(
    executor: GangExecutor, call: Call, request: LaunchRequest, deadline_s: float
) -> None:
    """Raises JobFailed, ExecutorLost or LaunchGivenUp."""
    while True:
        try:
            executor.started(call, _LOOK_EVERY_S)
        except TimeoutError:
            _check(request, deadline_s)
        except ExecutorLost as error:
            raise ExecutorLost(f"an executor died while it started: {error}") from error
        except JobFailed as error:
            raise JobFailed(f"executors of {request.job} did not start: {error}") from error
        else:
            return


def _await_ends(parting: Sequence[Request]) -> None:
    """Members close their connections when they have the answer; a lost one has none to close."""
    deadline_s = time.monotonic() + _CLOSE_TIMEOUT_S
    while any(request.is_connected for request in parting) and time.monotonic() < deadline_s:
        time.sleep(_CLOSE_LOOK_S)
