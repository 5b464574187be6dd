"""Requests of pMaster to the launcher of its Aggregators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum


class AggregatorLauncherRequest(IntEnum):
    """START is answered by `LaunchedAggregator`, RUNNING by `RunningAggregators`, MACHINE by
    `MachineOfAggregator`, the others by an empty reply.
    """

    START = 1
    STOP = 2
    AWAIT_END = 3
    RUNNING = 4
    KILL = 5
    MACHINE = 6


@dataclass(frozen=True)
class NumberedAggregator:
    """The subject of a request."""

    number: int


@dataclass(frozen=True)
class LaunchedAggregator:
    """`endpoint`: encoded."""

    endpoint: str


@dataclass(frozen=True)
class MachineOfAggregator:
    """`name`: see AggregatorLauncher."""

    name: str


@dataclass(frozen=True)
class RunningAggregators:
    """The encoded endpoints of all processes."""

    endpoints: Mapping[int, str]
