"""Aggregators as processes of the live cluster: its launcher starts them beside the jobs.

Each is an attempt of one process under a shepherd, so it outlives server and launcher as jobs do,
and the next launcher finds it. Files in the folder of an Aggregator:

- `request.json`: the request that started it; it is there until the Aggregator has ended
- `endpoint.json`: where it listens, written by itself
- `rank-0/`: see `motet.live.shepherd`
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from signal import SIGKILL, SIGTERM

from motet.aggregation.master.processes.pool_folder import PoolFolder
from motet.domain.errors import MotetError, Unreachable
from motet.live.launcher.leftovers import MARK
from motet.live.launcher.message_lines import message_line
from motet.live.launcher.messages import (
    AttemptEnded,
    LauncherRequest,
    RankTask,
    Report,
    StartAttempt,
    StopAttempt,
    parse_message,
)
from motet.runtime.blas_threads import ONE_BLAS_THREAD

_NAME = "aggregator."
_GRACE_S = 10.0
_START_FOR_S, _LOOK_EVERY_S = 120.0, 0.05
_KEPT_FOLDERS = 20


@dataclass(frozen=True)
class AggregatorProgram:
    """`env`: variables of every Aggregator. `lease_s`: how long they run on without a launcher."""

    env: Mapping[str, str]
    lease_s: float


class ClusterLauncher:
    """Implements AggregatorLauncher. Thread-safe."""

    def __init__(
        self,
        folder: PoolFolder,
        program: AggregatorProgram,
        send: Callable[[Sequence[LauncherRequest]], None],
    ) -> None:
        """With the Aggregators that a server before has started. `send`: to the launcher of the
        cluster, if there is one now."""
        self._folder, self._program, self._send = folder, program, send
        self._changed = threading.Condition()
        self._machines: tuple[str, ...] = ()
        self._stopping: dict[int, StopAttempt] = {}
        self._requests = dict(sorted(self._found(), key=itemgetter(0)))

    def use_machines(self, names: Sequence[str]) -> None:
        """Machines that take new Aggregators from now on."""
        with self._changed:
            self._machines = tuple(names)
            self._changed.notify_all()

    def requests(self) -> list[LauncherRequest]:
        """Everything that a new launcher of the cluster has to do."""
        with self._changed:
            starts = list(self._requests.values())
            return [*starts, *self._stopping.values()]

    def take(self, report: Report) -> bool:
        """Hear a report of the cluster's launcher; returns whether it is about an Aggregator."""
        attempt = getattr(report, "attempt", "")
        if not attempt.startswith(_NAME):
            return False
        if isinstance(report, AttemptEnded):
            self._ended(int(attempt.removeprefix(_NAME)))
        return True

    def machine_of(self, number: int) -> str:
        """The machine of a process; empty: there is none."""
        request = self._requests.get(number)
        return "" if request is None else request.ranks[0].machine

    def numbers_on(self, machines: Collection[str]) -> list[int]:
        """Of the processes on these machines."""
        with self._changed:
            requests = self._requests.items()
            return [n for n, each in requests if each.ranks[0].machine in machines]

    # -- AggregatorLauncher ------------------------------------------------------------------------

    def start(self, number: int) -> str:
        """See AggregatorLauncher. On a machine with the fewest Aggregators."""
        with self._changed:
            request = self._requests.get(number)
            if request is None:
                request = self._new_request(number)
                self._requests[number] = request
                self._send([request])
        return self._awaited_endpoint(number)

    def stop(self, number: int) -> None:
        """See AggregatorLauncher; it may not have ended yet on return."""
        self._end(StopAttempt(f"{_NAME}{number}", SIGTERM, _GRACE_S), number)

    def kill(self, number: int) -> None:
        """See AggregatorLauncher."""
        self._end(StopAttempt(f"{_NAME}{number}", SIGKILL, 0.0), number)

    def await_end(self, number: int) -> None:
        """See AggregatorLauncher."""
        with self._changed:
            self._changed.wait_for(lambda: number not in self._requests)

    def running(self) -> Mapping[int, str]:
        """See AggregatorLauncher."""
        with self._changed:
            numbers = [*self._requests]
        found = {number: self._endpoint(number) for number in numbers}
        return {number: endpoint for number, endpoint in found.items() if endpoint}

    def _end(self, request: StopAttempt, number: int) -> None:
        with self._changed:
            if number in self._requests:
                self._stopping[number] = request
                self._send([request])

    # -- files -------------------------------------------------------------------------------------

    def _found(self) -> list[tuple[int, StartAttempt]]:
        found = []
        for path in self._folder.aggregators.glob("*/request.json"):
            request = parse_message(path.read_text(encoding="utf-8"))
            assert isinstance(request, StartAttempt)
            found.append((int(path.parent.name), request))
        return found

    def _new_request(self, number: int) -> StartAttempt:
        """Raises Unreachable: no machine takes it."""
        machine = self._chosen_machine()
        folder = self._place(number)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            request = self._request(number, folder, machine)
            (folder / "request.json").write_text(message_line(request), encoding="utf-8")
        except OSError as error:
            raise MotetError(f"{folder}: an Aggregator cannot start there: {error}") from error
        return request

    def _chosen_machine(self) -> str:
        used = [each.ranks[0].machine for each in self._requests.values()]
        if not self._machines:
            raise Unreachable("no machine of the cluster takes an Aggregator now")
        return min(self._machines, key=lambda name: (used.count(name), self._machines.index(name)))

    def _request(self, number: int, folder: Path, machine: str) -> StartAttempt:
        argv = (
            *(sys.executable, "-P", "-m", "motet.aggregation.aggregator"),
            *("--secret-file", str(self._folder.pool_secret)),
            *("--endpoint-file", str(folder / "endpoint.json")),
        )
        env = {**self._program.env, **ONE_BLAS_THREAD, MARK: str(folder), "MOTET_RANK": "0"}
        return StartAttempt(
            f"{_NAME}{number}",
            str(folder),
            (RankTask(machine, argv, str(folder), env),),
            SIGTERM,
            _GRACE_S,
            self._program.lease_s,
            takes_slots=False,
        )

    def _endpoint(self, number: int) -> str:
        """Empty: it does not listen yet."""
        with suppress(OSError):
            return (self._place(number) / "endpoint.json").read_text(encoding="utf-8").strip()
        return ""

    def _awaited_endpoint(self, number: int) -> str:
        """Raises Unreachable: it has ended, or says nothing."""
        until_s = time.monotonic() + _START_FOR_S
        while not (endpoint := self._endpoint(number)):
            with self._changed:
                self._changed.wait(_LOOK_EVERY_S)
                has_ended = number not in self._requests
            if has_ended or time.monotonic() > until_s:
                log = self._place(number) / "rank-0" / "log"
                raise Unreachable(f"Aggregator {number} does not start; see {log}")
        return endpoint

    def _ended(self, number: int) -> None:
        with suppress(OSError):
            (self._place(number) / "request.json").unlink(missing_ok=True)
            self._forget_old_folders()
        with self._changed:
            self._requests.pop(number, None)
            self._stopping.pop(number, None)
            self._changed.notify_all()

    def _forget_old_folders(self) -> None:
        """The logs of the latest Aggregators that have ended are kept."""
        ended = [
            path
            for path in self._folder.aggregators.iterdir()
            if path.name.isdecimal() and not (path / "request.json").exists()
        ]
        for path in sorted(ended, key=lambda each: int(each.name))[:-_KEPT_FOLDERS]:
            shutil.rmtree(path, ignore_errors=True)

    def _place(self, number: int) -> Path:
        return self._folder.aggregators / str(number)
