"""Kinds of requests to an Aggregator and statuses of its replies."""

from __future__ import annotations

from enum import IntEnum


class AggregatorRequest(IntEnum):
    """Request kinds: below 20 of Agents, below 40 of other Aggregators, the rest of pMaster."""

    REGISTER = 1
    PUT_VALUES = 2
    PUSH = 3
    FINISH = 4
    PULL = 5
    MEAN = 6
    READ_STATE = 7
    LOAD_STATE = 8
    BROADCAST = 9
    EXPECT = 20
    COPY = 21
    AWAIT_WORKERS = 22
    APPLY = 23
    KEEP_BROADCAST = 24
    AWAIT_COPY = 25
    DROP_REPLICA = 26
    OPEN_JOB = 40
    CLOSE_JOB = 41
    SET_WORKERS = 42
    SET_CYCLE = 43
    REPLICATE = 44
    PROMOTE = 45
    MOVE = 46
    MEASURE = 47
    FORGET_REPLICAS = 48


LAST_OF_AGENTS = 19
LAST_OF_PEERS = 39


class TensorStatus(IntEnum):
    """Reply statuses. MOVED: nothing was done; the meta has the locations of moved tensors. SEND:
    the joint copy is to be this worker's, which has to send it.
    """

    OK = 0
    MOVED = 1
    SEND = 2


class CopyStatus(IntEnum):
    """Reply statuses of a copy. AWAITED: workers had sent gradients of these tensors already."""

    IN_TIME = 0
    AWAITED = 1
