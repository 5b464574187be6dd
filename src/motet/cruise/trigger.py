"""The condition for changing a job's configuration: a sufficient gain, or machines that leave.

The configuration cannot oscillate: let d and d' bound the relative errors of an epoch in the
present and in the new configuration, from measurement noise. A change requires a predicted gain of
at least g = max(5 %, 1 - 1 / ((1 + d) (1 + d'))), so the actual epoch shrinks at least by the
factor (1 - g) (1 + d) (1 + d') <= 1. A configuration that was left for a better one therefore has
no gain again unless the machines themselves change. (The paper has only the 5 %; both conditions
agree for errors up to 2.6 %.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from motet.cruise.calibration.calibrated_fleet import CalibratedFleet
from motet.cruise.decision import LEAST_GAIN, TuningReason
from motet.cruise.search.problem import RoleMode
from motet.cruise.search.solver import Choice, best_configuration
from motet.estimate.epoch_cost import Configuration, Profile, epoch_s


@dataclass(frozen=True)
class Verdict:
    """The best configuration, and whether the job changes to it.

    `current_s`: epoch of the present configuration, None if it is irrelevant; `gain`: fraction of
    it that the best configuration saves.
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
    """The verdict whether to leave `current` for a gain.

    `measured`: the usable machines; new ones hold nothing in `current`. `overhead_s`: time of an
    epoch beyond the cost model, equal in every configuration; it lowers the gain.
    """
    choice = best_configuration(profile, measured.fleet, roles)
    current_s = epoch_s(profile, measured.fleet, current) + overhead_s
    gain = 1 - (choice.epoch_s + overhead_s) / current_s
    errors = [measured.epoch_error(profile, c) for c in (current, choice.configuration)]
    is_enough = gain >= required_gain(errors, least_gain)
    reason = TuningReason.GAIN if is_enough else TuningReason.TOO_LITTLE_GAIN
    return Verdict(reason, choice, current_s, gain)


def required_gain(relative_errors: Iterable[float], least_gain: float = LEAST_GAIN) -> float:
    """The predicted gain from which a change is an improvement despite these errors."""
    return max(least_gain, 1 - math.prod(1 / (1 + error) for error in relative_errors))
