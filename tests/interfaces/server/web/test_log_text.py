"""Logs with colours, progress bars and worse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.interfaces.server.web.log_text import log_text, log_view


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


PIECES = st.lists(
    st.lists(st.sampled_from([b"a", b"\n", b"\r", "ü".encode(), b"\x1b[31m"]), max_size=9)
)


@given(PIECES)
def test_a_log_that_is_read_as_it_grows_shows_what_it_shows_at_its_end(
    pieces: list[list[bytes]],
) -> None:
    log, shown, at = b"", "", 0
    for piece in pieces:
        log += b"".join(piece)
        view = log_view(log[at:], at, is_complete=False)
        shown, at = shown + view.done, view.next_offset
        assert shown + view.open == log_text(log)
    assert shown + log_view(log[at:], at, is_complete=True).done == log_text(log)


def test_a_progress_bar_is_not_read_from_its_beginning_each_time() -> None:
    view = log_view(b"epoch 1\n10 %\r20 %", 100, is_complete=False)
    assert view == ("epoch 1\n", "20 %", 100 + len("epoch 1\n10 %\r"))


def test_a_line_without_an_end_is_not_read_again_and_again() -> None:
    view = log_view(b"x" * 20_000, 0, is_complete=False)
    assert (len(view.done), view.open, view.next_offset) == (20_000, "", 20_000)
