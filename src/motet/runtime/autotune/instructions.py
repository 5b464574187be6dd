"""What an event of a tuned job leads to, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from motet.cruise.calibration.averages import BatchMeasurement
from motet.cruise.calibration.machine_groups import CandidateMachine
from motet.cruise.machine_state import MachineState
from motet.domain.reconfiguration import Plan, RoleCounts
from motet.runtime.autotune.history import TuningRecord


@dataclass(frozen=True)
class RestartMeasurements:
    """Drop all measurements; these machines have workers with data now."""

    workers: tuple[int, ...]


@dataclass(frozen=True)
class AddMeasurements:
    """Pass these mini-batches to Cruise."""

    measurements: tuple[BatchMeasurement, ...]


@dataclass(frozen=True)
class Decide:
    """Have Cruise decide about these machines; the answer is a `DecisionMade`."""

    machines: tuple[CandidateMachine, ...]
    states: tuple[MachineState, ...]


@dataclass(frozen=True)
class StartChange:
    """Reconfigure the job; its end is a `ReconfigurationEnded` with this number."""

    change: int
    plan: Plan
    predicted_gain: float | None
    is_urgent: bool


@dataclass(frozen=True)
class CancelChange:
    """Begin no further operation of a change."""

    change: int


@dataclass(frozen=True)
class AnnounceDecision:
    """Report a decision to the user."""

    record: TuningRecord


@dataclass(frozen=True)
class ProposeSize:
    """Ask for another number of machines. `gain`: part of an epoch that it saves."""

    roles: RoleCounts
    gain: float


@dataclass(frozen=True)
class CompileSearch:
    """Compile the solver's kernels while the job needs no decision."""


Instruction: TypeAlias = (
    RestartMeasurements
    | AddMeasurements
    | Decide
    | StartChange
    | CancelChange
    | AnnounceDecision
    | ProposeSize
    | CompileSearch
)
