"""The launcher as a child process of the master: started again whenever it ends."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from motet.domain.errors import BadInput
from motet.live.launcher.message_lines import message_line
from motet.live.launcher.messages import (
    LauncherRequest,
    MachineExamined,
    Report,
    StartAttempt,
    StopAttempt,
    parse_message,
)

_LOG = logging.getLogger("motet.launcher")


def local_launcher(folder: Path) -> tuple[str, ...]:
    """The launcher of this machine. `folder`: state of the server."""
    notices = folder / "launcher.sock"
    return (sys.executable, "-m", "motet.live.launcher.local", str(notices))


class LauncherProcess:
    """One run of the launcher. Reports arrive on a thread of their own."""

    def __init__(
        self,
        command: Sequence[str],
        epoch: int,
        on_report: Callable[[Report], None],
        on_end: Callable[[], None],
        on_examined: Callable[[MachineExamined], None],
    ) -> None:
        """`command`: of the launcher; its last argument is the epoch of the master.

        `on_examined`: hears what is not to be recorded.
        """
        self._process = subprocess.Popen(
            [*command, str(epoch)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            errors="backslashreplace",
            start_new_session=True,
        )
        self._on_report, self._on_end, self._on_examined = on_report, on_end, on_examined
        self._reader = threading.Thread(target=self._read, name="launcher", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def send(self, requests: Sequence[LauncherRequest]) -> None:
        """Hand over requests; those that a dead launcher misses are repeated to the next one."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            for request in requests:
                self._process.stdin.write(message_line(request) + "\n")
            self._process.stdin.flush()

    def close(self) -> None:
        """End the launcher; processes of jobs keep running."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._reader.join()

    def _read(self) -> None:
        """Deliver reports until the launcher ends.

        A line that is no report may have destroyed one: the launcher is ended then, and the next
        one reports everything again.
        """
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                if line.endswith("\n"):
                    self._deliver(line)
        except BadInput as error:
            _LOG.error("launcher_line_unknown", extra={"fields": {"reason": str(error)}})
            self._process.kill()
        self._process.wait()
        self._on_end()

    def _deliver(self, line: str) -> None:
        """Raises BadInput."""
        match parse_message(line):
            case MachineExamined() as examined:
                self._on_examined(examined)
            case StartAttempt() | StopAttempt():
                raise BadInput(f"not a report of the launcher: {line[:200]!r}")
            case report:
                self._on_report(report)
