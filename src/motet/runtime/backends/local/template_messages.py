"""Messages on the socket between a template process and the process that started it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

MAX_MESSAGE_BYTES = 1 << 12


class ExecutorStart(NamedTuple):
    """What an executor needs. `arbiter`: the address of its machine's, if it shares the machine;
    `host`: where it listens."""

    number: int
    secret: bytes
    arbiter: Path | None = None
    host: str = "127.0.0.1"


TemplateRequest = tuple[Literal["fork"], ExecutorStart] | tuple[Literal["preload"], str]
"""An executor, or an application as "module:Class"."""
TemplateAnswer = tuple[int, str]
"""To "fork": the number of the process, which comes with its pidfd; or 0 and why there is none."""
