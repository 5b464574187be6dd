"""Attempts that hold slots without a sign of progress."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from motet.domain.units import SECOND_US
from motet.live.jobs.attempt import AttemptPhase
from motet.live.launcher.rank_files import LOG, PROGRESS
from motet.live.master.facts import AttemptIdle
from motet.live.master.loop import MasterLoop
from motet.live.master.requests import Workplace
from motet.live.master.state import LiveState


class RunningAttempt(NamedTuple):
    """Times are Unix microseconds. `began`: see Attempt. `idle_since_us`: as the master knows it;
    None: it is not."""

    job: int
    attempt: int
    began: int
    running_us: int
    idle_since_us: int | None


def running_attempts(state: LiveState) -> list[RunningAttempt]:
    """Those whose processes run and are not asked to stop."""
    return [
        RunningAttempt(
            number, attempt.number, attempt.began, attempt.running_us, attempt.idle_since_us
        )
        for number, job in state.active.items()
        if (attempt := job.attempts[-1]).phase is AttemptPhase.RUNNING
        and attempt.running_us is not None
    ]


@dataclass(frozen=True, slots=True)
class IdleWatch:
    """`after_s`: how long an attempt may write nothing before it is idle; infinite: for ever."""

    workplace: Workplace
    after_s: float

    def changes(self, running: Iterable[RunningAttempt], now_us: int) -> Iterator[AttemptIdle]:
        """What the master should learn: attempts that have become idle, and those that no longer
        are."""
        limit_us = self.after_s * SECOND_US
        for each in running:
            active_us = max(each.running_us, self._last_write_us(each))
            is_idle = now_us - active_us >= limit_us
            if is_idle != (each.idle_since_us is not None):
                yield AttemptIdle(each.job, each.attempt, active_us if is_idle else None)

    def _last_write_us(self, each: RunningAttempt) -> int:
        """To a log, a report of progress, or the folder of checkpoints and what lies directly
        there. The launcher writes other files of an attempt, as at every renewal of its lease."""
        place = self.workplace
        attempt = place.attempt_folder(each.job, each.began)
        checkpoints = place.checkpoint_folder(each.job)
        own = (attempt.glob(f"rank-*/{name}") for name in (LOG, PROGRESS))
        files = (*own, [checkpoints], checkpoints.glob("*"))
        return max((_written_us(path) for group in files for path in group), default=0)


def mark_idle(master: MasterLoop, watch: IdleWatch, now_us: int) -> None:
    """Tell the master what has changed. Raises MasterStopped."""
    running = master.read(running_attempts).result()
    for change in watch.changes(running, now_us):
        master.ask(change)


def _written_us(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns // 1000
    except OSError:  # It was removed meanwhile, or has never been.
        return 0
