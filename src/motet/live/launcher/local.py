"""The launcher of one machine: a process that talks to the master through its standard streams.

It ends when the master closes its input; the shepherds keep running.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from pathlib import Path

from motet.live.launcher.attempt import GangAttempt
from motet.live.launcher.line_program import hear_notices, serve_lines, write_line
from motet.live.launcher.messages import (
    AttemptEnded,
    Report,
    StartAttempt,
    StopAttempt,
    parse_message,
)
from motet.live.launcher.node_messages import HoldRanks
from motet.live.launcher.rank_group import RENEWALS_PER_LEASE, NodeContext, RankGroup


class LocalAttempt:
    """An attempt whose processes are all on this machine."""

    def __init__(self, request: StartAttempt, context: NodeContext, launcher: LocalLauncher):
        self.gang = GangAttempt(request, launcher.report, self._instruct)
        self.group = RankGroup(_all_ranks(request), context, self.gang.take)
        self._lease_s = request.lease_s

    def begin(self) -> None:
        """Start or adopt the processes."""
        self.group.begin()
        self._renew_lease()

    def repeat(self, request: StartAttempt) -> None:
        """Resize the gang, if the request differs; report the present state again."""
        self.gang.resize(request)
        self.group.extend(_all_ranks(request))
        self.group.repeat_reports()
        self.gang.repeat_reports()

    def _instruct(self) -> None:
        self.group.instruct(self.gang.instruction(time.monotonic()))

    def _renew_lease(self) -> None:
        self.group.renew(time.monotonic())
        if not self.group.has_ended:
            loop = asyncio.get_running_loop()
            loop.call_later(self._lease_s / RENEWALS_PER_LEASE, self._renew_lease)


def _all_ranks(request: StartAttempt) -> HoldRanks:
    return HoldRanks(request, tuple(range(len(request.ranks))), time.monotonic())


class LocalLauncher:
    """All attempts of this machine."""

    def __init__(self, epoch: int, notify: Path) -> None:
        """`epoch`: of the master. `notify`: where the socket for notices of shepherds is made."""
        self._context = NodeContext(epoch, notify, None)
        self._attempts: dict[str, LocalAttempt] = {}

    async def run(self) -> None:
        """Serve requests until the end of the input."""
        hear_notices(self._context.notify, self._noticed)
        try:
            await serve_lines(self._received)
        finally:
            self._context.spawner.close()

    def report(self, report: Report) -> None:
        """Tell the master."""
        if isinstance(report, AttemptEnded):
            self._attempts.pop(report.attempt, None)
        write_line(report)

    def _received(self, line: str) -> None:
        match parse_message(line):
            case StartAttempt() as request:
                self._start(request)
            case StopAttempt() as request if request.attempt in self._attempts:
                self._attempts[request.attempt].gang.stop(request)

    def _start(self, request: StartAttempt) -> None:
        if request.attempt in self._attempts:
            self._attempts[request.attempt].repeat(request)
            return
        attempt = LocalAttempt(request, self._context, self)
        self._attempts[request.attempt] = attempt
        attempt.begin()

    def _noticed(self, attempt: str, rank: int) -> None:
        if attempt in self._attempts:
            self._attempts[attempt].group.changed(rank)


def run_launcher() -> None:
    """Arguments: the address for notices, and the epoch of the master."""
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        asyncio.run(LocalLauncher(int(sys.argv[2]), Path(sys.argv[1])).run())


if __name__ == "__main__":
    run_launcher()
