"""Logs with colours, progress bars and worse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.interfaces.server.web.log_text import log_text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain\n", "plain\n"),
        (b"\x1b[31mred\x1b[0m\n", "red\n"),
        (b"\x1b]0;title\x07after", "after"),
        (b"10 %\r50 %\r100 %\nnext\r\n", "100 %\nnext\n"),
        (b"a\x00b\x1b", "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}"),
        (b"\xff", "\N{REPLACEMENT CHARACTER}"),
        ("‮evil".encode(), "\N{REPLACEMENT CHARACTER}evil"),
    ],
)
def test_control_characters_do_not_reach_the_page(data: bytes, text: str) -> None:
    assert log_text(data) == text


@given(st.binary())
def test_any_bytes_become_printable_lines(data: bytes) -> None:
    assert all(each in "\n\t" or each >= " " for each in log_text(data))
