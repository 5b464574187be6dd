"""Events of a job that is tuned, as values. Times are seconds of one monotonic clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from motet.cruise.calibration.machine_groups import CandidateMachine
from motet.cruise.decision import TuningDecision
from motet.cruise.machine_state import MachineState
from motet.domain.reconfiguration import RoleCounts
from motet.runtime.core.reporting.batch_costs import BatchCost
from motet.runtime.core.reporting.reports import ReconfigurationReport


@dataclass(frozen=True)
class TrainingStarted:
    """Training began, or continues after a recovery. `workers`: those with data."""

    at_s: float
    workers: tuple[int, ...]


@dataclass(frozen=True)
class BatchesMeasured:
    """A worker reported mini-batches, the oldest first."""

    executor: int
    costs: tuple[BatchCost, ...]


@dataclass(frozen=True)
class EpochEnded:
    """An epoch ended under a configuration; `epoch` counts from 0."""

    at_s: float
    epoch: int
    measured_s: float
    roles: RoleCounts


@dataclass(frozen=True)
class RecoveryBegan:
    """An executor was lost. Epochs from `resumed_from_epoch` on are trained again."""

    resumed_from_epoch: int


@dataclass(frozen=True)
class ReconfigurationEnded:
    """A reconfiguration ended.

    `change`: the number of the tuner's own change, None for another one; `is_cut_short`: operations
    of it were left out. `workers`: those with data now.
    """

    at_s: float
    report: ReconfigurationReport
    workers: tuple[int, ...]
    change: int | None = None
    is_cut_short: bool = False


@dataclass(frozen=True)
class MachinesChecked:
    """The present machines and the states of all executors; arrives every fraction of a second."""

    at_s: float
    machines: tuple[CandidateMachine, ...]
    states: tuple[MachineState, ...]


@dataclass(frozen=True)
class DecisionMade:
    """Cruise decided about these machines."""

    at_s: float
    machines: tuple[CandidateMachine, ...]
    decision: TuningDecision


TuningEvent: TypeAlias = (
    TrainingStarted
    | BatchesMeasured
    | EpochEnded
    | RecoveryBegan
    | ReconfigurationEnded
    | MachinesChecked
    | DecisionMade
)
