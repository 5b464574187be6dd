"""The one error tree of Motet; the command line turns `exit_code` into its exit status::

    MotetError                 1    anything Motet itself can explain to its user
    ├── BadInput               2    a file, field, flag or value that cannot be accepted
    │   └── UnknownName        2    a name nobody knows, with the nearest known ones
    ├── JobFailed              1    the job ran and did not succeed
    ├── NotFound               3    what was asked for does not exist
    ├── AuthenticationFailed   4    the other side could not prove that it knows the secret
    ├── Unreachable            5    nobody answers at an address
    │   └── ConnectionLost     5    somebody answered, then the connection broke
    └── Interrupted          130    the user pressed Ctrl-C

A message says what, where (`file:line`), the value, the limit, and how to mend it::

    ratings.csv:17: rating is nan; ratings must be finite numbers
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar

_SHORTEST_BEGINNING = 3


class MotetError(Exception):
    """Root of the tree: catch this to catch everything Motet raises on purpose."""

    exit_code: ClassVar[int] = 1


class BadInput(MotetError):
    """Something the user gave cannot be accepted; nothing was started and no machine taken."""

    exit_code = 2


class UnknownName(BadInput):
    """A `name` that is no known `kind` ("app", "format", "parameter"); suggests near ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(sorted(known))
        super().__init__(f"unknown {kind} {name!r}{self.hint}")

    @property
    def hint(self) -> str:
        """What follows the name in the message."""
        return _suggestion(self.name, self.known)

    def __reduce__(self) -> tuple[type[UnknownName], tuple[str, str, tuple[str, ...]]]:
        return type(self), (self.kind, self.name, self.known)


class JobFailed(MotetError):
    """The job was started and ended without success."""


class NotFound(MotetError):
    """The job, file or record that was asked for does not exist."""

    exit_code = 3


class AuthenticationFailed(MotetError):
    """The two ends of a connection do not share the same secret."""

    exit_code = 4


class Unreachable(MotetError):
    """Nobody answers at the given address."""

    exit_code = 5


class ConnectionLost(Unreachable):
    """A connection that worked has broken: the process or machine at its other end is gone."""


class Interrupted(MotetError):
    """The user stopped the command."""

    exit_code = 130


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Which known name was meant, if any is alike, or begins like it; case does not matter."""
    folded = {candidate.lower(): candidate for candidate in known}
    near = get_close_matches(name.lower(), folded, n=1)
    if not near and len(name) >= _SHORTEST_BEGINNING:
        near = [candidate for candidate in folded if candidate.startswith(name.lower())]
    return folded[near[0]] if near else None


def _suggestion(name: str, known: tuple[str, ...]) -> str:
    """The nearest known name, then all of them."""
    if not known:
        return "; none is known here"
    near = nearest(name, known)
    hint = f"; did you mean {near!r}?" if near else ";"
    return f"{hint} known: {', '.join(known)}"
