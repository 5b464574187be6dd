"""Requests between idle and late workers (`--stragglers help`), and what is answered."""

from __future__ import annotations

from dataclasses import dataclass

from motet.runtime.core.rows import Rows
from motet.runtime.wire.control_messages import ControlRequest
from motet.runtime.wire.messages import RequestKind


@dataclass(frozen=True)
class StealRequest:
    """An idle worker's request for instances of mini-batch `clock`.

    `session`: a new one whenever the thief becomes a worker; `number`: of its requests in it,
    ascending; `own_us`: its time per instance of its own; `all_in_us`: its recent time per instance
    of this victim, waiting included; `ready_us`: how long it is still busy.
    """

    thief: int
    session: str
    number: int
    clock: int
    own_us: float
    all_in_us: float | None = None
    ready_us: float = 0.0


@dataclass(frozen=True, eq=False)
class AskWork(ControlRequest):
    """An idle worker's request to a late one; answered by OfferedWork."""

    kind = RequestKind.ASK_WORK
    request: StealRequest


@dataclass(frozen=True, eq=False)
class OfferedRows:
    """Instances from `low` on of the asked worker's part; `has_more`: others may be had."""

    low: int
    rows: Rows
    has_more: bool


@dataclass(frozen=True, eq=False)
class OfferedWork:
    """`is_late`: whether to ask again in the next mini-batch; `offer` None: nothing to compute."""

    is_late: bool
    offer: OfferedRows | None


@dataclass(frozen=True, eq=False)
class ReturnState(ControlRequest):
    """The state columns of instances from `low` on, which another worker has computed."""

    kind = RequestKind.RETURN_STATE
    clock: int
    low: int
    state: Rows
