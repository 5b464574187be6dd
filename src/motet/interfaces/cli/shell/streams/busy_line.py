"""A line that says what a command is waiting for."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext

from motet.interfaces.cli.shell.streams.safe_console import SafeConsole
from motet.interfaces.cli.shell.streams.terminal import is_live_terminal


def busy_line(text: str) -> AbstractContextManager[object]:
    """Shown on standard error until the block ends; nothing where lines cannot be redrawn."""
    if not is_live_terminal(sys.stderr):
        return nullcontext()
    return SafeConsole(stderr=True).status(text)
