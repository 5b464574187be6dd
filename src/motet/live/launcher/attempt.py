"""One attempt on this machine: its gang, and the shepherds that carry it out."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from motet.live.launcher.gang import Phase, ProcessGang
from motet.live.launcher.leftovers import kill_marked
from motet.live.launcher.messages import (
    AttemptEnded,
    AttemptProgressed,
    AttemptRunning,
    RankExit,
    Report,
    StartAttempt,
    StopAttempt,
)
from motet.live.launcher.rank_files import Control, RankFiles
from motet.live.launcher.shepherds import ShepherdProcess, attach, spawn

_RETRY_KILL_S = 0.1
RENEWALS_PER_LEASE = 4


class LocalAttempt:
    """Starts or adopts the processes of an attempt and follows them to their ends.

    Runs in the event loop of the launcher.
    """

    def __init__(
        self,
        request: StartAttempt,
        epoch: int,
        notify: Path,
        report: Callable[[Report], None],
    ) -> None:
        """`epoch`: of the master. `notify`: address to which shepherds send changes."""
        self.request = request
        self._epoch, self._notify, self._report = epoch, notify, report
        self._gang = ProcessGang(len(request.ranks))
        self._files = [RankFiles.of(request, rank) for rank in range(self._gang.size)]
        self._shepherds: dict[int, ShepherdProcess] = {}
        self._instructed: dict[int, Phase] = {}
        self._spawned: dict[int, subprocess.Popen[bytes]] = {}
        self._stop = StopAttempt(request.attempt, request.stop_signal, request.grace_s)
        self._has_told_running = self._has_told_end = False
        self._read_bytes = [0] * self._gang.size

    def begin(self) -> None:
        """Start what was never started, adopt what was."""
        for rank, files in enumerate(self._files):
            if files.identity() is None:
                self._spawn(rank)
            else:
                self.changed(rank)
        self._renew_leases()

    def stop(self, request: StopAttempt) -> None:
        """Stop all processes; a repeated request changes nothing."""
        if self._gang.phase != "stop":
            self._stop = request
            self._gang.stop()
            self._apply()

    def changed(self, rank: int) -> None:
        """Read the files of a rank and act on what has changed."""
        files = self._files[rank]
        if self._gang.has_ended(rank):
            return
        self._tell_progress(rank)
        if (end := files.exit()) is not None:
            self._tell_progress(rank)  # What it reported until its end.
            self._ended(rank, end)
            return
        if rank not in self._shepherds and not self._attach(rank):
            return
        if (at_s := files.started_s()) is not None:
            self._gang.started(rank, at_s)
        else:
            self._gang.held(rank)
        self._apply()

    def repeat_reports(self) -> None:
        """Report the present state again."""
        self._has_told_running = self._has_told_end = False
        self._read_bytes = [0] * self._gang.size
        for rank in range(self._gang.size):
            self._tell_progress(rank)
        self._tell()

    # -- processes ---------------------------------------------------------------------------------

    def _spawn(self, rank: int) -> None:
        files = self._files[rank]
        try:
            files.write_task(self.request, rank, self._epoch, self._notify)
            process = self._spawned[rank] = spawn(files)
        except OSError as error:
            self._ended(rank, _never_started())
            self._log(files, f"motet: the process cannot be started: {error}")
            return
        self._watch(os.pidfd_open(process.pid), rank, lambda: self._spawn_ended(rank))

    def _spawn_ended(self, rank: int) -> None:
        """Collect a shepherd that was spawned here. Another one may have claimed the folder."""
        self._spawned.pop(rank).wait()
        if rank not in self._shepherds:
            self.changed(rank)

    def _attach(self, rank: int) -> bool:
        """Find the shepherd of a rank; without one the rank has ended."""
        identity = self._files[rank].identity()
        found = identity and attach(self._files[rank], identity)
        if not found:
            self._without_shepherd(rank)
            return False
        self._shepherds[rank] = found
        self._watch(os.dup(found.descriptor), rank, lambda: self._shepherd_ended(rank))
        self._instruct(rank)
        return True

    def _shepherd_ended(self, rank: int) -> None:
        self._shepherds.pop(rank).close()
        self._without_shepherd(rank)

    def _without_shepherd(self, rank: int) -> None:
        """The exit record, or the certain death of what a killed shepherd has left."""
        if self._gang.has_ended(rank):
            return
        end = self._files[rank].exit()
        self._tell_progress(rank)
        if end is not None:
            self._ended(rank, end)
        elif kill_marked(self.request.folder, rank):
            started_s = self._files[rank].started_s()
            self._ended(rank, RankExit(None, None, "lost", started_s, time.time()))
        else:
            loop = asyncio.get_running_loop()
            loop.call_later(_RETRY_KILL_S, self._without_shepherd, rank)

    def _watch(self, descriptor: int, rank: int, on_end: Callable[[], None]) -> None:
        """Call once when the process of a pidfd has ended."""
        loop = asyncio.get_running_loop()

        def ended() -> None:
            loop.remove_reader(descriptor)
            os.close(descriptor)
            on_end()

        loop.add_reader(descriptor, ended)

    # -- instructions and reports ------------------------------------------------------------------

    def _ended(self, rank: int, end: RankExit) -> None:
        self._gang.ended(rank, end)
        self._apply()

    def _apply(self) -> None:
        for rank in self._shepherds:
            if self._instructed[rank] != self._gang.phase:
                self._instruct(rank)
        self._tell()

    def _instruct(self, rank: int) -> None:
        self._instructed[rank] = phase = self._gang.phase
        control = Control(self._epoch, phase, self._stop.stop_signal, self._stop.grace_s)
        self._shepherds[rank].instruct(control)

    def _tell(self) -> None:
        since_s, exits = self._gang.running_since_s, self._gang.exits
        if since_s is not None and not self._has_told_running:
            self._has_told_running = True
            self._report(AttemptRunning(self.request.attempt, since_s))
        if exits is not None and not self._has_told_end:
            self._has_told_end = True
            self._report(AttemptEnded(self.request.attempt, exits))

    def _tell_progress(self, rank: int) -> None:
        """Report what the process has written since the last look."""
        found, self._read_bytes[rank] = self._files[rank].progress(self._read_bytes[rank])
        if not found:
            return
        points = tuple(point for each in found for point in each["points"])
        last = found[-1]
        self._report(
            AttemptProgressed(self.request.attempt, last["steps_done"], points, last["steps_per_s"])
        )

    def _renew_leases(self) -> None:
        for rank in self._shepherds:
            self._instruct(rank)
        if self._gang.exits is None:
            loop = asyncio.get_running_loop()
            loop.call_later(self.request.lease_s / RENEWALS_PER_LEASE, self._renew_leases)

    @staticmethod
    def _log(files: RankFiles, line: str) -> None:
        with suppress(OSError), open(files.folder / "log", "a", encoding="utf-8") as file:
            file.write(line + "\n")


def _never_started() -> RankExit:
    return RankExit(None, None, "never_started", None, time.time())
