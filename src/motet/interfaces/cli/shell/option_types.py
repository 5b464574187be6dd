"""Types and values of options: a duration, bytes, a number of machines, limits of a pool."""

from __future__ import annotations

import math
from collections.abc import Iterable
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


class ByteSizeType(click.IntRange):
    """Bytes from `512M` or `4G`."""

    name = "size"

    def __init__(self) -> None:
        super().__init__(1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Bytes, above 0."""
        from motet.remote_memory.core.byte_sizes import size_of

        try:
            return size_of(value)
        except BadInput as error:
            self.fail(str(error), param, ctx)


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


def link_rate(text: str | None) -> int | None:
    """Bits per second of the option --bandwidth; None: not given. Raises BadInput."""
    from motet.testbed.quantities import bandwidth_of

    return None if text is None else bandwidth_of(text, "--bandwidth")


def queue_loss_limits(texts: Iterable[str]) -> dict[str, float]:
    """Loss limits by queue, of options QUEUE=X. Raises BadInput."""
    return dict(map(_queue_limit, texts))


def _queue_limit(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    try:
        limit = float(value)
    except ValueError:
        limit = 0.0
    if not name or not 0 < limit < 1:
        raise BadInput(
            f"--queue-loss-limit {text}: give QUEUE=X, a queue and a share of the speed above 0 "
            "and below 1, for example prod=0.02"
        )
    return name, limit
