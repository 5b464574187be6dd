"""This machine as a cluster of logical machines: every executor is a process of its own.

A process that has imported everything is forked for every executor (`template`), so that executors
start within milliseconds and share the memory of what they have not changed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from motet.domain.errors import JobFailed
from motet.runtime.arbiter.arbiter_process import SUBTASK_LIMIT_S
from motet.runtime.backends.local.executors import LocalExecutor
from motet.runtime.backends.local.template_client import TemplateClient
from motet.runtime.backends.local.template_messages import ExecutorStart
from motet.runtime.backends.local.template_process import TemplateProcess
from motet.runtime.controller.ports import (
    ExecutorHandle,
    ExecutorLost,
    LaunchGivenUp,
    LaunchRequest,
)
from motet.runtime.core.machine import Machine
from motet.runtime.executor.pickling import pickle_by_value
from motet.runtime.executor.shared_machine import SharedMachine, job_label

_LOOK_EVERY_S = 0.1
_START_TIMEOUT_S = 180.0


class LocalCluster:
    """An `ExecutorCluster` on this machine; a context manager that ends all its processes."""

    def __init__(
        self,
        machines: int,
        template: TemplateProcess | None = None,
        *,
        interleaves: bool = False,
        cpu_tokens: int = 1,
        subtask_limit_s: float = SUBTASK_LIMIT_S,
    ) -> None:
        """`template`: one that was started before; the cluster ends it. `interleaves`: jobs take
        turns on every machine, subtask by subtask (`motet.runtime.arbiter`), `cpu_tokens` of them
        compute at a time, each for at most `subtask_limit_s` while others wait."""
        self._arbiters = TemporaryDirectory(prefix="motet-arbiters-") if interleaves else None
        self._machines = tuple(Machine(number, f"m{number}") for number in range(machines))
        self._cpu_tokens, self._subtask_limit_s = cpu_tokens, subtask_limit_s
        self._template = TemplateClient(template)

    @property
    def machine_count(self) -> int:
        """How many machines a job may use at a time."""
        return len(self._machines)

    @property
    def host(self) -> str:
        """This process's address: executors are reachable from loopback only."""
        return "127.0.0.1"

    @property
    def template_id(self) -> int:
        """The operating system's number of the process that starts executors."""
        return self._template.process_id

    def machines(self) -> Sequence[Machine]:
        """All machines by number."""
        return self._machines

    def preload(self, application: str) -> None:
        """See TemplateClient."""
        self._template.preload(application)

    def launch(self, request: LaunchRequest) -> Mapping[int, ExecutorHandle]:
        """See ExecutorCluster."""
        pickle_by_value(request.app)
        started: list[LocalExecutor] = []
        try:
            for number in request.machines:
                process = self._template.fork(
                    ExecutorStart(number, request.secret, self._shared(number, request)),
                    request.is_given_up,
                )
                started.append(LocalExecutor(number, process))
            _await_warm(started, request)
            return {executor.number: executor for executor in started if executor.endpoint()}
        except BaseException:
            for executor in started:
                executor.kill()
            raise

    def close(self) -> None:
        """End all executors."""
        self._template.close()
        if self._arbiters is not None:
            self._arbiters.cleanup()

    def _shared(self, machine: int, request: LaunchRequest) -> SharedMachine | None:
        if self._arbiters is None:
            return None
        return SharedMachine(
            Path(self._arbiters.name) / f"m{machine}",
            job_label(request.job, request.secret),
            self._cpu_tokens,
            self._subtask_limit_s,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _await_warm(executors: Sequence[LocalExecutor], request: LaunchRequest) -> None:
    """Raises JobFailed, ExecutorLost or LaunchGivenUp."""
    waiting: set[Future[None]] = {executor.warm_up(request.app) for executor in executors}
    deadline_s = time.monotonic() + _START_TIMEOUT_S
    while waiting:
        if time.monotonic() > deadline_s:
            raise JobFailed(
                f"executors of {request.job} did not start within {_START_TIMEOUT_S:.0f} s"
            )
        done, waiting = wait(waiting, _LOOK_EVERY_S, FIRST_EXCEPTION)
        for each in done:
            _check_warm(each, request)
        if request.is_given_up():
            raise LaunchGivenUp


def _check_warm(warm_up: Future[None], request: LaunchRequest) -> None:
    try:
        warm_up.result()
    except JobFailed as error:
        raise JobFailed(f"executors of {request.job} did not start: {error}") from error
    except ExecutorLost as error:
        raise ExecutorLost(f"an executor died while it started: {error}") from error
