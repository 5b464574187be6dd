"""The complete state of an engine, from which another driver can continue."""

from __future__ import annotations

from dataclasses import dataclass

from motet.engine.measurements.job_measurements import Measurements
from motet.engine.measurements.machine_monitor import MachineMonitor
from motet.engine.state.captured_state import CapturedState


@dataclass(frozen=True, eq=False)
class CapturedEngine:
    """State of an `Engine` without pending actions. `recheck_at_us`: the time of the next decision
    that the policy requested."""

    state: CapturedState
    recheck_at_us: int
    measurements: Measurements | None
    monitor: MachineMonitor | None
