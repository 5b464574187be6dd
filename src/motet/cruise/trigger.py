"""When to change a job's configuration: only for a gain that is worth it, and for machines.

Why it does not oscillate: let d and d' bound the relative errors of an epoch in the present and in
the new configuration, by the noise of what was measured. A change is made only for a predicted gain
of at least g = max(5 %, 1 - 1 / ((1 + d) (1 + d'))), so the real epoch becomes shorter by the
factor (1 - g) (1 + d) (1 + d') <= 1 or better: a configuration that was left for a better one
cannot become worthwhile again unless the machines themselves change. (The paper has the 5 % only;
the two agree for errors up to 2.6 %.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from motet.cruise.averages import Calibrated
from motet.cruise.search.problem import Roles
from motet.cruise.search.solver import Choice, best_configuration
from motet.estimate.epoch_cost import Configuration, Profile, epoch_s

LEAST_GAIN = 0.05


class Change(Enum):
    """What happened to the machines since the last look."""

    NONE = "none"
    APPEARED = "appeared"
    RECLAIMED = "reclaimed"
    """Announced: its blocks are moved away while it still serves."""
    LOST = "lost"
    """Unannounced: its blocks are gone, and the job goes on from a checkpoint."""


class Reason(Enum):
    """Why a configuration is kept or changed."""

    WARMING_UP = "warming_up"
    TOO_LITTLE_GAIN = "too_little_gain"
    GAIN = "gain"
    BACK = "back"
    """To a configuration that was measured to be better."""
    DRAIN = "drain"
    RECOVER = "recover"


@dataclass(frozen=True)
class Verdict:
    """`choice`: what to change to, or None. `gain`: the part of the epoch that it saves."""

    reason: Reason
    choice: Choice | None = None
    current_s: float | None = None
    gain: float = 0.0

    @property
    def is_change(self) -> bool:
        """Whether there is something to do."""
        return self.reason not in (Reason.WARMING_UP, Reason.TOO_LITTLE_GAIN)


def review(
    profile: Profile,
    measured: Calibrated | None,
    current: Configuration,
    change: Change = Change.NONE,
    roles: Roles = Roles.SEPARATE,
    least_gain: float = LEAST_GAIN,
    overhead_s: float = 0.0,
) -> Verdict:
    """Whether to leave `current`.

    `overhead_s`: what an epoch takes beyond the cost model, wherever it runs: it lowers the gain.

    `measured`: the machines that may be used from now on, None while workers warm up; those that
    have gone are in neither it nor `current`, and those that came hold nothing in `current`.
    """
    if measured is None:
        return Verdict(Reason.WARMING_UP)
    choice = best_configuration(profile, measured.fleet, roles)
    if change is Change.LOST:
        return Verdict(Reason.RECOVER, choice)
    if change is Change.RECLAIMED:
        return Verdict(Reason.DRAIN, choice)
    current_s = epoch_s(profile, measured.fleet, current) + overhead_s
    gain = 1 - (choice.epoch_s + overhead_s) / current_s
    errors = [measured.epoch_error(profile, c) for c in (current, choice.configuration)]
    if gain < required_gain(errors, least_gain):
        return Verdict(Reason.TOO_LITTLE_GAIN, choice, current_s, gain)
    return Verdict(Reason.GAIN, choice, current_s, gain)


def required_gain(relative_errors: Iterable[float], least_gain: float = LEAST_GAIN) -> float:
    """The predicted gain from which a change is an improvement in spite of these errors."""
    return max(least_gain, 1 - math.prod(1 / (1 + error) for error in relative_errors))
