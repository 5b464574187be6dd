"""An `ExecutorCluster` of threads of this process, with real sockets between them."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace

from motet.runtime.controller.ports import ExecutorHandle, ExecutorLost, LaunchRequest, MachineGone
from motet.runtime.core.machine import Machine
from motet.runtime.core.table_spec import MODEL_TABLE
from motet.runtime.executor.executor import Executor
from motet.runtime.wire.assignment import Assignment, RunOutcome
from motet.runtime.worker.resources import DEFAULT_RESOURCES, WorkerResources
from motet.transport import Endpoint, Request

OnRequest = Callable[[int, int], None]


def _ignore(executor: int, kind: int) -> None:
    del executor, kind


class _Watched(Executor):
    """Tells of every request before it is handled."""

    def __init__(
        self, number: int, secret: bytes, on_request: OnRequest, resources: WorkerResources
    ) -> None:
        self._on_request = on_request
        super().__init__(number, secret, resources=resources)

    def _handle(self, request: Request) -> None:
        self._on_request(self.number, request.kind)
        super()._handle(request)


class InProcessExecutor:
    """An executor in this process; `crash` makes it look like a killed process."""

    def __init__(
        self, number: int, secret: bytes, on_request: OnRequest, resources: WorkerResources
    ) -> None:
        self.number = number
        self._executor = _Watched(number, secret, on_request, resources)
        self._on_end: Callable[[int, RunOutcome | None], None] | None = None
        self._thread: threading.Thread | None = None
        self._is_dead = False

    def endpoint(self) -> Endpoint:
        return self._executor.endpoint

    def configure(self, assignment: Assignment) -> None:
        self._check()
        self._executor.configure(copy.deepcopy(assignment))

    def run(self, on_end: Callable[[int, RunOutcome | None], None]) -> None:
        self._check()
        self._on_end = on_end
        self._thread = threading.Thread(
            target=self._run, args=(on_end,), name=f"executor-{self.number}"
        )
        self._thread.start()

    def abort(self) -> None:
        self._check()
        self._executor.abort()

    def kill(self) -> None:
        self._is_dead = True
        self._executor.close()
        if self._thread is not None:
            self._thread.join(timeout=100)
            assert not self._thread.is_alive(), f"executor {self.number} does not stop"

    def cpu_s(self) -> None:
        """One process runs all executors."""

    def crash(self) -> None:
        self._is_dead = True
        self._executor.close()
        assert self._on_end is not None
        self._on_end(self.number, None)

    @property
    def known_workers(self) -> set[int]:
        """Who keeps step, as far as its server knows."""
        assert self._executor._context is not None
        return set(self._executor._context.tables[MODEL_TABLE].worker_clocks)

    @property
    def is_dead(self) -> bool:
        return self._is_dead

    def end_late(self) -> None:
        """The end of its process, long over, becomes known only now."""
        assert self._is_dead
        assert self._on_end is not None
        self._on_end(self.number, None)

    def _run(self, on_end: Callable[[int, RunOutcome | None], None]) -> None:
        outcome = self._executor.run()
        if not self._is_dead:
            on_end(self.number, outcome)

    def _check(self) -> None:
        if self._is_dead:
            raise ExecutorLost(f"executor {self.number} is dead")


class InProcessCluster:
    """Machines 0..n-1, all of them here."""

    def __init__(
        self,
        machine_count: int,
        on_request: OnRequest = _ignore,
        resources: WorkerResources = DEFAULT_RESOURCES,
    ) -> None:
        """`on_request(executor, kind)` is called on the threads that serve requests.

        `resources`: of all executors.
        """
        self._on_request = on_request
        self._resources = resources
        self.machine_count = machine_count
        self.host = "127.0.0.1"
        self.executors: dict[int, InProcessExecutor] = {}
        self.launches: list[list[int]] = []
        self._machines = [Machine(number, f"m{number}") for number in range(machine_count)]

    def machines(self) -> tuple[Machine, ...]:
        return tuple(self._machines)

    def lose(self, number: int) -> None:
        """The machine goes, and its executor with it."""
        self._machines[number] = replace(self._machines[number], condition="gone")
        if number in self.executors:
            self.executors[number].crash()

    def give_notice(self, number: int, notice_s: float | None = None) -> None:
        """The machine will be taken away."""
        leaving = replace(self._machines[number], condition="leaving", notice_s=notice_s)
        self._machines[number] = leaving

    def gain(self, kind: str = "machine") -> Machine:
        """One more machine appears."""
        number = len(self._machines)
        self._machines.append(Machine(number, f"m{number}", kind))
        return self._machines[number]

    def exchange(self, leaving: int, kind: str) -> None:
        """One machine will be taken away and another appears, both in one observation."""
        machines = [*self._machines, Machine(len(self._machines), f"m{len(self._machines)}", kind)]
        machines[leaving] = replace(machines[leaving], condition="leaving")
        self._machines = machines

    def launch(self, request: LaunchRequest) -> Mapping[int, ExecutorHandle]:
        for number in request.machines:
            if self._machines[number].condition != "up":
                raise MachineGone(f"m{number} is {self._machines[number].condition}")
        new = {
            number: InProcessExecutor(number, request.secret, self._on_request, self._resources)
            for number in request.machines
        }
        self.launches.append(list(request.machines))
        self.executors |= new
        return dict(new)
