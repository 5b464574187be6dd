"""Text of users on a terminal: control characters and escape sequences are shown, not obeyed."""

from __future__ import annotations

import re

import click

# C0 without tab and newline, DEL, C1, line separators, marks that change the direction of text,
# and halves of surrogate pairs (bytes of file names that are not UTF-8).
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible_text(text: str) -> str:
    r"""Return the text with control characters as visible escapes, such as \x1b."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def echo_note(text: str) -> None:
    """Print a line on stderr."""
    click.echo(visible_text(text), err=True)
