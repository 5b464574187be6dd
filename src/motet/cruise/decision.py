"""A decision about a job's configuration, as a value."""

from __future__ import annotations

from dataclasses import dataclass

from motet.cruise.trigger import TuningReason
from motet.domain.reconfiguration import Plan, RoleCounts


@dataclass(frozen=True)
class TuningDecision:
    """The decision, its reason and its prediction. `plan`: the way to `after`, None to stay.

    `measured_s`: the epoch at the present pace; `predicted_s`: in the best configuration that was
    found, also if the job does not change to it; both None where nothing was measured. `gain`: the
    part of the epoch that the best configuration saves. `machines`: usable ones.
    """

    reason: TuningReason
    before: RoleCounts
    after: RoleCounts
    machines: int
    measured_s: float | None = None
    predicted_s: float | None = None
    gain: float = 0.0
    plan: Plan | None = None
