"""The history of a tuned job: its decisions with their outcomes, and its epochs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from motet.cruise.decision import TuningDecision
from motet.domain.reconfiguration import RoleCounts
from motet.runtime.core.reporting.reports import ReconfigurationReport


@dataclass(frozen=True)
class TuningRecord:
    """A decision, the time when it was made, and its outcome.

    `at_epoch`: epochs done then; `at_s`: seconds since training began. `report`: None until the
    decided change ended, and for a decision that changes nothing.
    """

    at_epoch: int
    at_s: float
    decision: TuningDecision
    report: ReconfigurationReport | None = None


@dataclass(frozen=True)
class EpochRecord:
    """An epoch under a configuration.

    `end_s`: seconds since training began; `predicted_s`: predicted by the decision for this
    configuration, None for the configuration that the job began or resumed with; `is_steady`: no
    reconfiguration was under way in it.
    """

    epoch: int
    end_s: float
    roles: RoleCounts
    predicted_s: float | None
    measured_s: float
    is_steady: bool


@dataclass
class TuningHistory:
    """Decisions and epochs, each in the order of time."""

    decisions: list[TuningRecord] = field(default_factory=list)
    epochs: list[EpochRecord] = field(default_factory=list)

    def add_report(self, decision: int, report: ReconfigurationReport) -> None:
        """The change of the decision with this index ended."""
        self.decisions[decision] = replace(self.decisions[decision], report=report)

    def drop_epochs_from(self, epoch: int) -> None:
        """Epochs from this one on will be trained again."""
        self.epochs[:] = [each for each in self.epochs if each.epoch < epoch]
