"""A simulation between two instants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from motet.engine.capture import CapturedEngine
from motet.sim.replay.outcome import CapturedRecord
from motet.sim.replay.step_progress import CapturedProgress


@dataclass(frozen=True, eq=False)
class CapturedSimulation:
    """`engine`: with the simulator's private columns, `DRIVER_COLUMNS`. `arrived`: how many jobs of
    the workload have. `instruments`: the last step that was reported of every elastic job."""

    engine: CapturedEngine
    arrived: int
    progress: CapturedProgress
    recorder: CapturedRecord
    instruments: Mapping[int, int]
