from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.remote_memory.wire.memory_messages import (
    VERSION,
    BadMemoryMessage,
    CheckActivity,
    EvictionDone,
    EvictSlabs,
    FreeMem,
    MapSlab,
    MemoryMessageKind,
    MrInfo,
    QueryMem,
    ReportActivity,
    SlabKey,
)

SIZES = st.integers(0, 2**64 - 1)
KEYS = st.builds(SlabKey, st.binary(min_size=16, max_size=16), SIZES)
LISTS = st.lists(KEYS, max_size=5).map(tuple)
RATES = st.lists(st.tuples(KEYS, st.floats(0, 1e9)), max_size=5).map(tuple)
MESSAGES = st.one_of(
    st.builds(QueryMem, SIZES),
    st.builds(FreeMem, SIZES, SIZES),
    st.builds(MapSlab, SIZES),
    st.builds(MrInfo, st.binary(min_size=16, max_size=16), SIZES, SIZES),
    st.builds(CheckActivity, LISTS),
    st.builds(ReportActivity, RATES),
    st.builds(EvictSlabs, LISTS),
    st.builds(EvictionDone, LISTS),
)
TYPES = (
    *(QueryMem, FreeMem, MapSlab, MrInfo, CheckActivity, ReportActivity, EvictSlabs),
    EvictionDone,
)


@given(MESSAGES)
def test_every_message_arrives_as_it_was_sent(message: Any) -> None:
    assert type(message).decode(message.encode()) == message


def test_the_eight_types_of_the_chapter_have_a_message_each() -> None:
    names = {kind.name for kind in MemoryMessageKind if kind <= 8}
    assert {message.kind.name for message in TYPES} == names
    assert len(names) == 8


@given(st.binary(max_size=80), st.sampled_from(TYPES))
def test_other_bytes_are_refused(data: bytes, message: Any) -> None:
    try:
        found = message.decode(bytes([VERSION, message.kind]) + data)
    except BadMemoryMessage:
        return
    assert found.encode() == bytes([VERSION, message.kind]) + data


@given(MESSAGES, st.data())
def test_a_message_that_is_cut_off_is_refused(message: Any, data: st.DataObject) -> None:
    encoded = message.encode()
    length = data.draw(st.integers(0, len(encoded) - 1))
    with pytest.raises(BadMemoryMessage):
        type(message).decode(encoded[:length])


def test_another_version_is_refused_with_both_versions() -> None:
    data = bytes([VERSION + 1]) + QueryMem(5).encode()[1:]
    with pytest.raises(BadMemoryMessage, match=r"version 2 .* version 1; run the same version"):
        QueryMem.decode(data)


def test_another_kind_is_refused() -> None:
    with pytest.raises(BadMemoryMessage, match="QUERY_MEM: the message has the kind 3"):
        QueryMem.decode(MapSlab(5).encode())
