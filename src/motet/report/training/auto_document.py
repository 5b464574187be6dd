"""Decisions, configurations and epochs of a job under `--auto` as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import numpy as np

from motet.domain.reconfiguration import RoleCounts
from motet.runtime.autotune.history import EpochRecord, TuningHistory, TuningRecord
from motet.runtime.core.reporting.reports import ReconfigurationReport

EPOCH_COLUMNS = ("epoch", "end_s", "workers", "servers", "predicted_s", "measured_s", "steady")
DECISION_COLUMNS = (
    "at_epoch",
    "at_s",
    "reason",
    "machines",
    "from_workers",
    "from_servers",
    "to_workers",
    "to_servers",
    "measured_epoch_s",
    "predicted_epoch_s",
    "gain",
    "operations",
    "plan_s",
    "moved_bytes",
    "stall_s",
    "error",
)


@dataclass(frozen=True)
class UsedConfiguration:
    """Epochs under one configuration, and the change that led to it.

    `epochs`: their number, without epochs during a change. `measured_s`, `sd_s`: their mean and
    standard deviation (None for one epoch); `predicted_s`: None for the configuration that the job
    began or resumed with.
    """

    roles: RoleCounts
    first_epoch: int
    epochs: int
    predicted_s: float | None
    measured_s: float
    sd_s: float | None
    change: ReconfigurationReport | None

    @property
    def error(self) -> float | None:
        """Error of the prediction, relative to the measured epoch."""
        return None if self.predicted_s is None else self.predicted_s / self.measured_s - 1


def used_configurations(history: TuningHistory) -> list[UsedConfiguration]:
    """In the order of time. Epochs during a change belong to no configuration."""
    steady = [each for each in history.epochs if each.is_steady]
    grouped = groupby(steady, key=lambda each: (each.roles, each.predicted_s))
    return [_used(list(same), history.decisions) for _, same in grouped]


def auto_document(history: TuningHistory) -> dict[str, Any]:
    """`auto` of `--json` and `run.json`."""
    return {
        "decisions": [_decision(record) for record in history.decisions],
        "configurations": [_configuration(used) for used in used_configurations(history)],
        "epochs": [dict(zip(EPOCH_COLUMNS, row, strict=True)) for row in epoch_rows(history)],
    }


def epoch_rows(history: TuningHistory) -> list[list[object]]:
    """A row per epoch, counted from 1, by `EPOCH_COLUMNS`."""
    return [
        [
            each.epoch + 1,
            each.end_s,
            each.roles.workers,
            each.roles.servers,
            each.predicted_s,
            each.measured_s,
            each.is_steady,
        ]
        for each in history.epochs
    ]


def decision_rows(history: TuningHistory) -> list[list[object]]:
    """A row per decision, by `DECISION_COLUMNS`."""
    flat = [_flat(_decision(record)) for record in history.decisions]
    return [[decision[name] for name in DECISION_COLUMNS] for decision in flat]


def _decision(record: TuningRecord) -> dict[str, Any]:
    decision, report = record.decision, record.report
    return {
        "at_epoch": record.at_epoch,
        "at_s": record.at_s,
        "reason": decision.reason.value,
        "machines": decision.machines,
        "from": asdict(decision.before),
        "to": asdict(decision.after),
        "measured_epoch_s": decision.measured_s,
        "predicted_epoch_s": decision.predicted_s,
        "gain": decision.gain,
        "operations": 0 if report is None else report.operations,
        "plan_s": None if report is None else report.plan_s,
        "moved_bytes": 0 if report is None else report.moved_bytes,
        "stall_s": None if report is None else report.stall_s,
        "error": "" if report is None else report.error,
    }


def _flat(decision: dict[str, Any]) -> dict[str, Any]:
    roles = {
        f"{end}_{role}": count for end in ("from", "to") for role, count in decision[end].items()
    }
    return {**decision, **roles}


def _configuration(used: UsedConfiguration) -> dict[str, Any]:
    change = used.change
    return {
        "workers": used.roles.workers,
        "servers": used.roles.servers,
        "first_epoch": used.first_epoch + 1,
        "epochs": used.epochs,
        "predicted_s": used.predicted_s,
        "measured_s": used.measured_s,
        "measured_sd_s": used.sd_s,
        "error": used.error,
        "plan_s": None if change is None else change.plan_s,
        "moved_bytes": None if change is None else change.moved_bytes,
        "stall_s": None if change is None else change.stall_s,
    }


def _used(epochs: Sequence[EpochRecord], records: Sequence[TuningRecord]) -> UsedConfiguration:
    first = epochs[0]
    measured_s = [each.measured_s for each in epochs]
    return UsedConfiguration(
        roles=first.roles,
        first_epoch=first.epoch,
        epochs=len(epochs),
        predicted_s=first.predicted_s,
        measured_s=float(np.mean(measured_s)),
        sd_s=float(np.std(measured_s, ddof=1)) if len(measured_s) > 1 else None,
        change=_change_to(first, records),
    )


def _change_to(first: EpochRecord, records: Sequence[TuningRecord]) -> ReconfigurationReport | None:
    """The newest change before an epoch that led to its configuration."""
    found = None
    for record in records:
        is_before = record.report is not None and record.at_s <= first.end_s
        if is_before and record.decision.after == first.roles:
            found = record.report
    return found
