"""The launcher as pMaster sees it."""

from __future__ import annotations

from collections.abc import Mapping

from motet.aggregation.master.processes.launcher_messages import (
    AggregatorLauncherRequest,
    LaunchedAggregator,
    MachineOfAggregator,
    NumberedAggregator,
    RunningAggregators,
)
from motet.runtime.wire.codec import decode, encode
from motet.transport import Connection, Endpoint, Reply


class RemoteLauncher:
    """Implements AggregatorLauncher over a connection. Raises Unreachable."""

    def __init__(self, endpoint: Endpoint, secret: bytes) -> None:
        self._connection = Connection(endpoint, secret, retry_for_s=1.0)

    def start(self, number: int) -> str:
        """See AggregatorLauncher."""
        return decode(
            LaunchedAggregator, self._ask(AggregatorLauncherRequest.START, number).meta
        ).endpoint

    def stop(self, number: int) -> None:
        """See AggregatorLauncher."""
        self._ask(AggregatorLauncherRequest.STOP, number)

    def kill(self, number: int) -> None:
        """See AggregatorLauncher."""
        self._ask(AggregatorLauncherRequest.KILL, number)

    def await_end(self, number: int) -> None:
        """See AggregatorLauncher."""
        self._ask(AggregatorLauncherRequest.AWAIT_END, number)

    def machine_of(self, number: int) -> str:
        """See AggregatorLauncher."""
        reply = self._ask(AggregatorLauncherRequest.MACHINE, number)
        return decode(MachineOfAggregator, reply.meta).name

    def running(self) -> Mapping[int, str]:
        """See AggregatorLauncher."""
        return decode(
            RunningAggregators, self._ask(AggregatorLauncherRequest.RUNNING, 0).meta
        ).endpoints

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()

    def _ask(self, kind: AggregatorLauncherRequest, number: int) -> Reply:
        head, _ = encode(NumberedAggregator(number))
        return self._connection.request(kind, head)
