"""The memory of a job on the machine that needs most, by number of machines (Harmony).

With m machines of a job, memory on each of them has a part that they divide and one that each has,
such as Python and a worker's copy of the model; one machine also has the job's controller:

    M(m) = d / m + f,    d, f >= 0.

Jobs of a group have the same machines in the same order, so their controllers are on the same one,
and a group fits if the sum of M(m) over its jobs is at most the memory of a machine. From one
measurement, f is at least what the machine with the most has beyond the one with the least, and the
rest counts as divided. From several, f is the least squares fit. d is then as large as covers every
measurement, so that no group that is too large by a measurement is formed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np


class MachineBytes(NamedTuple):
    """Of the processes of a job on the machines with the most and with the least."""

    most: int
    least: int


class MemoryCurve(NamedTuple):
    """On m machines a job needs `divided_bytes` / m + `fixed_bytes` on one of them."""

    divided_bytes: float
    fixed_bytes: float

    def at(self, machines: int) -> float:
        """Bytes on the machine that needs most."""
        return self.divided_bytes / machines + self.fixed_bytes


def memory_curve(measured: Mapping[int, MachineBytes]) -> MemoryCurve:
    """From the measurements by number of machines, at least one."""
    fixed: float = max(each.most - each.least for each in measured.values())
    if len(measured) > 1:
        shape = np.array([[1 / machines, 1.0] for machines in measured])
        wanted = np.array([each.most for each in measured.values()], float)
        _, fitted = np.linalg.lstsq(shape, wanted, rcond=None)[0]
        fixed = min(max(fixed, float(fitted)), min(each.most for each in measured.values()))
    divided = max(machines * (each.most - fixed) for machines, each in measured.items())
    return MemoryCurve(float(max(divided, 0)), float(fixed))
