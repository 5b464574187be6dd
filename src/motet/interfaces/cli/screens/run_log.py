"""The log of a run: lines with the time of day in its log file, and echoed elsewhere.

All methods that write raise JobFailed if the file cannot be written.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Self, TextIO

from motet.domain.errors import JobFailed, remedy_of_write

Echo = Callable[[str], None]


def no_echo(text: str) -> None:
    """An echo that drops the line."""


class RunLog:
    """`line` logs progress, which a live screen shows itself; `remark` logs notes for the user.

    Only `begin` opens the file, so that a refused command does not change the log of an earlier
    run. Earlier lines are kept until then.
    """

    def __init__(
        self, path: Path | None, echo: Echo = no_echo, echo_remark: Echo = no_echo
    ) -> None:
        self._path = path
        self._file: TextIO | None = None
        self._early: list[str] = []
        self._echo, self._echo_remark = echo, echo_remark

    def begin(self) -> None:
        """Open the file and append the lines so far; later lines are appended at once."""
        if self._path is not None:
            self._file = self._path.open("a", encoding="utf-8", buffering=1)
            for entry in self._early:
                self._write(entry)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        # The error of the run must not be replaced by that of a full disk.
        with nullcontext() if error is None else suppress(JobFailed, OSError):
            if error is not None:
                self._keep(f"failed: {error}")
            if self._file is not None:
                self._file.close()

    def line(self, text: str) -> None:
        """A step of the run."""
        self._keep(text)
        self._echo(text)

    def remark(self, text: str) -> None:
        """A note for the user."""
        self._keep(text)
        self._echo_remark(text)

    def _keep(self, text: str) -> None:
        entry = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n"
        if self._file is not None:
            self._write(entry)
        elif self._path is not None:
            self._early.append(entry)

    def _write(self, entry: str) -> None:
        assert self._file is not None
        try:
            self._file.write(entry)
        except OSError as error:
            raise JobFailed(
                f"{self._path}: cannot be written ({error.strerror or error}); "
                f"{remedy_of_write(error)} and go on with --resume"
            ) from error
