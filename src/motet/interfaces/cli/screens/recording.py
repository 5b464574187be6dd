"""Pictures of the terminal."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType


def screen_svg(screen: RenderableType, width: int, title: str) -> str:
    """An SVG of a terminal of `width` columns that shows `screen`."""
    recorder = Console(
        record=True, file=io.StringIO(), width=width, force_terminal=True, color_system="truecolor"
    )
    recorder.print(screen)
    return recorder.export_svg(title=title)
