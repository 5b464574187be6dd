"""Kinds of requests and statuses of replies between the processes of a job."""

from __future__ import annotations

from enum import IntEnum


class RequestKind(IntEnum):
    """Request kinds."""

    PULL = 1
    PUSH = 2
    UPDATE = 3
    PUT = 4
    REFRESH = 5
    EXCHANGE = 6
    LOAD_ROWS = 10
    READ_STATE = 11
    EPOCH_DONE = 20
    BATCH_DONE = 21
    WORK_PAUSED = 22
    MEET = 30
    LEARN_OWNERS = 31
    MOVE_BLOCKS = 32
    TAKE_BLOCK = 33
    HOLD = 34
    PAUSE_WORK = 35
    CHANGE_WORK = 36
    SET_WORKERS = 37
    DISMISS = 38
    SETTLE = 39
    PREPARE_WORK = 40
    ASK_WORK = 41
    RETURN_STATE = 42
    PING = 43
    REVIEW_SPILL = 44


TABLE_KINDS = (
    RequestKind.PULL,
    RequestKind.PUSH,
    RequestKind.UPDATE,
    RequestKind.PUT,
    RequestKind.REFRESH,
    RequestKind.EXCHANGE,
)


class ReplyStatus(IntEnum):
    """Reply statuses below the transport's own error statuses."""

    OK = 0
    MOVED = 1
    STALE = 2
