"""Types of options: a duration, a number of machines."""

from __future__ import annotations

import math
from typing import Any

import click

from motet.domain.errors import BadInput
from motet.domain.units import duration_s

_ANY, _NO_LIMIT = "any", "none"


class DurationType(click.FloatRange):
    """Seconds from `90`, `90s`, `30m`, `1.5h` or `2d`."""

    def __init__(self) -> None:
        super().__init__(0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Seconds, above 0."""
        if isinstance(value, float):
            return value
        try:
            return duration_s(str(value))
        except BadInput as error:
            self.fail(str(error), param, ctx)


class LimitType(DurationType):
    """A duration, or `none`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Seconds; infinite: no limit."""
        return math.inf if value == _NO_LIMIT else super().convert(value, param, ctx)


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
