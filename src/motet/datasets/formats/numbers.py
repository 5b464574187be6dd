"""The definition of a number in text, shared by all readers and error messages."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf(inity)?|nan)", re.I)
_WHOLE = re.compile(r"[+-]?\d+")


def is_number(text: str) -> bool:
    """True for decimal numbers, and for nan and inf in any case (readers refuse those later)."""
    return _NUMBER.fullmatch(text.strip()) is not None


def is_whole(text: str) -> bool:
    """True for whole numbers without a decimal point."""
    return _WHOLE.fullmatch(text.strip()) is not None
