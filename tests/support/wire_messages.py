"""Random messages of every kind, and their equality, for tests of the wire."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from motet.runtime.core.reporting.reports import RemoteUse
from motet.runtime.core.rows import Ragged, Rows
from motet.runtime.server.accumulator import Contribution, PartialSum
from motet.runtime.server.block_state import AppliedNumbers, BlockState
from motet.runtime.server.block_transfer import BlockTransfer
from motet.runtime.wire.control_messages import (
    BlocksMoved,
    ChangeWork,
    Dismiss,
    Held,
    Hold,
    InstanceState,
    LearnOwners,
    LoadRows,
    Meet,
    MoveBlocks,
    PauseWork,
    Ping,
    PrepareWork,
    ReadState,
    ReviewSpill,
    Settle,
    SetWorkers,
    SpillUse,
    WorkChanged,
    WorkPrepared,
)
from motet.runtime.wire.ownership import Ownership, WorkChange
from motet.runtime.wire.stealing_messages import (
    AskWork,
    OfferedRows,
    OfferedWork,
    ReturnState,
    StealRequest,
)
from motet.runtime.wire.worker_reports import BatchDone, EpochAnswer, EpochDone, WorkIsPaused
from motet.transport import Endpoint

NUMBERS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(allow_nan=False)
TUPLES = st.lists(NUMBERS, max_size=5).map(tuple)
NAMES = st.text(st.characters(exclude_characters=":"), min_size=1, max_size=5)
DTYPES = st.sampled_from(["<f8", "<f4", "<i4", "<u4", "|b1", "<i8", "<U3", "<c16"])
ARRAYS = DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_side=0, max_side=3)))
FLOAT_ARRAYS = hnp.arrays(np.float64, st.integers(0, 5))


def _fixed(count: int) -> st.SearchStrategy[Any]:
    shapes = st.tuples(st.just(count)) | st.tuples(st.just(count), st.integers(0, 3))
    return DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, shapes))


@st.composite
def _ragged(draw: st.DrawFn, count: int) -> Ragged:
    lengths = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Ragged(offsets, draw(hnp.arrays(np.int32, int(offsets[-1]))))


@st.composite
def row_sets(draw: st.DrawFn) -> Rows:
    """A few instances with fixed and ragged columns."""
    count = draw(st.integers(0, 4))
    columns = draw(st.dictionaries(NAMES, _fixed(count) | _ragged(count), max_size=3))
    return Rows(draw(hnp.arrays(np.int64, count)), columns)


OWNERSHIPS = st.builds(Ownership, st.integers(0, 2**40), hnp.arrays(np.int32, st.integers(0, 9)))
CONTRIBUTIONS = st.builds(
    Contribution,
    st.none() | ARRAYS,
    st.none() | hnp.arrays(np.uint32, st.integers(0, 3)),
    st.lists(FLOATS, max_size=3).map(tuple),
)
PARTIAL_SUMS = st.builds(
    PartialSum,
    st.none() | ARRAYS,
    NUMBERS,
    NUMBERS,
    st.lists(FLOATS, max_size=3).map(tuple),
    st.dictionaries(NUMBERS, CONTRIBUTIONS, max_size=3),
)
BLOCK_STATES = st.builds(
    BlockState,
    ARRAYS,
    NUMBERS,
    st.dictionaries(NUMBERS, st.builds(AppliedNumbers, NUMBERS, st.sets(NUMBERS)), max_size=3),
    st.dictionaries(NUMBERS, NUMBERS, max_size=3),
    PARTIAL_SUMS,
)
ENDPOINTS = st.builds(Endpoint, st.text(), NUMBERS, st.text(), st.text())
STEAL_REQUESTS = st.builds(
    StealRequest, NUMBERS, st.text(), NUMBERS, NUMBERS, FLOATS, st.none() | FLOATS, FLOATS
)
OFFERS = st.builds(OfferedRows, NUMBERS, row_sets(), st.booleans())
CHANGES = st.builds(WorkChange, NUMBERS, NUMBERS, TUPLES, OWNERSHIPS)

MESSAGES: Mapping[type, st.SearchStrategy[Any]] = {
    LoadRows: st.builds(LoadRows, NUMBERS, NUMBERS, NUMBERS, row_sets()),
    ReadState: st.builds(ReadState, NUMBERS),
    InstanceState: st.builds(InstanceState, row_sets()),
    Meet: st.builds(Meet, NUMBERS, st.dictionaries(NUMBERS, ENDPOINTS, max_size=3)),
    Ping: st.builds(Ping, NUMBERS),
    Dismiss: st.builds(Dismiss, NUMBERS),
    LearnOwners: st.builds(LearnOwners, NUMBERS, NUMBERS, OWNERSHIPS),
    MoveBlocks: st.builds(MoveBlocks, NUMBERS, NUMBERS, TUPLES, NUMBERS, OWNERSHIPS),
    BlocksMoved: st.builds(BlocksMoved, NUMBERS, NUMBERS),
    BlockTransfer: st.builds(
        BlockTransfer,
        NUMBERS,
        NUMBERS,
        NUMBERS,
        NUMBERS,
        BLOCK_STATES,
        st.dictionaries(NUMBERS, NUMBERS, max_size=3),
    ),
    Settle: st.builds(Settle, NUMBERS, NUMBERS),
    PrepareWork: st.builds(PrepareWork, NUMBERS, NUMBERS, OWNERSHIPS),
    WorkPrepared: st.builds(WorkPrepared, NUMBERS),
    Hold: st.builds(Hold, NUMBERS, NUMBERS),
    Held: st.builds(Held, NUMBERS),
    ChangeWork: st.builds(ChangeWork, NUMBERS, CHANGES),
    WorkChanged: st.builds(WorkChanged, NUMBERS),
    SetWorkers: st.builds(SetWorkers, NUMBERS, TUPLES, NUMBERS),
    AskWork: st.builds(AskWork, NUMBERS, STEAL_REQUESTS),
    OfferedWork: st.builds(OfferedWork, st.booleans(), st.none() | OFFERS),
    ReturnState: st.builds(ReturnState, NUMBERS, NUMBERS, NUMBERS, row_sets()),
    BatchDone: st.builds(
        BatchDone, NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.booleans(), FLOAT_ARRAYS
    ),
    WorkIsPaused: st.builds(WorkIsPaused, NUMBERS, NUMBERS, NUMBERS),
    PauseWork: st.builds(PauseWork, NUMBERS, NUMBERS, NUMBERS),
    EpochDone: st.builds(EpochDone, *[NUMBERS] * 9, sums=FLOAT_ARRAYS, batch_us=FLOAT_ARRAYS),
    ReviewSpill: st.builds(ReviewSpill, NUMBERS),
    SpillUse: st.builds(SpillUse, NUMBERS, NUMBERS, st.builds(RemoteUse, NUMBERS, NUMBERS)),
    EpochAnswer: st.builds(EpochAnswer, st.sampled_from(["continue", "stop"])),
}


def plain(value: Any) -> Any:
    """A message as nested lists that `==` compares, arrays by type, shape and bytes."""
    if isinstance(value, np.ndarray):
        return [value.dtype.str, value.shape, value.tobytes()]
    if isinstance(value, Mapping):
        return [[key, plain(entry)] for key, entry in value.items()]
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return [type(value), *[plain(getattr(value, field.name)) for field in fields]]
    return [type(value), value]
