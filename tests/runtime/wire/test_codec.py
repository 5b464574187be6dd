"""Every message survives the wire; bytes that are no message give one kind of error."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.arrays import Array
from motet.runtime.executor.control_handlers import CONTROL_HANDLERS
from motet.runtime.wire import control_messages, stealing_messages, worker_reports
from motet.runtime.wire.codec import PROTOCOL_VERSION, decode, encode
from motet.runtime.wire.control_messages import (
    ControlRequest,
    Hold,
    LearnOwners,
    LoadRows,
    SetWorkers,
)
from motet.runtime.wire.errors import BadMessage
from motet.runtime.wire.messages import TABLE_KINDS, RequestKind
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.stealing_messages import AskWork
from motet.runtime.wire.worker_reports import BatchDone, EpochAnswer, EpochDone, WorkIsPaused
from wire_messages import MESSAGES, plain

KINDS = st.sampled_from(list(MESSAGES))


def joined(arrays: list[Array]) -> memoryview:
    return memoryview(b"".join(array.tobytes() for array in arrays))


def head(fields: Any, name: str = "Hold", version: int = PROTOCOL_VERSION) -> bytes:
    return json.dumps([version, name, fields]).encode()


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.__name__)
@settings(max_examples=examples(25))
@given(data=st.data())
def test_a_message_survives_the_wire(kind: type, data: st.DataObject) -> None:
    message = data.draw(MESSAGES[kind])
    meta, arrays = encode(message)
    assert plain(decode(kind, meta, joined(arrays))) == plain(message)


def decoded_or_refused(kind: type, meta: bytes, payload: bytes) -> None:
    refusal = ""
    try:
        message = decode(kind, meta, memoryview(payload))
    except BadMessage as error:
        refusal = str(error)
    assert (len(refusal.splitlines()) == 1 and len(refusal) < 400) or isinstance(message, kind)


@given(kind=KINDS, meta=st.binary(), payload=st.binary())
def test_any_bytes_give_a_message_or_the_one_error(kind: type, meta: bytes, payload: bytes) -> None:
    decoded_or_refused(kind, meta, payload)


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@st.composite
def damaged(draw: st.DrawFn, fields: Any) -> Any:
    """The fields with one value somewhere inside them replaced, added or removed."""
    if isinstance(fields, dict) and fields and draw(st.booleans()):
        key = draw(st.sampled_from(sorted(fields)))
        changed = dict(fields)
        changed[key] = draw(damaged(fields[key]))
        if draw(st.booleans()):
            del changed[key]
        return changed
    if isinstance(fields, list) and fields and draw(st.booleans()):
        place = draw(st.integers(0, len(fields) - 1))
        return [*fields[:place], draw(damaged(fields[place])), *fields[place + 1 :]]
    return draw(ANY_JSON)


@settings(max_examples=examples(300))
@given(kind=KINDS, data=st.data())
def test_a_message_with_a_damaged_field_gives_a_message_or_the_one_error(
    kind: type, data: st.DataObject
) -> None:
    meta, arrays = encode(data.draw(MESSAGES[kind]))
    version, name, fields = json.loads(meta)
    meta = head(data.draw(damaged(fields)), name, version)
    payload = bytearray(joined(arrays))
    del payload[data.draw(st.integers(0, len(payload))) :]
    decoded_or_refused(kind, meta, bytes(payload))


HOLD = {"generation": 1, "number": 2}
ROWS = {"generation": 1, "block": 2, "occasion": -1}


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        (b"", "no message"),
        (b"[" * 100_000, "no message"),
        (b"[1,2]", "no message with a version, a name and fields"),
        (head(HOLD, version=7), "protocol version 7, this process 1; all machines of a cluster"),
        (head(HOLD, name="Dismiss"), "'Dismiss' came where Hold is expected"),
        (head({**HOLD, "colour": "red"}), "Hold has no field 'colour'"),
        (head({"generation": 1}), "Hold lacks number"),
        (head({**HOLD, "number": "2"}), "Hold.number: '2' is not int"),
        (head({**HOLD, "number": True}), "Hold.number: True is not int"),
        (head({**HOLD, "number": 2.0}), "Hold.number: 2.0 is not int"),
        (head(None), "None is not Hold"),
    ],
)
def test_the_error_says_what_is_wrong_with_a_head(meta: bytes, message: str) -> None:
    with pytest.raises(BadMessage, match=message):
        decode(Hold, meta)


@pytest.mark.parametrize(
    ("rows", "payload_bytes", "message"),
    [
        ([["x", ["<f8", [1]]]], 8, "LoadRows.rows: instances without ids"),
        ([["", ["<i8", [2]]]], 8, r"ends at byte 16 of a payload of 8 bytes"),
        ([["", ["<i8", [1]]]], 9, "the payload has 9 bytes, its arrays 8"),
        ([["", ["|O", [1]]]], 8, "does not describe an array"),
        ([["", ["<i8", [-1]]]], 8, "does not describe an array"),
        ([["", ["<i8", [2**62, 0]]]], 0, "is no array"),
        ([["", ["<i8", [1]]], ["x", ["<i8", [2]]]], 24, "1 instances with a column 'x' of"),
        ([["", ["<i8", [1]]], ["x:offsets", ["<i8", [2]]]], 24, "with a column 'x:offsets'"),
    ],
)
def test_the_error_says_what_is_wrong_with_the_arrays(
    rows: Any, payload_bytes: int, message: str
) -> None:
    with pytest.raises(BadMessage, match=message):
        decode(LoadRows, head({**ROWS, "rows": rows}, "LoadRows"), memoryview(bytes(payload_bytes)))


def test_an_array_of_another_type_than_the_field_is_refused() -> None:
    fields = {"generation": 0, "table": 1, "ownership": {"version": 1, "owners": ["<f4", [1]]}}
    with pytest.raises(BadMessage, match="owners: an array of float32 stands where int32"):
        decode(LearnOwners, head(fields, "LearnOwners"), memoryview(bytes(4)))


def test_an_array_of_objects_is_not_sent() -> None:
    ownership = Ownership(1, np.array([{}], dtype=object))  # type: ignore[arg-type]
    with pytest.raises(BadMessage, match="an array of dtype object cannot be sent"):
        encode(LearnOwners(0, 1, ownership))


def test_a_whole_number_may_stand_for_a_float_and_numpy_numbers_for_pythons() -> None:
    message = SetWorkers(np.int64(1), (np.int32(4),), 2)  # type: ignore[arg-type]
    assert plain(decode(SetWorkers, encode(message)[0])) == plain(SetWorkers(1, (4,), 2))
    request = {"thief": 1, "session": "s", "number": 1, "clock": 1, "own_us": 5}
    fields = {"generation": 0, "request": {**request, "all_in_us": None, "ready_us": 1}}
    decoded = decode(AskWork, head(fields, "AskWork"))
    assert (decoded.request.own_us, type(decoded.request.own_us)) == (5.0, float)


def test_an_unknown_directive_is_refused() -> None:
    with pytest.raises(BadMessage, match="'pause' is none of continue, stop"):
        decode(EpochAnswer, head({"directive": "pause"}, "EpochAnswer"))


def test_every_kind_of_request_has_one_message_and_one_handler() -> None:
    """Table requests have a form of their own; reports go to the controller."""
    reports = {BatchDone.kind, EpochDone.kind, WorkIsPaused.kind}
    assert {*CONTROL_HANDLERS, *TABLE_KINDS, *reports} == set(RequestKind)


def test_every_message_of_the_wire_is_tested_here() -> None:
    modules = (control_messages, stealing_messages, worker_reports)
    declared = {
        found
        for module in modules
        for found in vars(module).values()
        if isinstance(found, type)
        and issubclass(found, ControlRequest)
        and found is not ControlRequest
    }
    assert declared <= set(MESSAGES)
