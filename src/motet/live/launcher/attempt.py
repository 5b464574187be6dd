"""One attempt: what its processes report becomes the phase of its gang, and reports to the master.

Does not know where the processes are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import assert_never

from motet.live.launcher.gang import Phase, ProcessGang
from motet.live.launcher.messages import (
    AttemptEnded,
    AttemptProgressed,
    AttemptProposed,
    AttemptResized,
    AttemptRunning,
    RankExit,
    Report,
    StartAttempt,
    StopAttempt,
    first_failure,
)
from motet.live.launcher.node_messages import (
    InstructRanks,
    RankElsewhere,
    RankEnded,
    RankHeld,
    RankProgressed,
    RankProposed,
    RankReport,
    RankStarted,
)
from motet.live.launcher.rank_files import (
    CHECKPOINT_FOLDER,
    RankFiles,
    checkpoint_writes_us,
)


class GangAttempt:
    """Folds reports about ranks; calls back when the phase has changed, and with reports."""

    def __init__(
        self,
        request: StartAttempt,
        report: Callable[[Report], None],
        instruct: Callable[[], None],
    ) -> None:
        """`instruct`: called when all ranks should have another phase (`instruction`)."""
        self.request = request
        self._report, self._instruct = report, instruct
        self._gang = ProcessGang(len(request.ranks), request.joined)
        self._gang.dismiss(request.dismissed)
        self._stop = StopAttempt(request.attempt, request.stop_signal, request.grace_s)
        self._instructed: tuple[Phase, tuple[int, ...]] = "hold", ()
        self._env: Mapping[str, str] = {}
        self._has_heard_of_first = False
        self._has_told_running = self._has_told_end = False
        self._told_size: AttemptResized | None = None

    @property
    def open_ranks(self) -> tuple[int, ...]:
        """Ranks that have not ended."""
        return tuple(rank for rank in range(self._gang.size) if not self._gang.has_ended(rank))

    def instruction(self, as_of_s: float) -> InstructRanks:
        """What all ranks should do now."""
        stop = self._stop
        return InstructRanks(
            stop.attempt,
            self._phase,
            stop.stop_signal,
            stop.grace_s,
            as_of_s,
            self._env,
            self._gang.dismissed,
        )

    def resize(self, request: StartAttempt) -> None:
        """Request further ranks, whose processes join the others, and dismiss some; a repeated
        request changes nothing."""
        self.request = request
        self._gang.grow(len(request.ranks))
        self._gang.dismiss(request.dismissed)
        self._apply()

    def stop(self, request: StopAttempt | None = None) -> None:
        """Stop all processes; a repeated request changes nothing.

        None: as the job itself demands, because a process of the gang is out of reach.
        """
        if self._gang.phase != "stop":
            self._stop = request or self._stop
            self._gang.stop()
            self._apply()

    def take(self, report: RankReport) -> None:
        """Something has happened to a rank."""
        if self._gang.has_ended(report.rank):
            return
        self._learn_of_first(report)
        match report:
            case RankHeld():
                self._gang.held(report.rank)
            case RankStarted():
                self._gang.started(report.rank, report.at_s)
            case RankEnded():
                self._gang.ended(report.rank, report.end)
            case RankProgressed():
                self._report(
                    AttemptProgressed(
                        report.attempt,
                        report.steps_done,
                        report.points,
                        report.steps_per_s,
                        report.subtasks,
                    )
                )
            case RankProposed():
                self._report(AttemptProposed(report.attempt, report.wish))
            case RankElsewhere():
                self.stop()
            case _:
                assert_never(report)
        self._apply()

    def end_rank(self, rank: int, end: RankExit) -> None:
        """The process of a rank has ended, or will never start."""
        self.take(RankEnded(self.request.attempt, rank, end))

    def repeat_reports(self) -> None:
        """Report the present state again."""
        self._has_told_running = self._has_told_end = False
        self._told_size = None
        self._tell()

    @property
    def _phase(self) -> Phase:
        """After a restart of the launcher no rank starts before rank 0 has told the variables."""
        phase = self._gang.phase
        return phase if self._has_heard_of_first or phase == "stop" else "hold"

    def _learn_of_first(self, report: RankReport) -> None:
        """Variables of torchrun for all processes of the gang."""
        if report.rank != 0:
            return
        self._has_heard_of_first = True
        if isinstance(report, RankHeld | RankStarted) and report.meeting_point is not None:
            point = report.meeting_point
            self._env = {"MASTER_ADDR": point.address, "MASTER_PORT": str(point.port)}

    def _apply(self) -> None:
        wanted = self._phase, self._gang.dismissed
        if wanted != self._instructed:
            self._instructed = wanted
            self._instruct()
        self._tell()

    def _tell(self) -> None:
        since_s, exits = self._gang.running_since_s, self._gang.exits
        if since_s is not None and not self._has_told_running:
            self._has_told_running = True
            self._report(AttemptRunning(self.request.attempt, since_s))
        self._tell_size()
        if exits is not None and not self._has_told_end:
            self._has_told_end = True
            failed = first_failure(exits)
            tail = "" if failed is None else RankFiles.of(self.request, failed).log_tail()
            self._report(AttemptEnded(self.request.attempt, exits, tail, self._saved_us()))

    def _tell_size(self) -> None:
        """Of a gang that is, or was, resized."""
        request = self.request
        size = AttemptResized(request.attempt, len(request.ranks), request.dismissed)
        is_resized = bool(request.joined or request.dismissed)
        if is_resized and self._gang.has_its_size and size != self._told_size:
            self._told_size = size
            self._report(size)

    def _saved_us(self) -> int | None:
        """The latest write to the folder of checkpoints, before the next attempt writes there."""
        folder = self.request.ranks[0].env.get(CHECKPOINT_FOLDER)
        if folder is None:
            return None
        return max(checkpoint_writes_us(Path(folder)), default=0)
