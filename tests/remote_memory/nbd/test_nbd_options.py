from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.remote_memory.nbd.nbd_options import NbdExport, NbdNextStep, answer_option

EXPORT = NbdExport("swap", 1 << 30)
GO, INFO, EXPORT_NAME, ABORT, LIST, STARTTLS, STRUCTURED = 7, 6, 1, 2, 3, 5, 8


def kinds(answer: bytes) -> list[int]:
    """The kinds of all replies in an answer, each of which is complete."""
    found = []
    while answer:
        magic, _, kind, length = struct.unpack_from(">QIII", answer)
        assert magic == 0x3E889045565A9
        assert len(answer) >= 20 + length
        found.append(kind)
        answer = answer[20 + length :]
    return found


def named(name: bytes, wishes: bytes = b"") -> bytes:
    count = struct.pack(">H", len(wishes) // 2)
    return struct.pack(">I", len(name)) + name + count + wishes


@pytest.mark.parametrize("name", [b"", b"swap"])
def test_go_gives_size_flags_and_block_size_and_begins(name: bytes) -> None:
    answer, step = answer_option(EXPORT, 3, GO, named(name, b"\x00\x03"))
    assert step is NbdNextStep.REQUESTS
    assert kinds(answer) == [3, 3, 1]
    assert struct.unpack_from(">HQH", answer, 20) == (0, 1 << 30, 0b101101101)
    assert struct.unpack_from(">HIII", answer, 52) == (3, 4096, 4096, 1 << 25)


def test_info_gives_the_same_and_more_options_follow() -> None:
    answer, step = answer_option(EXPORT, 3, INFO, named(b"swap"))
    assert (kinds(answer), step) == ([3, 3, 1], NbdNextStep.OPTIONS)


def test_an_unknown_export_is_told() -> None:
    answer, step = answer_option(EXPORT, 3, GO, named(b"other"))
    assert (kinds(answer), step) == ([2**31 + 6], NbdNextStep.OPTIONS)
    assert answer_option(EXPORT, 3, EXPORT_NAME, b"other") == (b"", NbdNextStep.END)


@pytest.mark.parametrize(("flags", "zeroes"), [(3, 0), (1, 124)])
def test_old_clients_get_size_flags_and_zeroes_unless_they_want_none(
    flags: int, zeroes: int
) -> None:
    answer, step = answer_option(EXPORT, flags, EXPORT_NAME, b"swap")
    assert step is NbdNextStep.REQUESTS
    assert struct.unpack_from(">QH", answer) == (1 << 30, 0b101101101)
    assert answer[10:] == bytes(zeroes)


def test_list_names_the_export() -> None:
    answer, step = answer_option(EXPORT, 3, LIST, b"")
    assert (kinds(answer), step) == ([2, 1], NbdNextStep.OPTIONS)
    assert answer[20:28] == b"\x00\x00\x00\x04swap"


@pytest.mark.parametrize("option", [STARTTLS, STRUCTURED, 10, 4711])
def test_other_options_are_unsupported(option: int) -> None:
    answer, step = answer_option(EXPORT, 3, option, b"")
    assert (kinds(answer), step) == ([2**31 + 1], NbdNextStep.OPTIONS)


def test_abort_ends() -> None:
    answer, step = answer_option(EXPORT, 3, ABORT, b"")
    assert (kinds(answer), step) == ([1], NbdNextStep.END)


@given(st.integers(0, 2**32 - 1), st.integers(0, 12), st.binary(max_size=40))
def test_any_data_gets_complete_replies(flags: int, option: int, data: bytes) -> None:
    answer, step = answer_option(EXPORT, flags, option, data)
    if option == EXPORT_NAME:
        return
    assert kinds(answer)
    is_start = step is NbdNextStep.REQUESTS
    assert is_start <= (option == GO)
