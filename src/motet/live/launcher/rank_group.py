"""The processes of an attempt on this machine, and the shepherds that carry them out."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from motet.live.launcher.leftovers import kill_marked
from motet.live.launcher.meeting_points import free_meeting_point
from motet.live.launcher.messages import RankExit
from motet.live.launcher.node_messages import (
    HoldRanks,
    InstructRanks,
    RankElsewhere,
    RankEnded,
    RankHeld,
    RankProgressed,
    RankProposed,
    RankReport,
    RankStarted,
)
from motet.live.launcher.rank_files import NODE_ADDRESS, Control, RankFiles
from motet.live.launcher.shepherds import (
    ShepherdProcess,
    ShepherdSpawner,
    attach_to_shepherd,
)
from motet.live.process_table import boot_id
from motet.live.workdirs.job_copy import make_copy

_LOOPBACK = "127.0.0.1"
_RETRY_KILL_S, _RETRY_INSTRUCTION_S = 0.1, 1.0
RENEWALS_PER_LEASE = 4


@dataclass(frozen=True, slots=True)
class NodeContext:
    """This machine. `epoch`: of the master. `notify`: address to which shepherds send changes.

    `address`: at which the other machines reach it; None: there are no others, so a shepherd of
    another boot has ended.
    """

    epoch: int
    notify: Path
    address: str | None
    spawner: ShepherdSpawner = field(default_factory=ShepherdSpawner, compare=False)

    @property
    def env(self) -> Mapping[str, str]:
        """Variables of this machine."""
        return {} if self.address is None else {NODE_ADDRESS: self.address}


class RankGroup:
    """Starts or adopts the processes of some ranks and follows them to their ends.

    Runs in an event loop.
    """

    def __init__(
        self, request: HoldRanks, context: NodeContext, report: Callable[[RankReport], None]
    ) -> None:
        self._request, self._context, self._report = request, context, report
        self._as_of_s = request.as_of_s
        self._files = {rank: RankFiles.of(request.start, rank) for rank in request.own}
        self._shepherds: dict[int, ShepherdProcess] = {}
        self._uninstructed = set[int]()
        self._told: dict[int, RankReport] = {}
        self._open = set(request.own)
        self._read_bytes = dict.fromkeys(request.own, 0)
        start = request.start
        self._instruction = InstructRanks(
            start.attempt, "hold", start.stop_signal, start.grace_s, request.as_of_s
        )

    @property
    def has_ended(self) -> bool:
        """Whether nothing is left of its processes."""
        return not self._open

    def open_logs(self) -> list[Path]:
        """Where its processes that have not ended write. May be called from any thread."""
        return [self._files[rank].log_path for rank in [*self._open]]

    def begin(self) -> None:
        """Start what was never started, adopt what was."""
        self._begin_ranks(self._files)

    def extend(self, request: HoldRanks) -> None:
        """The ranks of a repeated request, of which some may be new."""
        self._request = request
        new = [rank for rank in request.own if rank not in self._files]
        self._files |= {rank: RankFiles.of(request.start, rank) for rank in new}
        self._read_bytes |= dict.fromkeys(new, 0)
        self._open |= {*new}
        self._begin_ranks(new)

    def _begin_ranks(self, ranks: Iterable[int]) -> None:
        for rank in ranks:
            if self._files[rank].identity() is not None:
                self.changed(rank)
            elif rank == 0 and self._request.start.archive:
                self._begin_copy()
            else:
                self._spawn(rank)

    def instruct(self, instruction: InstructRanks) -> None:
        """The phase that all ranks should have; one that is too old is ignored."""
        if self._is_too_old(instruction.as_of_s):
            return
        self._instruction = instruction
        self.renew(instruction.as_of_s)

    def renew(self, as_of_s: float) -> None:
        """Processes may run on until their lease after `as_of_s` ends."""
        if self._is_too_old(as_of_s):
            return
        self._as_of_s = max(self._as_of_s, as_of_s)
        for rank in self._shepherds:
            self._instruct(rank)

    def changed(self, rank: int) -> None:
        """Read the files of a rank and act on what has changed."""
        files = self._files[rank]
        if rank not in self._open:
            return
        self._tell_progress(rank)
        if (end := files.exit()) is not None:
            self._tell_progress(rank)  # What it reported until its end.
            self._ended(rank, end)
            return
        if rank not in self._shepherds and not self._attach(rank):
            return
        attempt, at_s = self._request.start.attempt, files.started_s()
        point = files.meeting_point() if rank == 0 else None
        held = RankHeld(attempt, rank, point)
        self._tell(held if at_s is None else RankStarted(attempt, rank, at_s, point))

    def repeat_reports(self) -> None:
        """Report the present state again."""
        self._told.clear()
        for rank in sorted(self._open):
            self._read_bytes[rank] = 0
            self._tell_progress(rank)
            if rank in self._shepherds:
                self.changed(rank)

    # -- processes ---------------------------------------------------------------------------------

    def _begin_copy(self) -> None:
        """Make the folder of the job; no rank starts before rank 0 is held."""
        start = self._request.start
        loop = asyncio.get_running_loop()
        copying = loop.run_in_executor(
            None, make_copy, Path(start.archive), Path(start.ranks[0].cwd)
        )
        copying.add_done_callback(self._copied)

    def _copied(self, copying: asyncio.Future[None]) -> None:
        error = copying.exception()
        if error is None:
            self._spawn(0)
        else:
            self._files[0].log(f"motet: the files of the snapshot cannot be copied: {error}")
            self._ended(0, never_started())

    def _spawn(self, rank: int) -> None:
        files, context = self._files[rank], self._context
        try:
            point = free_meeting_point(context.address or _LOOPBACK) if rank == 0 else None
            files.write_task(self._request, rank, context.epoch, context.notify, context.env, point)
        except OSError as error:
            self._not_spawned(rank, error)
            return
        spawning = context.spawner.spawn(files)
        spawning.add_done_callback(lambda _: self._spawned(rank, spawning))

    def _not_spawned(self, rank: int, error: BaseException) -> None:
        self._ended(rank, never_started())
        self._files[rank].log(f"motet: the process cannot be started: {error}")

    def _spawned(self, rank: int, spawning: asyncio.Future[int]) -> None:
        """Follow a shepherd that was spawned here. Another one may have claimed the folder."""
        if (error := spawning.exception()) is not None:
            self._withdraw(rank, error)
        else:
            self._watch(spawning.result(), lambda: self._spawn_ended(rank))

    def _withdraw(self, rank: int, error: BaseException) -> None:
        """End a rank whose request has failed. A shepherd that was forked without a reply may have
        its folder: that one is followed."""
        try:
            if self._files[rank].withdraw():
                self._not_spawned(rank, error)
            else:
                self.changed(rank)
        except OSError:  # There is no descriptor or no room on the disk at the moment.
            asyncio.get_running_loop().call_later(_RETRY_KILL_S, self._withdraw, rank, error)

    def _spawn_ended(self, rank: int) -> None:
        if rank not in self._shepherds:
            self.changed(rank)

    def _attach(self, rank: int) -> bool:
        """Find the shepherd of a rank; without one the rank has ended."""
        identity = self._files[rank].identity()
        if identity and identity.boot != boot_id() and self._context.address is not None:
            self._tell(RankElsewhere(self._request.start.attempt, rank))
            return False
        found = identity and attach_to_shepherd(self._files[rank], identity)
        if not found:
            self._without_shepherd(rank)
            return False
        self._shepherds[rank] = found
        self._watch(os.dup(found.descriptor), lambda: self._shepherd_ended(rank))
        self._instruct(rank)
        return True

    def _shepherd_ended(self, rank: int) -> None:
        self._shepherds.pop(rank).close()
        self._without_shepherd(rank)

    def _without_shepherd(self, rank: int) -> None:
        """The exit record, or the certain death of what a killed shepherd has left."""
        if rank not in self._open:
            return
        end = self._files[rank].exit()
        self._tell_progress(rank)
        if end is not None:
            self._files[rank].remove_memory_group()
            self._ended(rank, end)
        elif kill_marked(self._request.start.folder, rank):
            self._files[rank].remove_memory_group()
            started_s = self._files[rank].started_s()
            self._ended(rank, RankExit(None, None, "lost", started_s, time.time()))
        else:
            loop = asyncio.get_running_loop()
            loop.call_later(_RETRY_KILL_S, self._without_shepherd, rank)

    def _watch(self, descriptor: int, on_end: Callable[[], None]) -> None:
        """Call once when the process of a pidfd has ended."""
        loop = asyncio.get_running_loop()

        def ended() -> None:
            loop.remove_reader(descriptor)
            os.close(descriptor)
            on_end()

        loop.add_reader(descriptor, ended)

    # -- instructions and reports ------------------------------------------------------------------

    def _is_too_old(self, as_of_s: float) -> bool:
        return time.monotonic() > as_of_s + self._request.start.lease_s

    def _instruct(self, rank: int) -> None:
        wanted = self._instruction
        control = Control(
            self._context.epoch,
            "stop" if rank in wanted.dismissed else wanted.phase,
            wanted.stop_signal,
            wanted.grace_s,
            self._as_of_s,
            wanted.env,
        )
        try:
            self._shepherds[rank].instruct(control)
        except OSError:  # There is no room on the disk at the moment.
            self._instruct_later(rank)

    def _instruct_later(self, rank: int) -> None:
        if rank not in self._uninstructed:
            self._uninstructed.add(rank)
            loop = asyncio.get_running_loop()
            loop.call_later(_RETRY_INSTRUCTION_S, self._instruct_again, rank)

    def _instruct_again(self, rank: int) -> None:
        self._uninstructed.discard(rank)
        if rank in self._shepherds:
            self._instruct(rank)

    def _ended(self, rank: int, end: RankExit) -> None:
        self._open.discard(rank)
        self._tell(RankEnded(self._request.start.attempt, rank, end))

    def _tell(self, report: RankReport) -> None:
        """Report what has not been reported yet."""
        if self._told.get(report.rank) != report:
            self._told[report.rank] = report
            self._report(report)

    def _tell_progress(self, rank: int) -> None:
        """Report what the process has written since the last look."""
        attempt = self._request.start.attempt
        found, self._read_bytes[rank] = self._files[rank].progress(self._read_bytes[rank])
        if steps := found.steps:
            points = tuple(point for each in steps for point in each["points"])
            last = steps[-1]
            done, speed, subtasks = last["steps_done"], last["steps_per_s"], last["subtasks"]
            self._report(RankProgressed(attempt, rank, done, points, speed, subtasks))
        if found.wish is not None:
            self._report(RankProposed(attempt, rank, found.wish))


def never_started() -> RankExit:
    """The end of a process that was not started."""
    return RankExit(None, None, "never_started", None, time.time())
