"""Requests between the controller and the executors of a job, and what is answered.

A request without an answer of its own is answered by its status alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from motet.runtime.core.reporting.reports import NO_REMOTE_USE, RemoteUse
from motet.runtime.core.rows import Rows
from motet.runtime.wire.messages import RequestKind
from motet.runtime.wire.ownership import Ownership, WorkChange
from motet.transport import Endpoint

FROM_THE_START = -1


@dataclass(frozen=True, eq=False)
class ControlRequest:
    """What every control request has; an executor of another generation answers STALE."""

    kind: ClassVar[RequestKind]
    generation: int


# -- data and state ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LoadRows(ControlRequest):
    """A data block. `occasion`: FROM_THE_START, or what the receiver awaits it for."""

    kind = RequestKind.LOAD_ROWS
    block: int
    occasion: int
    rows: Rows


@dataclass(frozen=True, eq=False)
class ReadState(ControlRequest):
    """The state columns of a worker's instances; answered by InstanceState."""

    kind = RequestKind.READ_STATE


@dataclass(frozen=True, eq=False)
class InstanceState:
    """Ids and state columns of a worker's instances."""

    rows: Rows


# -- executors -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Meet(ControlRequest):
    """Addresses of executors that have joined."""

    kind = RequestKind.MEET
    endpoints: Mapping[int, Endpoint]


@dataclass(frozen=True, eq=False)
class Dismiss(ControlRequest):
    """The executor ends; it has no role any more."""

    kind = RequestKind.DISMISS


@dataclass(frozen=True, eq=False)
class Ping(ControlRequest):
    """The executor answers as long as its process runs, also while it computes."""

    kind = RequestKind.PING


# -- model blocks --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LearnOwners(ControlRequest):
    """A newer ownership table of one table."""

    kind = RequestKind.LEARN_OWNERS
    table: int
    ownership: Ownership


@dataclass(frozen=True, eq=False)
class MoveBlocks(ControlRequest):
    """Hand blocks of a table over to `destination`, which owns them in `ownership`.

    Answered by BlocksMoved once they have arrived there.
    """

    kind = RequestKind.MOVE_BLOCKS
    table: int
    blocks: tuple[int, ...]
    destination: int
    ownership: Ownership


@dataclass(frozen=True, eq=False)
class BlocksMoved:
    """What a move took: bytes of the blocks, and microseconds until the last had arrived."""

    moved_bytes: int
    took_us: int


@dataclass(frozen=True, eq=False)
class Settle(ControlRequest):
    """Blocks of a table have come and gone: lay them side by side again."""

    kind = RequestKind.SETTLE
    table: int


@dataclass(frozen=True, eq=False)
class ReviewSpill(ControlRequest):
    """An epoch has ended; answered by SpillUse."""

    kind = RequestKind.REVIEW_SPILL


@dataclass(frozen=True, eq=False)
class SpillUse:
    """Bytes of the executor's blocks of the model that are on disk between their uses, microseconds
    for which requests read and wrote such blocks since the last review, and what all its spilled
    data have of the memory of other machines."""

    nbytes: int
    moved_us: int
    remote: RemoteUse = NO_REMOTE_USE


# -- changes of the workers and their data -------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PrepareWork(ControlRequest):
    """Change `number` will make `data` the owners of the data blocks: send copies ahead.

    Answered by WorkPrepared once the executor has the blocks that it will own.
    """

    kind = RequestKind.PREPARE_WORK
    number: int
    data: Ownership


@dataclass(frozen=True, eq=False)
class WorkPrepared:
    """Bytes of the blocks that were sent ahead."""

    sent_bytes: int


@dataclass(frozen=True, eq=False)
class Hold(ControlRequest):
    """Begin no mini-batch after the answer's, until change `number` is decided."""

    kind = RequestKind.HOLD
    number: int


@dataclass(frozen=True, eq=False)
class Held:
    """The first mini-batch that the worker will not begin."""

    clock: int


@dataclass(frozen=True, eq=False)
class PauseWork(ControlRequest):
    """Change `number` is the end of the work: begin no mini-batch from `clock` on."""

    kind = RequestKind.PAUSE_WORK
    number: int
    clock: int


@dataclass(frozen=True, eq=False)
class ChangeWork(ControlRequest):
    """The change is this one; answered by WorkChanged once it is carried out."""

    kind = RequestKind.CHANGE_WORK
    change: WorkChange


@dataclass(frozen=True, eq=False)
class WorkChanged:
    """How long the worker stood still for a change."""

    stall_us: int = 0


@dataclass(frozen=True, eq=False)
class SetWorkers(ControlRequest):
    """To servers: the present workers. New ones begin with mini-batch `clock` (SSP)."""

    kind = RequestKind.SET_WORKERS
    workers: tuple[int, ...]
    clock: int
