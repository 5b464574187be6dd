"""Measured speeds of machines.

Optimus (Peng et al., EuroSys 2018) compares the arrival times of workers' gradients (synchronous
jobs) or the workers' training speeds (asynchronous jobs). A driver reports the resulting ratio: the
computing time of a worker divided by its usual computing time.
"""

from __future__ import annotations

import numpy as np

from motet.domain.arrays import read_only
from motet.domain.estimates import MachineSpeeds
from motet.domain.snapshot import UNKNOWN


class MachineMonitor:
    """The latest measurement of every machine."""

    def __init__(self, machines: int) -> None:
        self._times_as_long = np.ones(machines)
        self._measured_us = np.full(machines, UNKNOWN, dtype=np.int64)
        self.speeds = self._seen()

    def add_machine(self) -> None:
        """The cluster has grown by a machine."""
        self._times_as_long = np.append(self._times_as_long, 1.0)
        self._measured_us = np.append(self._measured_us, UNKNOWN)
        self.speeds = self._seen()

    def _seen(self) -> MachineSpeeds:
        seen = self._times_as_long.view()
        seen.flags.writeable = False
        return MachineSpeeds(seen, read_only(self._measured_us))

    def copy(self) -> MachineMonitor:
        """An independent copy."""
        twin = MachineMonitor(len(self._times_as_long))
        twin._times_as_long[:] = self._times_as_long
        twin._measured_us[:] = self._measured_us
        return twin

    def measured(self, machine: int, times_as_long: float, now_us: int) -> None:
        """Record a measurement of a worker on this machine."""
        self._times_as_long[machine] = times_as_long
        self._measured_us[machine] = now_us
