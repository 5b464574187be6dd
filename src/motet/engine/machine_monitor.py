"""How fast machines are, as drivers measure it of the workers that train there, kept.

Optimus (Peng et al., EuroSys 2018) compares when gradients of workers arrive (synchronous jobs), or
how fast each of them trains (asynchronous ones). A driver reports what follows from either: how
many times as long as usual a worker computed.
"""

from __future__ import annotations

import numpy as np

from motet.domain.machine_speeds import MachineSpeeds
from motet.domain.snapshot import UNKNOWN
from motet.engine.table import read_only


class MachineMonitor:
    """The latest measurement of every machine."""

    def __init__(self, machines: int) -> None:
        self._times_as_long = np.ones(machines)
        self._measured_us = np.full(machines, UNKNOWN, dtype=np.int64)
        seen = self._times_as_long.view()
        seen.flags.writeable = False
        self.speeds = MachineSpeeds(seen, read_only(self._measured_us))

    def copy(self) -> MachineMonitor:
        """The same measurements; later ones of one of them are not in the other."""
        twin = MachineMonitor(len(self._times_as_long))
        twin._times_as_long[:] = self._times_as_long
        twin._measured_us[:] = self._measured_us
        return twin

    def measured(self, machine: int, times_as_long: float, now_us: int) -> None:
        """Somebody trains there at this pace."""
        self._times_as_long[machine] = times_as_long
        self._measured_us[machine] = now_us
