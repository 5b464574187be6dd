"""Predicted starts and what became of them, in SQLite: a row per wait of a job."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from motet.domain.units import NEVER_US, SECOND_US, seconds
from motet.interfaces.forecasts.expected_starts import ExpectedStart
from motet.live.jobs.job import LiveJob
from motet.live.journal.private_file import close_to_others

NAME = "predictions.db"
TOLERANCE_US = SECOND_US // 10
"""By so much a start may miss its range: the master decides some milliseconds after the moment at
which a simulated policy does, which may be where a range ends."""
_MISSED_AFTER_US = 10 * TOLERANCE_US
"""A job that waits for so long after its range has missed it: a start before would have been
read."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS predictions (
    job INTEGER, attempts INTEGER, made_us INTEGER, policy TEXT,
    low_us INTEGER, median_us INTEGER, high_us INTEGER, started_us INTEGER, is_void INTEGER,
    PRIMARY KEY (job, attempts)
) WITHOUT ROWID
"""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of first predictions of waits. `waits`: of all that began to be predicted; `known`: those
    with a range whose job has started or should have; `inside`: starts within it."""

    waits: int
    known: int
    inside: int
    median_width_s: float | None

    def document(self) -> dict[str, Any]:
        """`share`: None without any."""
        return {
            "waits": self.waits,
            "known": self.known,
            "inside": self.inside,
            "share": self.inside / self.known if self.known else None,
            "median_width_s": self.median_width_s,
        }


class PredictionStore:
    """The first prediction of every wait; one that follows is shown, but not scored: it knows more.
    `started_us` of a wait that has missed its range may be a moment at which it still went on. One
    process."""

    def __init__(self, folder: Path) -> None:
        """`folder`: of this user alone."""
        self._database = sqlite3.connect(close_to_others(folder / NAME), isolation_level=None)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute(_SCHEMA)

    def add(
        self,
        jobs: Mapping[int, LiveJob],
        starts: Mapping[int, ExpectedStart],
        now_us: int,
        policy: str,
    ) -> None:
        """Store predictions that were made now, of waits that have none yet."""
        rows = [
            (number, len(jobs[number].attempts), now_us, policy, *_range(start), None, 0)
            for number, start in starts.items()
        ]
        self._database.executemany(
            "INSERT OR IGNORE INTO predictions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows
        )

    def settle(self, jobs: Mapping[int, LiveJob], now_us: int) -> None:
        """Note the starts of jobs that have started since; a wait that ends without one is void,
        but for one that lasted longer than its range: that has missed it, whatever follows."""
        open_waits = self._database.execute(
            "SELECT job, attempts, high_us FROM predictions WHERE started_us IS NULL "
            "AND NOT is_void"
        ).fetchall()
        for number, attempts, high_us in open_waits:
            job = jobs[number]
            last_us = NEVER_US if high_us is None else high_us + _MISSED_AFTER_US
            waited_until_us = now_us if job.ended_us is None else job.ended_us
            if len(job.attempts) > attempts:
                self._close(number, attempts, started_us=job.attempts[attempts].requested_us)
            elif job.is_suspended or (job.state.is_final and waited_until_us <= last_us):
                self._close(number, attempts, is_void=1)
            elif waited_until_us > last_us:
                self._close(number, attempts, started_us=waited_until_us)

    def forget_lost(self, jobs: Mapping[int, LiveJob]) -> None:
        """Delete what was predicted of waits that the journal does not know: a backup from before
        was restored. Numbers of later jobs are given again."""
        rows = self._database.execute("SELECT job, attempts, made_us FROM predictions").fetchall()
        lost = [
            (number, attempts)
            for number, attempts, made_us in rows
            if (job := jobs.get(number)) is None
            or attempts > len(job.attempts)
            or made_us < job.submitted_us
        ]
        self._database.executemany("DELETE FROM predictions WHERE job = ? AND attempts = ?", lost)

    def coverage(self, now_us: int) -> Coverage:
        """A job that still waits after its range counts as a start outside."""
        rows = self._database.execute(
            "SELECT low_us, high_us, started_us FROM predictions WHERE NOT is_void"
        ).fetchall()
        due = [
            (low, high, started)
            for low, high, started in rows
            if high is not None and (started is not None or now_us > high + TOLERANCE_US)
        ]
        inside = sum(
            started is not None and low - TOLERANCE_US <= started <= high + TOLERANCE_US
            for low, high, started in due
        )
        widths = [seconds(high - low) for low, high, _ in due]
        return Coverage(len(rows), len(due), inside, median(widths) if widths else None)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _close(
        self, job: int, attempts: int, started_us: int | None = None, is_void: int = 0
    ) -> None:
        self._database.execute(
            "UPDATE predictions SET started_us = ?, is_void = ? WHERE job = ? AND attempts = ?",
            [started_us, is_void, job, attempts],
        )


def _range(start: ExpectedStart) -> tuple[int | None, int | None, int | None]:
    return start.low_us, start.median_us, start.high_us
