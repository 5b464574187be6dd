"""Real processes for tests: each in a session of its own, its descendants found by a marker."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from motet_forks import PipedMotet, fork_motet
from waiting import wait_until

MARKER = "MOTET_TEST_MARKER"
NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


class MarkedProcess:
    """A process whose descendants, wherever they went, are known by an environment variable."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._mark = uuid.uuid4().hex
        self.process = self._start(arguments, _environment(self._mark))

    def _start(
        self, arguments: Sequence[str], environment: dict[str, str]
    ) -> subprocess.Popen[str] | PipedMotet:
        return subprocess.Popen(
            arguments,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # A shell without job control starts background processes with SIGINT ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def first_line(self) -> str:
        """The next line of its stdout, without the newline."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def descendants(self) -> dict[int, str]:
        """Process ids and command lines of all living processes with this marker."""
        return _processes(self._mark)

    def kill_descendants(self) -> None:
        """End what is known to be left."""
        _kill(self.descendants())

    def wait_until(self, is_true: Callable[[], bool], timeout_s: float = 300.0) -> None:
        """Poll until the claim holds. Raises TimeoutError."""
        try:
            wait_until(is_true, timeout_s)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; alive: {self.descendants()}") from None

    def end(self, number: signal.Signals, timeout_s: float = 200.0) -> tuple[int, str, str]:
        """Send a signal; returns exit code, stdout and stderr."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=timeout_s)
        return self.process.returncode, out, err


class ForkedCommand(MarkedProcess):
    """A `motet` command that is a fork of a process with its modules.

    Its own environment is that of the other process, so it is known by its session.
    """

    process: PipedMotet

    def descendants(self) -> dict[int, str]:
        return _processes(self._mark, self.process.pid)

    def _start(self, arguments: Sequence[str], environment: dict[str, str]) -> PipedMotet:
        return PipedMotet(tuple(arguments), environment)


@dataclass(frozen=True)
class Ended:
    """What a finished command left: its exit code and output, and processes if it left any."""

    code: int
    out: str
    err: str
    left_running: dict[int, str]


def motet_process(*arguments: str | Path) -> MarkedProcess:
    """Start `motet ...`, as a fork of a process with its modules."""
    return ForkedCommand([*map(str, arguments)])


def new_motet_process(*arguments: str | Path, entering: Sequence[str] = ()) -> MarkedProcess:
    """Start `motet ...` as a user does: in a new interpreter, which imports its modules.

    `entering`: the beginning of the command line, such as `nsenter ... --`.
    """
    motet = (sys.executable, "-m", "motet.interfaces.cli")
    return MarkedProcess([*entering, *motet, *map(str, arguments)])


def run_motet(
    *arguments: str | Path, timeout_s: float = 280.0, variables: Mapping[str, str] = NO_VARIABLES
) -> Ended:
    """Run `motet ...` to its end, in a process that is a fork of one with its modules.

    `variables`: of its environment, beside those of this process.
    """
    mark = uuid.uuid4().hex
    environment = {**_environment(mark), **variables}
    with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
        outputs = Path(out.name), Path(err.name)
        running = fork_motet(tuple(map(str, arguments)), environment, *outputs)
        try:
            code = running.wait(timeout_s)
        finally:
            left_running = _processes(mark, running.pid)
            _kill(left_running)
        return Ended(code, *(path.read_text() for path in outputs), left_running)


def _environment(mark: str) -> dict[str, str]:
    return {**os.environ, MARKER: mark, "NO_COLOR": "1"}


def _processes(mark: str, session: int | None = None) -> dict[int, str]:
    """Process ids and command lines of what runs with a marker or in a session."""
    marker = f"{MARKER}={mark}".encode()
    return {
        int(folder.name): _read(folder / "cmdline").replace(b"\0", b" ").decode()
        for folder in Path("/proc").iterdir()
        if folder.name.isdigit()
        and (marker in _read(folder / "environ") or _session(folder) == session is not None)
    }


def _session(folder: Path) -> int | None:
    """The session of a process that still runs (proc(5): the fields follow the name)."""
    state, _, _, session, *_ = [*_read(folder / "stat").rpartition(b")")[2].split(), *[b""] * 4]
    return int(session) if session and state != b"Z" else None


def _kill(processes: dict[int, str]) -> None:
    for process_id in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process_id, signal.SIGKILL)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
