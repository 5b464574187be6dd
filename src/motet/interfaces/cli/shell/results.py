"""Results for people on stdout: coloured on a terminal, plain lines in a file or pipe."""

from __future__ import annotations

import os
import sys

from rich.console import Console, RenderableType
from rich.measure import Measurement

PLAIN_WIDTH = 100


def print_result(result: RenderableType) -> None:
    """Print; where stdout is no terminal, without colours and without spaces at the lines' ends.

    A pipe has no width: lines are as long as `COLUMNS` says, or else as the result needs.
    """
    console = Console(highlight=False)
    if console.is_terminal:
        console.print(result)
        return
    console = Console(highlight=False, width=_asked_width() or _needed_width(console, result))
    with console.capture() as captured:
        console.print(result)
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _asked_width() -> int:
    """0 where nothing is asked for."""
    asked = os.environ.get("COLUMNS", "")
    return int(asked) if asked.isdecimal() else 0


def _needed_width(console: Console, result: RenderableType) -> int:
    unlimited = console.options.update(max_width=10_000)
    return max(PLAIN_WIDTH, Measurement.get(console, unlimited, result).minimum)
