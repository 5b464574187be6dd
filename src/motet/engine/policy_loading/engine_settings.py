"""Settings beside those of the policy that the engine itself obeys, under any policy."""

from __future__ import annotations

from collections.abc import Mapping

from motet.domain.errors import BadInput
from motet.domain.units import LONGEST_S, microseconds

MIN_RUNTIME = "min_runtime"


def split_settings(settings: Mapping[str, str]) -> tuple[dict[str, str], int]:
    """The parameters of the policy, and `min_runtime` in microseconds. Raises BadInput."""
    own = {name: text for name, text in settings.items() if name != MIN_RUNTIME}
    return own, min_runtime_us(settings.get(MIN_RUNTIME, "0"))


def min_runtime_us(text: str) -> int:
    """No job is preempted before it has run so long. `text`: seconds. Raises BadInput."""
    try:
        found_us = microseconds(text)
    except BadInput:
        found_us = -1
    if found_us < 0:
        raise BadInput(f"{MIN_RUNTIME}={text}: give seconds from 0 to {LONGEST_S}")
    return found_us
