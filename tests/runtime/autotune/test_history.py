"""Records of decisions and epochs."""

from __future__ import annotations

from motet.cruise.decision import TuningDecision, TuningReason
from motet.domain.reconfiguration import RoleCounts
from motet.runtime.autotune.history import EpochRecord, TuningHistory, TuningRecord
from motet.runtime.core.reporting.reports import ReconfigurationReport

ROLES = RoleCounts(1, 1)
DECISION = TuningDecision(TuningReason.GAIN, ROLES, ROLES, 2)
REPORT = ReconfigurationReport(0, ROLES, ROLES, None, 1.0, 1, 0, 0.0)


def test_a_report_is_added_to_its_decision_only() -> None:
    history = TuningHistory([TuningRecord(0, 1.0, DECISION), TuningRecord(1, 2.0, DECISION)])
    history.add_report(0, REPORT)
    assert history.decisions == [
        TuningRecord(0, 1.0, DECISION, REPORT),
        TuningRecord(1, 2.0, DECISION),
    ]


def test_epochs_from_the_checkpoint_on_are_dropped() -> None:
    epochs = [EpochRecord(number, 1.0, ROLES, None, 1.0, True) for number in range(4)]
    history = TuningHistory(epochs=list(epochs))
    history.drop_epochs_from(2)
    assert history.epochs == epochs[:2]
