"""Types of options: a duration, a number of machines."""

from __future__ import annotations

import re
from typing import Any

import click

_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)([smhd]?)")
_ANY = "any"
_UNITS_S = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}


class DurationType(click.FloatRange):
    """Seconds from `90`, `90s`, `30m`, `1.5h` or `2d`."""

    def __init__(self) -> None:
        super().__init__(0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Seconds, above 0."""
        if isinstance(value, float):
            return value
        found = _DURATION.fullmatch(str(value))
        seconds = float(found[1]) * _UNITS_S[found[2]] if found else 0.0
        if not seconds:
            self.fail(f"{value!r}: give seconds, or a time as 90s, 30m, 2h or 1d", param, ctx)
        return seconds


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
