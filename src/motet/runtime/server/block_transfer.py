"""A block on its way from one owner to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from motet.runtime.server.block_state import BlockState
from motet.runtime.wire.control_messages import ControlRequest
from motet.runtime.wire.messages import RequestKind


@dataclass(frozen=True, eq=False)
class BlockTransfer(ControlRequest):
    """One block of one move; `version`: of the ownership table that the move made.

    `worker_clocks`: the mini-batches that each worker had finished at the source (SSP).
    """

    kind = RequestKind.TAKE_BLOCK
    table: int
    number: int
    version: int
    state: BlockState
    worker_clocks: Mapping[int, int]
