"""The state of a simulation between two instants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from motet.engine.capture import CapturedEngine
from motet.sim.replay.outcome import CapturedRecord
from motet.sim.replay.step_progress import CapturedProgress


@dataclass(frozen=True, eq=False)
class CapturedSimulation:
    """`engine`: including the simulator's private columns, `DRIVER_COLUMNS`. `agenda`: numbers of
    arrived jobs and of past events. `pace_changes`: number of past changes of machine speeds.
    `instruments`: the last reported step of every elastic job.
    """

    engine: CapturedEngine
    agenda: tuple[int, int]
    pace_changes: int
    progress: CapturedProgress
    recorder: CapturedRecord
    instruments: Mapping[int, int]
