"""Reports epochs, losses and size proposals of a training to the master of the live cluster."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from motet.live.launcher.messages import SizeWish, SubtaskReport
from motet.live.launcher.rank_files import (
    ARBITER,
    NOTICE_SOCKET,
    PROGRESS,
    progress_line,
    wish_line,
)
from motet.live.shepherd import send_datagram
from motet.runtime.autotune.instructions import ProposeSize
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport, Recovery

EVERY_S = 1.0


class ProgressFile(TrainObserver):
    """Appends a line with all epochs since the last one, at most every second.

    The launcher is woken by a datagram; without a launcher, the next one finds the file.
    """

    def __init__(
        self,
        path: Path,
        wake: Callable[[], None],
        earlier: Sequence[EpochReport] = (),
        now_s: Callable[[], float] = time.monotonic,
        machines: int = 0,
        *,
        overlaps: bool = False,
    ) -> None:
        """`wake` is called after every line. `earlier`: epochs before a resumed checkpoint; the
        attempt before may have ended before it could tell them. `machines`: of a training that may
        share them, which also tells its COMP and COMM; 0: it does not. `overlaps`: they run side by
        side.
        """
        self._path, self._wake, self._now_s = path, wake, now_s
        self._points: list[tuple[float, float]] = []
        self._profiled: list[EpochReport] = []
        self._machines, self._overlaps = machines, overlaps
        self._epochs_done = self._told_epochs = 0
        self._told_s, self._since_s = -math.inf, now_s()
        self._wishes = 0
        if earlier:
            self._keep(earlier)
            self._write(None)

    def started(self, instance_count: int, model_bytes: int) -> None:
        """The speed counts from here."""
        self._since_s = self._now_s()
        self._told_epochs = self._epochs_done

    def epoch_done(self, report: EpochReport) -> None:
        """Keep the loss; write a line if the time for one has come."""
        self._keep([report])
        self._profiled.append(report)
        if self._now_s() >= self._told_s + EVERY_S:
            self.tell()

    def recovering(self, recovery: Recovery) -> None:
        """The next epochs are repetitions."""
        self.tell()
        self._epochs_done = self._told_epochs = recovery.resumed_from_epoch

    def tell(self) -> None:
        """Write what has not been written yet."""
        if self._epochs_done <= self._told_epochs:
            return
        now_s = self._now_s()
        passed_s = now_s - self._since_s
        self._write((self._epochs_done - self._told_epochs) / passed_s if passed_s > 0 else None)
        self._told_s = self._since_s = now_s

    def propose(self, wish: ProposeSize) -> None:
        """Tell the size that the job would like to have. May be called from any thread."""
        self._wishes += 1
        line = wish_line(SizeWish(self._wishes, wish.roles.workers, wish.roles.servers, wish.gain))
        self._append(line)

    def _keep(self, reports: Sequence[EpochReport]) -> None:
        self._epochs_done = reports[-1].epoch
        self._points += [
            (float(each.epoch), each.loss) for each in reports if math.isfinite(each.loss)
        ]

    def _write(self, speed: float | None) -> None:
        subtasks = mean_subtasks(self._profiled, self._machines) if self._machines else None
        if subtasks is not None:
            subtasks = replace(subtasks, overlaps=self._overlaps)
        self._append(progress_line(float(self._epochs_done), self._points, speed, subtasks))
        self._points, self._profiled, self._told_epochs = [], [], self._epochs_done

    def _append(self, line: str) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line)  # Lines of two threads stay whole: each is one write.
        self._wake()


def mean_subtasks(reports: Sequence[EpochReport], machines: int) -> SubtaskReport | None:
    """COMP and COMM of an iteration, a mini-batch, in these epochs, and all of it; None: there are
    none.

    COMP is that of the mean worker, COMM that of PULL and PUSH together. Each iteration has its
    part of the evaluations, whose subtasks take turns with those of other jobs, too.
    CPU time outside of COMP is that of the whole process less COMP.
    """
    iterations = sum(len(each.batch_s) for each in reports)
    if not iterations:
        return None
    comp_s = sum(each.comp_s + each.evaluation_comp_s for each in reports)
    comm_s = sum(each.comm_s + each.evaluation_comm_s for each in reports)
    whole_s = sum(each.cycle_s for each in reports)
    cpu_s = sum(each.cpu_s for each in reports)
    largest = max(reports, key=lambda each: each.memory_bytes)
    return SubtaskReport(
        machines,
        comp_s / iterations,
        comm_s / iterations,
        whole_s / iterations,
        largest.memory_bytes or None,
        largest.least_memory_bytes or None,
        max(cpu_s - comp_s, 0.0) / iterations,
    )


def progress_file(
    environment: Mapping[str, str],
    earlier: Sequence[EpochReport] = (),
    *,
    overlaps: bool = False,
) -> ProgressFile:
    """That of this process, whose environment was made by the master."""
    rank = int(environment["MOTET_RANK"])
    folder = Path(environment["MOTET_ATTEMPT_DIR"]) / f"rank-{rank}"
    attempt = f"{environment['MOTET_JOB_ID']}.{environment['MOTET_ATTEMPT_NUMBER']}"
    notice = json.dumps([attempt, rank, "progress"]).encode()
    socket = Path(environment[NOTICE_SOCKET])

    def wake() -> None:
        with suppress(OSError):
            send_datagram(socket, notice)

    machines = int(environment["MOTET_WORLD_SIZE"]) if environment.get(ARBITER) else 0
    return ProgressFile(folder / PROGRESS, wake, earlier, machines=machines, overlaps=overlaps)
