"""Parser for the numbers after the colon in `poisson:30`, `lognormal:600,1.5`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from motet.domain.errors import BadInput


def positive_numbers(option: str, text: str, names: Sequence[str], at_least: int) -> list[float]:
    """The numbers of `KIND:A,B`, `at_least` of `names`, all above 0. Raises BadInput."""
    kind, _, given = text.partition(":")
    parts = [part for part in given.split(",") if part.strip()]
    usage = f"write {kind}:{','.join(names)}"
    if not at_least <= len(parts) <= len(names):
        raise BadInput(f"{option} {text}: {len(parts)} numbers; {usage}")
    return [_positive(f"{option} {text}", part, usage) for part in parts]


def _positive(where: str, text: str, usage: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise BadInput(f"{where}: {text!r} is not a number; {usage}") from None
    if not (math.isfinite(value) and 0 < value <= 1e9):
        raise BadInput(f"{where}: {text} must be above 0 and at most 1e9; {usage}")
    return value
