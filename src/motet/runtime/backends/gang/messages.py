"""Requests between the controller of a gang and the executor processes of its members."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from motet.transport import Endpoint


class GangRequest(IntEnum):
    """JOIN goes to the controller, the others to an executor process.

    Arguments and results of the latter are pickled: both ends have proved that they know the
    secret of the gang.
    """

    JOIN = 1
    START = 2
    CONFIGURE = 3
    RUN = 4
    ABORT = 5


@dataclass(frozen=True)
class Join:
    """Member `number` has the executor process `process_id`, which listens at `endpoint`.

    Answered by Part, when the process is to end.
    """

    number: int
    process_id: int
    endpoint: Endpoint


@dataclass(frozen=True)
class Part:
    """`dismissed`: the member starts another process. `ended`: the gang has ended."""

    reason: Literal["dismissed", "ended"]
