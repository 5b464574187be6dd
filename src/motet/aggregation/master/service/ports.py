"""What pMaster needs from the machine that the Aggregators run on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from motet.aggregation.wire.aggregator_control import AggregatorControl


class AggregatorLauncher(Protocol):
    """Starts and ends processes of Aggregators. They outlive a pMaster, but not their launcher.

    Thread-safe. All methods raise Unreachable once the launcher has ended.
    """

    def start(self, number: int) -> str:
        """The encoded endpoint of a new process, or of the one that has this number already.

        Raises MotetError: it does not start.
        """
        ...

    def stop(self, number: int) -> None:
        """End a process; it is no error if there is none."""
        ...

    def kill(self, number: int) -> None:
        """Begin to end a process that may be stopped, by force; it is no error if there is none."""
        ...

    def await_end(self, number: int) -> None:
        """Return once there is no process with this number."""
        ...

    def machine_of(self, number: int) -> str:
        """The name of the machine of a process; empty: there is no process, or one machine."""
        ...

    def running(self) -> Mapping[int, str]:
        """The encoded endpoints of all processes."""
        ...


class ClosableControl(AggregatorControl, Protocol):
    """A connection to an Aggregator."""

    def close(self) -> None:
        """Disconnect; the Aggregator goes on."""
        ...


Connect: TypeAlias = Callable[[str], ClosableControl]
"""Connects to an encoded endpoint. Raises Unreachable, AuthenticationFailed."""
