"""Messages on the socket between a template process and the process that started it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from motet.runtime.executor.shared_machine import SharedMachine

MAX_MESSAGE_BYTES = 1 << 12


class ExecutorStart(NamedTuple):
    """What an executor needs. `shared`: if other jobs use its machine, too; `host`: where it
    listens."""

    number: int
    secret: bytes
    shared: SharedMachine | None = None
    host: str = "127.0.0.1"


TemplateRequest = tuple[Literal["fork"], ExecutorStart] | tuple[Literal["preload"], str]
"""An executor, or an application as "module:Class"."""
TemplateAnswer = tuple[int, str]
"""To "fork": the number of the process, which comes with its pidfd; or 0 and why there is none."""
