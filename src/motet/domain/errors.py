"""The error tree of Motet; the command line uses `exit_code` as its exit status::

    MotetError                 1    any error that Motet reports with a message
    ├── BadInput               2    a file, field, flag or value that is not accepted
    │   ├── BadArgument        2    the same in Python's estimators; also a ValueError
    │   └── UnknownName        2    an unknown name, with the nearest known ones
    ├── JobFailed              1    the job ran and did not succeed
    ├── NotFound               3    the requested object does not exist
    ├── AuthenticationFailed   4    the peer did not prove that it has the secret
    ├── Unreachable            5    no answer from an address
    │   └── ConnectionLost     5    an established connection broke
    └── Interrupted          130    the user pressed Ctrl-C

A message states the error, its place (`file:line`), the value, the limit, and the remedy::

    ratings.csv:17: rating is nan; ratings must be finite numbers
"""

from __future__ import annotations

import errno
import signal
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from enum import IntEnum
from typing import ClassVar

_SHORTEST_BEGINNING = 3
_SIGNAL_BASE = 128
_REMEDIES_OF_WRITES: Mapping[int, str] = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EACCES: "make it writable",
    errno.EPERM: "make it writable",
    errno.EROFS: "make it writable",
}


def signal_exit_code(number: int) -> int:
    """The code of an end by a signal, as shells report it."""
    return _SIGNAL_BASE + number


class ExitCode(IntEnum):
    """Exit codes of all commands, the one table; `meaning`: in words.

    Commands of jobs may end with any code; `motet wait --propagate-exit-code` passes it on.
    """

    meaning: str

    def __new__(cls, number: int, meaning: str) -> ExitCode:
        """An integer with its meaning."""
        code = int.__new__(cls, number)
        code._value_, code.meaning = number, meaning
        return code

    OK = 0, "success"
    FAILED = 1, "the job failed, or its result cannot be written (a full disk)"
    BAD_INPUT = 2, "usage or bad input: nothing was started"
    NOT_FOUND = 3, "not found: a job, a finished run"
    NOT_AUTHENTICATED = 4, "authentication failed"
    UNREACHABLE = 5, "no answer from an address, or a server that is about to end"
    TIMED_OUT = 124, "`motet wait --timeout`: the job has not ended"
    HUNG_UP = signal_exit_code(signal.SIGHUP), "ended by SIGHUP"
    INTERRUPTED = signal_exit_code(signal.SIGINT), "interrupted by Ctrl-C"
    CLOSED_PIPE = (
        signal_exit_code(signal.SIGPIPE),
        "the reader of the output has ended, as in `motet ... | head -1`; without a message",
    )
    TERMINATED = signal_exit_code(signal.SIGTERM), "ended by SIGTERM"


class MotetError(Exception):
    """Root of the tree; all errors that Motet raises deliberately derive from it."""

    exit_code: ClassVar[int] = ExitCode.FAILED


class BadInput(MotetError):
    """Input of the user is not accepted; no process was started and no machine allocated."""

    exit_code = ExitCode.BAD_INPUT


class BadArgument(BadInput, ValueError):
    """Data or a parameter of an estimator is not accepted, a ValueError as in scikit-learn."""


class UnknownName(BadInput):
    """`name` is no known `kind` ("app", "format", "parameter"); suggests similar names."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(sorted(known))
        super().__init__(f"unknown {kind} {name!r}{self.hint}")

    @property
    def hint(self) -> str:
        """The part of the message after the name."""
        return _suggestion(self.name, self.known)

    def __reduce__(self) -> tuple[type[UnknownName], tuple[str, str, tuple[str, ...]]]:
        return type(self), (self.kind, self.name, self.known)


class JobFailed(MotetError):
    """The job started and ended without success."""


class NotFound(MotetError):
    """The requested job, file or record does not exist."""

    exit_code = ExitCode.NOT_FOUND


class AuthenticationFailed(MotetError):
    """The two ends of a connection do not share the same secret."""

    exit_code = ExitCode.NOT_AUTHENTICATED


class Unreachable(MotetError):
    """The given address does not answer."""

    exit_code = ExitCode.UNREACHABLE


class ConnectionLost(Unreachable):
    """An established connection broke: the process or machine at its other end has ended."""


class Interrupted(MotetError):
    """The user stopped the command."""

    exit_code = ExitCode.INTERRUPTED


def remedy_of_write(error: OSError) -> str:
    """What makes a file or folder writable again, for a message that names it and the error."""
    return _REMEDIES_OF_WRITES.get(error.errno or 0, "remove the cause")


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most similar or has the same beginning, ignoring case; else None."""
    folded = {candidate.lower(): candidate for candidate in known}
    near = get_close_matches(name.lower(), folded, n=1)
    if not near and len(name) >= _SHORTEST_BEGINNING:
        near = [candidate for candidate in folded if candidate.startswith(name.lower())]
    return folded[near[0]] if near else None


def _suggestion(name: str, known: tuple[str, ...]) -> str:
    """The nearest known name, then all of them."""
    if not known:
        return "; none is known here"
    near = nearest_name(name, known)
    hint = f"; did you mean {near!r}?" if near else ";"
    return f"{hint} known: {', '.join(known)}"
