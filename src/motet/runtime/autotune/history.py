"""What became of a job that configures itself: its decisions, and its epochs' configurations."""

from __future__ import annotations

from dataclasses import dataclass, field

from motet.cruise.decision import TuningDecision
from motet.domain.reconfiguration import RoleCounts
from motet.runtime.core.reports import ReconfigurationReport


@dataclass
class Turn:
    """A decision, when it was made, and its outcome where it changed something.

    `at_epoch`: epochs done then; `at_s`: seconds since training began. `report`: None while it is
    being carried out, or if nothing was changed.
    """

    at_epoch: int
    at_s: float
    decision: TuningDecision
    report: ReconfigurationReport | None = None


@dataclass(frozen=True)
class EpochRecord:
    """An epoch under a configuration.

    `end_s`: seconds since training began; `predicted_s`: when it was chosen, None for what the job
    began or went on with; `is_steady`: nothing was changed in it.
    """

    epoch: int
    end_s: float
    roles: RoleCounts
    predicted_s: float | None
    measured_s: float
    is_steady: bool


@dataclass
class Flight:
    """All of it, in the order of time."""

    turns: list[Turn] = field(default_factory=list)
    epochs: list[EpochRecord] = field(default_factory=list)
