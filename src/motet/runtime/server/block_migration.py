"""The source's side of a move of model blocks.

    controller ── MOVE_BLOCKS ─▶ source ── LEARN_OWNERS ─▶ destination   queues from now on
                                 source    redirects from now on
                                 source ── TAKE_BLOCK ───▶ destination   several at once
    controller ◀────────── OK ── source    has freed the blocks
    controller ── LEARN_OWNERS ─▶ all executors

The ownership table is sent first, so a key is unavailable only while its own block is sent.
"""

from __future__ import annotations

from collections import deque

from motet.domain.errors import JobFailed
from motet.runtime.core.subtask import monotonic_us
from motet.runtime.server.block_transfer import BlockTransfer
from motet.runtime.server.shard import Shard
from motet.runtime.wire.control_messages import BlocksMoved, LearnOwners, MoveBlocks
from motet.runtime.wire.errors import StaleGeneration
from motet.runtime.wire.exchange import submit
from motet.runtime.wire.messages import ReplyStatus
from motet.runtime.wire.peers import ExecutorPeers
from motet.transport import Call

# However large a block and slow its link: the loss of an executor ends the wait at once.
MOVE_TIMEOUT_S = 4 * 3600.0
_BLOCKS_AT_ONCE = 4


def move_blocks(move: MoveBlocks, shard: Shard, peers: ExecutorPeers) -> BlocksMoved:
    """Hand blocks over and wait until they are at the destination; the bytes and the time.

    Waits for blocks that are on their way to this executor, and passes them on.
    """
    began_us, payload_bytes = monotonic_us(), 0
    destination = peers.connection(move.destination)
    _finish(submit(destination, LearnOwners(move.generation, move.table, move.ownership)))
    if not shard.await_blocks(move.blocks, MOVE_TIMEOUT_S):
        raise JobFailed(
            f"of the blocks {list(move.blocks[:5])}... that executor {move.destination} is to get "
            f"some did not come to their present owner within {MOVE_TIMEOUT_S:.0f} s"
        )
    under_way: deque[Call] = deque()
    for number, state in shard.hand_over(move.blocks, move.ownership):
        if len(under_way) == _BLOCKS_AT_ONCE:
            _finish(under_way.popleft())
        transfer = BlockTransfer(
            move.generation,
            move.table,
            number,
            move.ownership.version,
            state,
            shard.worker_clocks,
        )
        call = submit(destination, transfer)
        payload_bytes += call.payload_bytes
        under_way.append(call)
    for call in under_way:
        _finish(call)
    moved_us = monotonic_us() - began_us
    shard.settle()
    return BlocksMoved(payload_bytes, moved_us)


def _finish(call: Call) -> None:
    try:
        reply = call.wait(MOVE_TIMEOUT_S)
    except TimeoutError as error:
        raise JobFailed(f"a block did not arrive within {MOVE_TIMEOUT_S:.0f} s: {error}") from error
    if reply.status != ReplyStatus.OK:
        raise StaleGeneration("the job was reset while blocks moved")
