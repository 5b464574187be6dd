"""Processes of one kind that the launcher of a cluster runs beside the jobs.

Each is an attempt of one process under a shepherd, so it outlives server and launcher as jobs do,
and the next launcher finds it. Files in the folder of a process:

- `request.json`: the request that started it; it is there until the process has ended
- `endpoint.json`: where it listens, written by itself
- `rank-0/`: see `motet.live.shepherd`
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from signal import SIGKILL, SIGTERM

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

_GRACE_S = 10.0
_START_FOR_S, _LOOK_EVERY_S = 120.0, 0.05
_KEPT_FOLDERS = 20
ENDPOINT_FILE = "endpoint.json"
_REQUEST_FILE = "request.json"


@dataclass(frozen=True)
class ProcessKind:
    """`name`: of the kind, for ids of attempts. `title`: for messages. `folder`: has a folder for
    each process. `lease_s`: how long they run on without a launcher."""

    name: str
    title: str
    folder: Path
    lease_s: float


@dataclass(frozen=True)
class ProcessTask:
    """What a process runs, and where. `env`: its variables."""

    machine: str
    argv: tuple[str, ...]
    env: Mapping[str, str]


class LaunchedProcesses:
    """Thread-safe. Processes have numbers, and no number is used twice."""

    def __init__(
        self, kind: ProcessKind, send: Callable[[Sequence[LauncherRequest]], None]
    ) -> None:
        """With the processes that a server before has started. `send`: to the launcher of the
        cluster, if there is one now."""
        self._kind, self._send = kind, send
        self.changed = threading.Condition()
        self._stopping: dict[int, StopAttempt] = {}
        self._requests = dict(sorted(self._found(), key=itemgetter(0)))

    def requests(self) -> list[LauncherRequest]:
        """Everything that a new launcher of the cluster has to do."""
        with self.changed:
            starts = list(self._requests.values())
            return [*starts, *self._stopping.values()]

    def take(self, report: Report) -> bool:
        """Hear a report of the cluster's launcher; returns whether it is about such a process."""
        attempt, prefix = getattr(report, "attempt", ""), f"{self._kind.name}."
        if not attempt.startswith(prefix):
            return False
        if isinstance(report, AttemptEnded):
            self._ended(int(attempt.removeprefix(prefix)))
        return True

    def machines(self) -> Mapping[int, str]:
        """The machine of each process that has not ended."""
        with self.changed:
            return {number: it.ranks[0].machine for number, it in self._requests.items()}

    def machine_of(self, number: int) -> str:
        """The machine of a process; empty: there is none."""
        return self.machines().get(number, "")

    def numbers_on(self, machines: Collection[str]) -> list[int]:
        """Of the processes on these machines."""
        return [number for number, machine in self.machines().items() if machine in machines]

    def stopping(self) -> Collection[int]:
        """Processes that were told to end, and have not ended."""
        with self.changed:
            return [*self._stopping]

    def next_number(self) -> int:
        """Larger than all that are known."""
        with self.changed:
            known = [int(path.name) for path in self._folders()]
            return max([-1, *known, *self._requests]) + 1

    def start(self, number: int, task_of: Callable[[Path], ProcessTask]) -> None:
        """Start a process unless it runs; `task_of` its folder may raise MotetError."""
        with self.changed:
            if number in self._requests:
                return
            self._requests[number] = request = self._new_request(number, task_of)
            self._send([request])

    def stop(self, number: int) -> None:
        """It may not have ended yet on return."""
        self._end(StopAttempt(f"{self._kind.name}.{number}", SIGTERM, _GRACE_S), number)

    def kill(self, number: int) -> None:
        """The same, without grace."""
        self._end(StopAttempt(f"{self._kind.name}.{number}", SIGKILL, 0.0), number)

    def await_end(self, number: int) -> None:
        """Wait until the process has ended."""
        with self.changed:
            self.changed.wait_for(lambda: number not in self._requests)

    def endpoints(self) -> Mapping[int, str]:
        """Where those listen that do, as each has written it."""
        found = {number: self._endpoint(number) for number in self.machines()}
        return {number: endpoint for number, endpoint in found.items() if endpoint}

    def awaited_endpoint(self, number: int) -> str:
        """Raises Unreachable: it has ended, or says nothing."""
        until_s = time.monotonic() + _START_FOR_S
        while not (endpoint := self._endpoint(number)):
            with self.changed:
                self.changed.wait(_LOOK_EVERY_S)
                has_ended = number not in self._requests
            if has_ended or time.monotonic() > until_s:
                log = self._place(number) / "rank-0" / "log"
                raise Unreachable(f"{self._kind.title} {number} does not start; see {log}")
        return endpoint

    def _end(self, request: StopAttempt, number: int) -> None:
        with self.changed:
            if number in self._requests:
                self._stopping[number] = request
                self._send([request])

    # -- files -------------------------------------------------------------------------------------

    def _found(self) -> list[tuple[int, StartAttempt]]:
        found = []
        for path in self._kind.folder.glob(f"*/{_REQUEST_FILE}"):
            request = parse_message(path.read_text(encoding="utf-8"))
            assert isinstance(request, StartAttempt)
            found.append((int(path.parent.name), request))
        return found

    def _new_request(self, number: int, task_of: Callable[[Path], ProcessTask]) -> StartAttempt:
        folder = self._place(number)
        task = task_of(folder)
        request = StartAttempt(
            f"{self._kind.name}.{number}",
            str(folder),
            (
                RankTask(
                    task.machine,
                    task.argv,
                    str(folder),
                    {**task.env, MARK: str(folder), "MOTET_RANK": "0"},
                ),
            ),
            SIGTERM,
            _GRACE_S,
            self._kind.lease_s,
            takes_slots=False,
        )
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = folder / f".{_REQUEST_FILE}"  # A killed server leaves all of it, or none.
            temporary.write_text(message_line(request), encoding="utf-8")
            temporary.replace(folder / _REQUEST_FILE)
        except OSError as error:
            title = self._kind.title
            raise MotetError(f"{folder}: {title} {number} cannot start there: {error}") from error
        return request

    def _endpoint(self, number: int) -> str:
        """Empty: it does not listen yet."""
        with suppress(OSError):
            return (self._place(number) / ENDPOINT_FILE).read_text(encoding="utf-8").strip()
        return ""

    def _ended(self, number: int) -> None:
        with suppress(OSError):
            (self._place(number) / _REQUEST_FILE).unlink(missing_ok=True)
            self._forget_old_folders()
        with self.changed:
            self._requests.pop(number, None)
            self._stopping.pop(number, None)
            self.changed.notify_all()

    def _forget_old_folders(self) -> None:
        """The logs of the latest processes that have ended are kept."""
        ended = [path for path in self._folders() if not (path / _REQUEST_FILE).exists()]
        for path in sorted(ended, key=lambda each: int(each.name))[:-_KEPT_FOLDERS]:
            shutil.rmtree(path, ignore_errors=True)

    def _folders(self) -> list[Path]:
        return [path for path in self._kind.folder.glob("*") if path.name.isdecimal()]

    def _place(self, number: int) -> Path:
        return self._kind.folder / str(number)
