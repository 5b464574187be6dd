"""The lines of a run: into its log file with the time of day, and to whoever else listens."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Self, TextIO

Echo = Callable[[str], None]


def nowhere(text: str) -> None:
    """An echo that nobody hears."""


class RunLog:
    """`line`: progress, which a live screen shows in its own way; `remark`: for people to read.

    The file is touched by `begin` only, so that a command which is refused leaves no trace in the
    log of an earlier run. Lines that come before are kept until then.
    """

    def __init__(
        self, path: Path | None, echo: Echo = nowhere, echo_remark: Echo = nowhere
    ) -> None:
        self._path = path
        self._file: TextIO | None = None
        self._early: list[str] = []
        self._echo, self._echo_remark = echo, echo_remark

    def begin(self) -> None:
        """The run starts: append everything from here on, and what was said so far."""
        if self._path is not None:
            self._file = self._path.open("a", encoding="utf-8", buffering=1)
            self._file.writelines(self._early)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self._keep(f"failed: {error}")
        if self._file is not None:
            self._file.close()

    def line(self, text: str) -> None:
        """A step of the run."""
        self._keep(text)
        self._echo(text)

    def remark(self, text: str) -> None:
        """Something the user should know."""
        self._keep(text)
        self._echo_remark(text)

    def _keep(self, text: str) -> None:
        entry = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n"
        if self._file is not None:
            self._file.write(entry)
        elif self._path is not None:
            self._early.append(entry)
