"""The lenders of a live cluster, one on each machine, and the file by which jobs find them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from motet.live.beside_jobs.launched_processes import (
    ENDPOINT_FILE,
    LaunchedProcesses,
    ProcessKind,
    ProcessTask,
)
from motet.live.launcher.messages import LauncherRequest
from motet.live.lent_memory.lender_line import LenderLine
from motet.remote_memory.device.lender_access import lenders_text
from motet.remote_memory.wire.memory_views import LenderView, LendingTerms
from motet.runtime.blas_threads import ONE_BLAS_THREAD
from motet.transport import Endpoint

_TOLD_AT_ONCE = 16
_ANSWERS_FOR_S = 0.25
_SILENT = "it has not answered yet"
_BETWEEN_STARTS_S = 5.0


@dataclass(frozen=True)
class LendingOptions:
    """In bytes. `most`: of each machine; None: all that is idle. `head_room`: of each machine, that
    stays free; None: an eighth. `quota`: of each job. `of_machines`: that share one computer."""

    slab: int
    most: int | None = None
    head_room: int | None = None
    quota: int | None = None
    of_machines: int = 1


@dataclass(frozen=True)
class LenderProgram:
    """`env`: variables of every lender. `lease_s`: how long they run on without a launcher."""

    env: Mapping[str, str]
    lease_s: float


@dataclass(frozen=True)
class ClusterFolder:
    """Of the memory of a cluster; only its user may enter it."""

    path: Path

    @property
    def secret(self) -> Path:
        """Of the lenders."""
        return self.path / "secret"

    @property
    def address(self) -> Path:
        """By which jobs find the lenders."""
        return self.path / "lenders.json"

    @property
    def lenders(self) -> Path:
        """Has a folder for each lender."""
        return self.path / "lenders"


@dataclass(frozen=True)
class LenderStatus:
    """`view`: None: it does not answer, and `failure` says why."""

    number: int
    machine: str
    view: LenderView | None
    failure: str


class ClusterLenders:
    """`processes` is safe for threads, the rest is used by one."""

    def __init__(
        self,
        folder: ClusterFolder,
        options: LendingOptions,
        program: LenderProgram,
        secret: bytes,
        send: Callable[[Sequence[LauncherRequest]], None],
    ) -> None:
        """With the lenders that a server before has started. `send`: see LaunchedProcesses."""
        self._folder, self._options, self._program = folder, options, program
        self._secret = secret
        kind = ProcessKind("lender", "Lender", folder.lenders, program.lease_s)
        self.processes = LaunchedProcesses(kind, send)
        self._lines: dict[int, LenderLine] = {}
        self._next_start_s: dict[str, float] = {}
        self._ports: dict[str, int] = {}
        self._written = ""
        self._asked: dict[int, Future[None]] = {}
        self._read = frozenset[int]()
        self._threads = ThreadPoolExecutor(_TOLD_AT_ONCE, "motet-lender-line")
        # Lenders that were silent before: they take a thread for seconds.
        self._retries = ThreadPoolExecutor(_TOLD_AT_ONCE, "motet-silent-lender")

    def use_machines(self, names: Collection[str]) -> None:
        """Every one of these machines has a lender, and no other one. Raises MotetError."""
        now_s, running = time.monotonic(), self.processes.machines()
        stopping = self.processes.stopping()
        for number, machine in running.items():
            if machine not in names and number not in stopping:
                self.processes.stop(number)
        for name in names:
            if name not in running.values() and now_s >= self._next_start_s.get(name, 0.0):
                self._next_start_s[name] = now_s + _BETWEEN_STARTS_S
                # Borrowers try the port of the lender before; if it is in use, a free one is next.
                task = self._task_on(name, self._ports.pop(name, 0))
                self.processes.start(self.processes.next_number(), task)

    def tell(self, terms_for: Callable[[str], LendingTerms]) -> bool:
        """Tell all lenders their terms, by machine; whether all have answered, or do not answer.

        False: some are waited for no longer, or were still to answer earlier terms. Those hear of
        the terms of a later call, once they have answered or were given up, and `status` has told
        their answer: a lender forgets accounts that it has told once it hears the next terms.
        """
        machines = self.processes.machines()
        self._use_lines(machines)
        late = {n: each for n, each in self._asked.items() if n not in self._read}
        asked, awaited = dict[int, Future[None]](), list[Future[None]]()
        for number, line in self._lines.items():
            if number in late:
                continue
            threads = self._retries if line.failure else self._threads
            terms = terms_for(machines.get(number, ""))
            asked[number] = threads.submit(line.tell, terms)
            if threads is self._threads:
                awaited.append(asked[number])
        wait(awaited, _ANSWERS_FOR_S)
        self._asked, self._read = late | asked, frozenset()
        return not late and all(each.done() for each in asked.values())

    def status(self) -> list[LenderStatus]:
        """Of all that have not ended, by number."""
        # Before the views are read: an answer that comes meanwhile is read the next time.
        self._read = frozenset(n for n, each in self._asked.items() if each.done())
        found = []
        for number, machine in self.processes.machines().items():
            line = self._lines.get(number)
            view = None if line is None else line.view
            failure = "it starts" if line is None else line.failure
            found.append(LenderStatus(number, machine, view, "" if view else failure or _SILENT))
        return found

    def close(self) -> None:
        """The lenders run on."""
        for line in self._lines.values():  # Ends what is waited for.
            line.end()
        self._threads.shutdown(cancel_futures=True)
        self._retries.shutdown(cancel_futures=True)

    def _use_lines(self, machines: Mapping[int, str]) -> None:
        endpoints = self.processes.endpoints()
        for number in [*self._lines]:
            if number not in endpoints:
                self._lines.pop(number).end()
                self._asked.pop(number, None)
        for number, text in endpoints.items():
            if number not in self._lines:
                self._lines[number] = LenderLine(Endpoint.decode(text), self._secret)
                if machine := machines.get(number):
                    self._ports[machine] = self._lines[number].endpoint.port
        stopping = self.processes.stopping()
        self._write([it.endpoint for n, it in self._lines.items() if n not in stopping])

    def _write(self, endpoints: Sequence[Endpoint]) -> None:
        """For the jobs, in one step."""
        text = lenders_text(self._options.slab, endpoints)
        if text != self._written:
            address = self._folder.address
            temporary = address.with_name(f".{address.name}.{os.getpid()}")
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(address)
            self._written = text

    def _task_on(self, machine: str, port: int) -> Callable[[Path], ProcessTask]:
        options = self._options
        numbers = {
            "--most": options.most,
            "--head-room": options.head_room,
            "--quota": options.quota,
            "--port": port,
        }
        given = [word for name, value in numbers.items() if value for word in (name, str(value))]

        def task(folder: Path) -> ProcessTask:
            argv = (
                *(sys.executable, "-P", "-m", "motet.live.lent_memory.lender_process"),
                *("--secret-file", str(self._folder.secret)),
                *("--endpoint-file", str(folder / ENDPOINT_FILE)),
                *("--slab", str(options.slab), "--of-machines", str(options.of_machines)),
                *given,
            )
            return ProcessTask(machine, argv, {**self._program.env, **ONE_BLAS_THREAD})

        return task
