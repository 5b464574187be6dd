"""The type of options that take a duration."""

from __future__ import annotations

from typing import Any

import click

from motet.domain.errors import BadInput
from motet.domain.units import duration_s


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
