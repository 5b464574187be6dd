"""Logs as text for a page: without colours, and without other control characters. Pure."""

from __future__ import annotations

import re

_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def log_text(data: bytes) -> str:
    """The text; of a line that a progress bar has rewritten, what was written last."""
    text = _SEQUENCE.sub("", data.decode(errors="replace").replace("\r\n", "\n"))
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")]
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", "\n".join(lines))
