"""Classes of failures, by exit status and the last lines of a log.

The classes are those that matter most in Philly's logs (Jeon et al., ATC 2019, section 4.2): errors
that every further attempt meets again, and failures of the infrastructure, which say nothing about
the job.
"""

from __future__ import annotations

import re
import signal as signals
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

_COMMAND_NOT_FOUND, _NOT_EXECUTABLE, _SIGNAL_BASE = 127, 126, 128
_LAST_LINES = 3
_LONGEST_LINE, _MORE = 200, " ..."


@dataclass(frozen=True)
class FailureRow:
    """A row of the table. `title`: a few words. `is_permanent`: the next attempt would fail in the
    same way. `is_infrastructure`: not by the job's own fault. `pattern`: of a line of the log."""

    title: str
    is_permanent: bool = False
    is_infrastructure: bool = False
    pattern: str = ""


class FailureClass(Enum):
    """The table. Classes with a pattern are tried in this order."""

    SYNTAX_ERROR = FailureRow(
        "syntax error", is_permanent=True, pattern=r"\b(Syntax|Indentation|Tab)Error\b|syntax error"
    )
    IMPORT_ERROR = FailureRow(
        "failed import", is_permanent=True, pattern=r"\b(ModuleNotFoundError|ImportError)\b"
    )
    NAN_LOSS = FailureRow(
        "loss not a number",
        is_permanent=True,
        pattern=r"\b(loss|gradients?|weights?)\b.*\b(nan|inf|non-?finite|not finite)\b"
        r"|_loss\b.*\b(nan|non-?finite|not finite)\b"
        r"|\b(nan|non-?finite) (loss|gradients?|weights?)\b|\breturned nan values\b",
    )
    OUT_OF_MEMORY = FailureRow(
        "out of memory",
        pattern=r"out of memory|\b\w*(OutOfMemory|Memory)Error\b|cannot allocate memory|bad_alloc",
    )
    MISSING_FILE = FailureRow(
        "missing file",
        is_permanent=True,
        pattern=r"\bFileNotFoundError\b|no such file or directory|can't open file",
    )
    NETWORK = FailureRow(
        "network failure",
        is_infrastructure=True,
        pattern=r"\bConnection\w*Error\b|connection (refused|reset|timed out|closed by peer)"
        r"|network is unreachable|no route to host|temporary failure in name resolution"
        r"|\bNCCL\b.*(timeout|timed out|remote process exited|connection)",
    )
    MISSING_COMMAND = FailureRow("command not found", is_permanent=True)
    KILLED = FailureRow("killed")
    TIME_LIMIT = FailureRow("time limit", is_permanent=True)
    LOST_MACHINE = FailureRow("lost machine", is_infrastructure=True)
    LOST_PROCESS = FailureRow("lost process", is_infrastructure=True)
    OTHER = FailureRow("error")

    @property
    def key(self) -> str:
        """The name in documents: "import_error"."""
        return self.name.lower()


@dataclass(frozen=True)
class Failure:
    """`evidence`: the line of the log that decided; empty: none."""

    kind: FailureClass
    evidence: str = ""


def classify(code: int | None, signal: int | None, log_tail: str) -> Failure:
    """The class of a process that has ended by itself. `log_tail`: the end of its log.

    Only the message of the last error decides, or the last lines where no line looks like one:
    earlier warnings would mislead. Of a program that has started the one that failed, such as
    torchrun, the error of the latter.
    """
    if signal == signals.SIGKILL or code == _SIGNAL_BASE + signals.SIGKILL:
        found = _by_log(log_tail)
        is_memory = found.kind is FailureClass.OUT_OF_MEMORY
        return found if is_memory else Failure(FailureClass.KILLED)
    found = _by_log(log_tail)
    if code in (_COMMAND_NOT_FOUND, _NOT_EXECUTABLE):
        return Failure(FailureClass.MISSING_COMMAND, found.evidence)
    return found


def _by_log(log_tail: str) -> Failure:
    lines = [line for line in map(_plain, log_tail.splitlines()) if line]
    errors = [line for line in lines if _ERROR_LINE.match(line)]
    errors = [line for line in errors if not _OF_A_CHILD.search(line)] or errors
    last = "" if not lines else lines[-1]
    for line in errors[-1:] or lines[: -_LAST_LINES - 1 : -1]:
        for kind in _patterns():
            if re.search(kind.value.pattern, line, re.IGNORECASE):
                return Failure(kind, _shortened(line))
    return Failure(FailureClass.OTHER, _shortened(errors[-1] if errors else last))


def _shortened(line: str) -> str:
    """A long line up to the end of a word (or of its room), with a mark that more followed."""
    if len(line) <= _LONGEST_LINE:
        return line
    kept = line[: _LONGEST_LINE - len(_MORE)]
    words = kept.rpartition(" ")[0]
    return f"{words if len(words) > _LONGEST_LINE // 2 else kept}{_MORE}"


_ERROR_LINE = re.compile(r"(\[\w+\]:? ?)*([A-Za-z_]\w*\.)*_?[A-Z]\w*(Error|Exception|Interrupt)\b")
"""The last line of a traceback of Python; torchrun and others put the rank before it."""
_OF_A_CHILD = re.compile(r"\b(ChildFailedError|CalledProcessError)\b")
"""What torchrun, accelerate and others raise when the program that they have started has failed."""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def _plain(line: str) -> str:
    """Without colours and control characters."""
    text = _ESCAPES.sub("", line)
    return "".join(char for char in text if char.isprintable()).strip()


def _patterns() -> Iterator[FailureClass]:
    return (kind for kind in FailureClass if kind.value.pattern)
