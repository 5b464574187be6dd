"""A simulation between two instants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from motet.engine.capture import CapturedEngine
from motet.sim.replay.outcome import CapturedRecord
from motet.sim.replay.step_progress import CapturedProgress


@dataclass(frozen=True, eq=False)
class CapturedSimulation:
    """`engine`: with the simulator's private columns, `DRIVER_COLUMNS`. `agenda`: how many jobs
    have arrived, and how many other events have happened. `pace_changes`: how many machines became
    slow or fast again. `instruments`: the last step that was reported of every elastic job."""

    engine: CapturedEngine
    agenda: tuple[int, int]
    pace_changes: int
    progress: CapturedProgress
    recorder: CapturedRecord
    instruments: Mapping[int, int]
