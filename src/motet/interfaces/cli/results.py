"""Results for people on stdout: coloured on a terminal, plain lines in a file or pipe."""

from __future__ import annotations

import sys

from rich.console import Console, RenderableType
from rich.measure import Measurement

PLAIN_WIDTH = 100


def print_result(result: RenderableType) -> None:
    """Print; where stdout is no terminal, without colours and without spaces at the lines' ends."""
    console = Console(highlight=False)
    if console.is_terminal:
        console.print(result)
        return
    unlimited = console.options.update(max_width=10_000)
    natural = Measurement.get(console, unlimited, result).minimum
    console = Console(highlight=False, width=max(PLAIN_WIDTH, natural))
    with console.capture() as captured:
        console.print(result)
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())
