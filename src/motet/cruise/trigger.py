"""When to change a job's configuration: for a sufficient gain, and when machines go.

The configuration cannot oscillate: let d and d' bound the relative errors of an epoch in the
present and in the new configuration, by the noise of the measurements. A change needs a predicted
gain of at least g = max(5 %, 1 - 1 / ((1 + d) (1 + d'))), so the real epoch becomes shorter by the
factor (1 - g) (1 + d) (1 + d') <= 1 or better. A configuration that was left for a better one
therefore has no gain again unless the machines themselves change. (The paper has the 5 % only; the
two agree for errors up to 2.6 %.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from motet.cruise.calibration.calibrated_fleet import CalibratedFleet
from motet.cruise.search.problem import RoleMode
from motet.cruise.search.solver import Choice, best_configuration
from motet.estimate.epoch_cost import Configuration, Profile, epoch_s

LEAST_GAIN = 0.05


class TuningReason(Enum):
    """Why a configuration is kept or changed; the values are those of the reports."""

    WARMING_UP = "warming_up"
    TOO_LITTLE_GAIN = "too_little_gain"
    GAIN = "gain"
    BACK = "back"
    """To a configuration whose epoch was measured to be shorter."""
    DRAIN = "drain"
    """Machines were reclaimed: their blocks are moved away while they still serve."""
    RECOVER = "recover"
    """Machines were lost: the job goes on from its checkpoint with the others."""

    @property
    def is_change(self) -> bool:
        """Whether the configuration is changed."""
        return self not in (TuningReason.WARMING_UP, TuningReason.TOO_LITTLE_GAIN)


@dataclass(frozen=True)
class Verdict:
    """The best configuration, and whether the job changes to it.

    `current_s`: epoch of the present configuration, None where it does not matter; `gain`: the part
    of it that the best configuration saves.
    """

    reason: TuningReason
    choice: Choice
    current_s: float | None = None
    gain: float = 0.0


def review(
    profile: Profile,
    measured: CalibratedFleet,
    current: Configuration,
    roles: RoleMode = RoleMode.SEPARATE,
    least_gain: float = LEAST_GAIN,
    overhead_s: float = 0.0,
) -> Verdict:
    """Whether to leave `current` for a gain.

    `measured`: the usable machines; new ones hold nothing in `current`. `overhead_s`: time of an
    epoch beyond the cost model, the same in every configuration: it lowers the gain.
    """
    choice = best_configuration(profile, measured.fleet, roles)
    current_s = epoch_s(profile, measured.fleet, current) + overhead_s
    gain = 1 - (choice.epoch_s + overhead_s) / current_s
    errors = [measured.epoch_error(profile, c) for c in (current, choice.configuration)]
    is_enough = gain >= required_gain(errors, least_gain)
    reason = TuningReason.GAIN if is_enough else TuningReason.TOO_LITTLE_GAIN
    return Verdict(reason, choice, current_s, gain)


def required_gain(relative_errors: Iterable[float], least_gain: float = LEAST_GAIN) -> float:
    """The predicted gain from which a change is an improvement in spite of these errors."""
    return max(least_gain, 1 - math.prod(1 / (1 + error) for error in relative_errors))
