"""Records: what arrives as it was sent opens, everything else does not."""

from __future__ import annotations

import copy
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.transport.sealing import (
    LENGTH_BYTES,
    OVERHEAD_BYTES,
    RECORD_BYTES,
    Opener,
    Sealer,
    Tampered,
)

KEY = bytes(range(32))


def sealed(sealer: Sealer, plaintext: bytes) -> bytearray:
    """Small records have a way of their own, which must give the same bytes."""
    twin = copy.copy(sealer)
    record = bytearray(len(plaintext) + OVERHEAD_BYTES)
    assert sealer.seal(plaintext, memoryview(record)) == len(record)
    assert twin.record(plaintext) == record
    return record


def opened(opener: Opener, record: bytearray) -> bytes:
    """Of a record at the beginning of a stream that goes on."""
    plaintext = bytearray(opener.plaintext_bytes(record, 0))
    stream = record + bytes(len(plaintext))
    end = len(plaintext) + OVERHEAD_BYTES
    opener.open(memoryview(stream)[LENGTH_BYTES:end], memoryview(plaintext))
    return bytes(plaintext)


@settings(max_examples=examples(50))
@given(st.lists(st.binary(max_size=200), max_size=6))
def test_records_open_in_the_order_in_which_they_were_sealed(texts: list[bytes]) -> None:
    sealer, opener = Sealer(KEY), Opener(KEY)
    assert [opened(opener, sealed(sealer, text)) for text in texts] == texts


def test_a_plaintext_is_not_visible_in_its_record() -> None:
    text = b"a row of somebody's data"
    first, second = (sealed(Sealer(KEY), text) for _ in range(2))
    assert text not in first
    assert first == second  # so keys must never be used for two connections
    sealer = Sealer(KEY)
    assert sealed(sealer, text) != sealed(sealer, text)


@pytest.mark.parametrize("byte", range(OVERHEAD_BYTES + 5))
def test_a_record_with_one_changed_bit_does_not_open(byte: int) -> None:
    record = sealed(Sealer(KEY), b"hello")
    for bit in range(8):
        changed = bytearray(record)
        changed[byte] ^= 1 << bit
        with pytest.raises(Tampered):
            opened(Opener(KEY), changed)


@settings(max_examples=examples(50))
@given(st.permutations(range(5)), st.data())
def test_moved_repeated_and_dropped_records_do_not_open(
    order: list[int], data: st.DataObject
) -> None:
    """Any sequence other than the one that was sent fails at its first difference."""
    sealer, opener = Sealer(KEY), Opener(KEY)
    records = [sealed(sealer, bytes([number])) for number in range(5)]
    kept = data.draw(st.lists(st.sampled_from(order), max_size=7))
    for place, number in enumerate(kept):
        if number != place:
            with pytest.raises(Tampered):
                opened(opener, records[number])
            return
        assert opened(opener, records[number]) == bytes([number])


def test_a_record_of_another_key_does_not_open() -> None:
    with pytest.raises(Tampered):
        opened(Opener(os.urandom(32)), sealed(Sealer(KEY), b"hello"))


def test_a_length_beyond_the_limit_is_refused_before_memory_is_taken() -> None:
    length = (RECORD_BYTES + 1).to_bytes(LENGTH_BYTES, "little")
    with pytest.raises(Tampered):
        Opener.plaintext_bytes(bytearray(length), 0)
