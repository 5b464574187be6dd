"""Prints results on stdout: coloured on a terminal, plain lines in a file or pipe."""

from __future__ import annotations

import os
import sys

from rich.console import Console, RenderableType
from rich.measure import Measurement

from motet.interfaces.cli.shell.streams.safe_console import SafeConsole
from motet.report.rendering.json_text import to_json

PLAIN_WIDTH = 100


def print_result(result: RenderableType) -> None:
    """Print a result. Without a terminal: no colours and no spaces at the ends of lines.

    The width is then that of `COLUMNS`, or else as large as the result needs.
    """
    console = SafeConsole()
    if console.is_terminal:
        console.print(result)
        return
    console = SafeConsole(width=_requested_width() or _needed_width(console, result))
    with console.capture() as captured:
        console.print(result)
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def print_json(document: object) -> None:
    """Print one JSON document and nothing else."""
    sys.stdout.write(to_json(document))


def _requested_width() -> int:
    """The width in `COLUMNS`; 0 if it is not set."""
    asked = os.environ.get("COLUMNS", "")
    return int(asked) if asked.isdecimal() else 0


def _needed_width(console: Console, result: RenderableType) -> int:
    unlimited = console.options.update(max_width=10_000)
    return max(PLAIN_WIDTH, Measurement.get(console, unlimited, result).minimum)
