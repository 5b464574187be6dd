"""Small tables for tests of allocations: what jobs can run with, how fast they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from motet.allocation.marginal_utility import Speeds
from motet.allocation.max_min_share import Demand
from motet.domain.arrays import Ints, read_only
from motet.estimate.speed_function import SpeedMode


def demand(size: int, **columns: Any) -> Demand:
    """One worker of one GPU and no servers, unless said otherwise."""
    usual = dict.fromkeys(Demand._fields, 1) | {
        name: 0 for name in Demand._fields if "server" in name
    }
    return Demand(*(column(size, (usual | columns)[name]) for name in Demand._fields))


def column(size: int, values: Any) -> Ints:
    """Read-only like the columns of a snapshot, for which kernels are compiled."""
    return read_only(np.broadcast_to(np.array(values, dtype=np.int64), (size,)).copy())


def linear_speeds(size: int) -> Speeds:
    """As many steps per second as workers."""
    return speeds([(int(SpeedMode.ASYNC), (1.0, 0.0, 0.0, 0.0, 0.0, 1.0))] * size)


def speeds(functions: list[tuple[int, tuple[float, ...]]]) -> Speeds:
    """(mode, parameters) of each."""
    parameters = np.array([each for _, each in functions], dtype=np.float64).reshape(-1, 6)
    return Speeds(np.array([mode for mode, _ in functions], dtype=np.int64), parameters)
