"""The type of `--port`."""

from __future__ import annotations

from typing import Any

import click

LAST = 65535


class PortNumber(click.IntRange):
    """0 (any free port) to 65535."""

    def __init__(self) -> None:
        super().__init__(0, LAST)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert as click does, with a message about port numbers."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is not a port number; give one from 0 to {LAST}", param, ctx)
