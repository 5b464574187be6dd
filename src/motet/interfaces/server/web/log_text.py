"""Logs as text for a page: without colours, and without other control characters. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

_LONGEST_OPEN_LINE = 16_000


def log_text(data: bytes) -> str:
    """The text; of a line that a progress bar has rewritten, what was written last."""
    text = _SEQUENCE.sub("", data.decode(errors="replace").replace("\r\n", "\n"))
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")]
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", "\n".join(lines))


class LogView(NamedTuple):
    """`done`: text to which the log adds only. `open`: the line at its end, which may change: the
    next part begins at `next_offset`, with this line again."""

    done: str
    open: str
    next_offset: int


def log_view(data: bytes, offset: int, *, is_complete: bool) -> LogView:
    """What a page shows of a log from `offset` on. `is_complete`: nothing will be added.

    What a progress bar has overwritten is not read again, nor a line that is too long.
    """
    begin = data.rfind(b"\n") + 1
    back = begin + data[begin:].rstrip(b"\r").rfind(b"\r") + 1
    if not log_text(data[back:]):  # Such as a colour alone: what came before is still visible.
        back = begin
    if is_complete or len(data) - back > _LONGEST_OPEN_LINE:
        return LogView(log_text(data), "", offset + len(data))
    return LogView(log_text(data[:begin]), log_text(data[begin:]), offset + back)
