"""A decision about a job's configuration."""

from __future__ import annotations

from dataclasses import dataclass

from motet.cruise.trigger import TuningReason
from motet.domain.reconfiguration import Plan, RoleCounts


@dataclass(frozen=True)
class TuningDecision:
    """A decision, its reason and its prediction. `plan`: the plan to `after`, None to stay.

    `measured_s`: the epoch at the present pace; `predicted_s`: in the best configuration found,
    even without a change to it; both None without measurements. `gain`: fraction of the epoch that
    the best configuration saves. `machines`: number of usable machines.
    """

    reason: TuningReason
    before: RoleCounts
    after: RoleCounts
    machines: int
    measured_s: float | None = None
    predicted_s: float | None = None
    gain: float = 0.0
    plan: Plan | None = None
