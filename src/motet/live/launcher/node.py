"""The launcher of one of several machines: does what the coordinator of the gangs requests.

Its requests and reports are those of `node_messages`. It ends when its input is closed; the
shepherds keep running.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path

from motet.live.launcher.line_program import hear_notices, serve_lines, write_line
from motet.live.launcher.log_sync import LogSync
from motet.live.launcher.node_messages import (
    HoldRanks,
    InstructRanks,
    RankReport,
    RenewLeases,
    parse_node_message,
)
from motet.live.launcher.rank_group import NodeContext, RankGroup


class NodeLauncher:
    """Processes of all attempts on this machine."""

    def __init__(self, context: NodeContext) -> None:
        self._context = context
        self._groups: dict[str, RankGroup] = {}

    async def run(self) -> None:
        """Serve requests until the end of the input."""
        hear_notices(self._context.notify, self._noticed)
        LogSync(self._logs).start()
        try:
            await serve_lines(self._received)
        finally:
            self._context.spawner.close()

    def _received(self, line: str) -> None:
        match parse_node_message(line):
            case HoldRanks() as request:
                self._hold(request)
            case InstructRanks() as request if request.attempt in self._groups:
                self._groups[request.attempt].instruct(request)
            case RenewLeases(as_of_s):
                for group in self._groups.values():
                    group.renew(as_of_s)
        self._forget_ended()

    def _hold(self, request: HoldRanks) -> None:
        attempt = request.start.attempt
        if attempt in self._groups:
            self._groups[attempt].repeat_reports()
            return
        group = self._groups[attempt] = RankGroup(request, self._context, self._report)
        group.begin()

    def _noticed(self, attempt: str, rank: int) -> None:
        if attempt in self._groups:
            self._groups[attempt].changed(rank)

    def _report(self, report: RankReport) -> None:
        write_line(report)

    def _logs(self) -> list[Path]:
        return [path for group in [*self._groups.values()] for path in group.open_logs()]

    def _forget_ended(self) -> None:
        """A repeated request finds their ends in their files."""
        self._groups = {name: each for name, each in self._groups.items() if not each.has_ended}


def run_node_launcher() -> None:
    """Arguments: the address for notices, the address of this machine, the epoch of the master."""
    notify, address, epoch = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    context = NodeContext(epoch, notify, address)
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        asyncio.run(NodeLauncher(context).run())


if __name__ == "__main__":
    run_node_launcher()
