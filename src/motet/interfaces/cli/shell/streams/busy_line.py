"""A line that says what a command is waiting for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from rich.text import Text

from motet.interfaces.cli.shell.streams.safe_console import SafeConsole
from motet.interfaces.cli.shell.streams.terminal import is_live_terminal
from motet.interfaces.cli.shell.streams.visible import visible_text


def busy_line(text: str) -> AbstractContextManager[object]:
    """Shown on standard error until the block ends; nothing where lines cannot be redrawn."""
    if not is_live_terminal(sys.stderr):
        return nullcontext()
    return SafeConsole(stderr=True).status(text)


@contextmanager
def changing_line(text: str) -> Iterator[Callable[[str], None] | None]:
    """As `busy_line`; the block gets what changes the text, or None where nothing is shown."""
    if not is_live_terminal(sys.stderr):
        yield None
        return
    with SafeConsole(stderr=True).status(text) as status:
        yield lambda told: status.update(Text(visible_text(told)))
