"""Settings beside those of the policy that the engine itself obeys, under any policy."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, inf, isnan

from motet.domain.errors import BadInput
from motet.domain.units import LONGEST_S, SECOND_US, microseconds
from motet.engine.actions.preemption_limits import PreemptionLimits

MIN_RUNTIME = "min_runtime"
PREEMPTIONS_PER_HOUR = "preemptions_per_hour"
ENGINE_SETTINGS = {MIN_RUNTIME: "0", PREEMPTIONS_PER_HOUR: "inf"}
"""Names and defaults."""
_HOUR_S = 3600


def split_settings(settings: Mapping[str, str]) -> tuple[dict[str, str], PreemptionLimits]:
    """The parameters of the policy, and what the others mean. Raises BadInput."""
    own = {name: text for name, text in settings.items() if name not in ENGINE_SETTINGS}
    return own, preemption_limits(settings)


def preemption_limits(settings: Mapping[str, str]) -> PreemptionLimits:
    """From all settings of a run. Raises BadInput."""
    given = {name: settings.get(name, text) for name, text in ENGINE_SETTINGS.items()}
    return PreemptionLimits(
        _min_runtime_us(given[MIN_RUNTIME]), _spacing_us(given[PREEMPTIONS_PER_HOUR])
    )


def engine_parameters(settings: Mapping[str, str]) -> dict[str, float]:
    """The values in force: seconds, and preemptions of a job per hour. Raises BadInput."""
    limits = preemption_limits(settings)
    rate = float(settings.get(PREEMPTIONS_PER_HOUR, inf))
    return {MIN_RUNTIME: limits.min_runtime_us / SECOND_US, PREEMPTIONS_PER_HOUR: rate}


def _min_runtime_us(text: str) -> int:
    """No job is preempted before it has run so long. `text`: seconds."""
    try:
        found_us = microseconds(text)
    except BadInput:
        found_us = -1
    if found_us < 0:
        raise BadInput(f"{MIN_RUNTIME}={text}: give seconds from 0 to {LONGEST_S}")
    return found_us


def _spacing_us(text: str) -> int:
    """The time between two preemptions of a job of which it has at most so many in an hour."""
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if isnan(rate) or not rate * LONGEST_S >= _HOUR_S:
        raise BadInput(
            f"{PREEMPTIONS_PER_HOUR}={text}: give a number above 0 (inf: no limit), 0.1 for one in "
            "ten hours"
        )
    return ceil(_HOUR_S * SECOND_US / rate)
