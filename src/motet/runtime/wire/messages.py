"""What executors and the controller say to each other on the data plane.

A table request names the job's generation, the table, the blocks and the version of the ownership
table that the sender used; an executor that no longer owns a block answers MOVED with a newer
table.
"""

from __future__ import annotations

import json
import struct
from enum import IntEnum
from typing import Any

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.core.rows import Rows
from motet.runtime.wire.ownership import Ownership


class RequestKind(IntEnum):
    """Request kinds."""

    PULL = 1
    PUSH = 2
    UPDATE = 3
    PUT = 4
    LOAD_ROWS = 10
    READ_STATE = 11
    EPOCH_DONE = 20
    BATCH_DONE = 21
    MEET = 30
    LEARN_OWNERS = 31
    MOVE_BLOCKS = 32
    TAKE_BLOCK = 33
    HOLD = 34
    CHANGE_WORK = 36
    SET_WORKERS = 37
    DISMISS = 38
    SETTLE = 39
    PREPARE_WORK = 40
    ASK_WORK = 41
    RETURN_STATE = 42


class ReplyStatus(IntEnum):
    """Reply statuses below the transport's own error statuses."""

    OK = 0
    MOVED = 1
    STALE = 2


def encode_json(value: Any) -> bytes:
    """A small control message."""
    return json.dumps(value, separators=(",", ":")).encode()


def decode_json(data: bytes | memoryview) -> Any:
    """The inverse of `encode_json`."""
    return json.loads(bytes(data))


_GENERATION = struct.Struct("<I")


def encode_owners(generation: int, ownership: Ownership) -> bytes:
    """A LEARN_OWNERS' meta."""
    return _GENERATION.pack(generation) + ownership.encode()


def decode_owners(data: bytes | memoryview) -> tuple[int, Ownership]:
    """The inverse of `encode_owners`."""
    (generation,) = _GENERATION.unpack_from(data)
    return generation, Ownership.decode(bytes(data)[_GENERATION.size :])


def encode_rows(rows: Rows) -> tuple[list[dict[str, Any]], list[Array]]:
    """Descriptions and contiguous arrays of instances, ids first."""
    arrays = [("", rows.ids), *rows.arrays()]
    described = [
        {"name": name, "dtype": array.dtype.str, "shape": array.shape} for name, array in arrays
    ]
    return described, [np.ascontiguousarray(array) for _, array in arrays]


def decode_rows(described: list[dict[str, Any]], payload: memoryview) -> Rows:
    """The inverse of `encode_rows`; copies out of `payload`."""
    arrays: dict[str, Array] = {}
    offset = 0
    for entry in described:
        dtype = np.dtype(entry["dtype"])
        count = int(np.prod(entry["shape"], dtype=np.int64))
        array = np.frombuffer(payload, dtype, count, offset).reshape(entry["shape"]).copy()
        arrays[entry["name"]] = array
        offset += array.nbytes
    return Rows.from_arrays(arrays.pop(""), arrays)


FROM_THE_START = -1
