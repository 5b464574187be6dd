"""A decision about a job's configuration, and its reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from motet.domain.reconfiguration import Plan, RoleCounts

LEAST_GAIN = 0.05


class TuningReason(Enum):
    """Reasons to keep or change a configuration; the values appear in reports."""

    WARMING_UP = "warming_up"
    TOO_LITTLE_GAIN = "too_little_gain"
    GAIN = "gain"
    BACK = "back"
    """Return to a configuration with a shorter measured epoch."""
    DRAIN = "drain"
    """Machines were reclaimed: their blocks move away while they still serve."""
    RECOVER = "recover"
    """Machines were lost: the job continues from its checkpoint on the others."""

    @property
    def is_change(self) -> bool:
        """Whether the configuration changes."""
        return self not in (TuningReason.WARMING_UP, TuningReason.TOO_LITTLE_GAIN)


@dataclass(frozen=True)
class SizeProposal:
    """Another number of machines, for others to decide. `roles`: each on a machine of its own.

    `machines`: now. `now_s`, `then_s`: an epoch with them, and with the proposed roles."""

    roles: RoleCounts
    machines: int
    now_s: float
    then_s: float

    @property
    def gain(self) -> float:
        """Part of an epoch that it saves."""
        return 1 - self.then_s / self.now_s

    def pays_off(self, epochs_left: float, move_s: float) -> bool:
        """Whether it is worth a restart that takes so long, in the time that is left.

        A larger size saves more time than the restart takes; a smaller one leaves more
        machine-seconds to others than all machines spend on the restart.
        """
        fewer = self.machines - self.roles.executors
        if fewer > 0:
            return fewer * epochs_left * self.then_s > self.machines * move_s
        return epochs_left * (self.now_s - self.then_s) > move_s


@dataclass(frozen=True)
class TuningDecision:
    """A decision, its reason and its prediction. `plan`: the plan to `after`, None to stay.

    `measured_s`: the epoch at the present pace; `predicted_s`: in the best configuration found,
    even without a change to it; both None without measurements. `gain`: fraction of the epoch that
    the best configuration saves. `machines`: number of usable machines. `proposal`: of a job that
    may ask for others.
    """

    reason: TuningReason
    before: RoleCounts
    after: RoleCounts
    machines: int
    measured_s: float | None = None
    predicted_s: float | None = None
    gain: float = 0.0
    plan: Plan | None = None
    proposal: SizeProposal | None = None
