"""`--machines` of `motet submit`: a number, or any."""

from __future__ import annotations

from typing import Any

import click

_ANY = "any"


class MachinesType(click.IntRange):
    """A number of machines from 1 on, or `any`."""

    def __init__(self) -> None:
        super().__init__(1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A number, or the text `any`."""
        if value == _ANY:
            return value
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r}: give a number of machines from 1 on, or any", param, ctx)
